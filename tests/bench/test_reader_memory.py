"""The highest counters of a run are kept, and a counter that was never read stays unknown."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ocr_app.bench import reader_memory
from ocr_app.bench.reader_memory import Peaks, growth, peaks
from ocr_app.errors import ConfigError
from ocr_app.types import DocumentFinished, Event, KVSample, Outcome, Telemetry, Verdict

HELD_OUT = Path(__file__).parents[1] / "data" / "held_out"


def events(*readings: KVSample | None) -> Iterator[Event]:
    for index, kv in enumerate(readings):
        yield Telemetry(index, index, kv, (), 1000 - index, index, len(readings))
    verdicts = {Verdict.OK: 1, Verdict.BLANK: 1, Verdict.FAILED: 1}
    yield DocumentFinished(Outcome.DONE_WITH_WARNINGS, 3, verdicts, elapsed_s=6.0)


def test_peaks_are_the_highest_of_each_counter():
    run = peaks("sparse", events(KVSample(10, 5, 7), None, KVSample(30, 9, 6), KVSample(20, None, 6)))
    assert run == Peaks("sparse", 3, 30, 9, 7, 1000, 6.0, num_good_pages=2)


def test_a_reader_without_kv_has_unknown_counters_and_unknown_growth():
    run = peaks("full", events(None, KVSample(None, None, None)))
    assert (run.allocated_bytes, run.live_bytes, run.attended_tokens) == (None, None, None)
    assert growth([run])["full"]["allocated"] is None


def test_growth_compares_the_most_pages_with_the_fewest():
    runs = [Peaks("full", pages, 100 * pages, 10 * pages, 5, None, 1.0, pages) for pages in (20, 400, 40)]
    assert growth(runs) == {"full": {"pages": [20, 400], "allocated": 20, "live": 20, "attended": 1}}


def test_page_counts_are_positive():
    with pytest.raises(ConfigError, match="'0,4'"):
        reader_memory.main(["any.pdf", "--pages", "0,4"])


def test_a_document_is_read_in_each_mode_and_length(capsys: pytest.CaptureFixture[str]):
    arguments = [
        str(HELD_OUT / "001.pdf"),
        "--model",
        "plain",
        "--pages",
        "2,1",
        "--modes",
        "full",
        "--dpi",
        "72",
        "--threads",
        "1",
    ]
    assert reader_memory.main(arguments) == 0
    table = json.loads(capsys.readouterr().out.splitlines()[-1])["tables"]["reader-memory"]
    assert [row[:3] for row in table["rows"]] == [
        ["full", 1, None],
        ["full", 2, None],
    ]  # the plain reader has no KV
    assert [row[-1] for row in table["rows"]] == [1, 2]
