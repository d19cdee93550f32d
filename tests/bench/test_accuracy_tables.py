"""The tables say what was measured: rates from counts, bars met or not, modes page by page."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ocr_app.bench.accuracy_tables import printed, summarise
from ocr_app.bench.engines import EngineOutput
from ocr_app.bench.ground_truth import TruthDocument, TruthPage
from ocr_app.bench.markdown_structure import read_markdown
from ocr_app.bench.page_score import PageRecord, score_page

TRUTH = "# Title\n\nSome words that stand on this page.\n\n- one item\n\n| a | b |\n| - | - |\n| c | d |"
PAGES = (
    TruthPage(0, read_markdown(TRUTH).text, read_markdown(TRUTH)),
    TruthPage(1, "A second page of text."),
)
DIGITAL = TruthDocument("guide.pdf", Path("guide.pdf"), "digital, Latin", False, PAGES, has_text_layer=True)
HELD_OUT = replace(DIGITAL, name="001.pdf (plain)", group="held-out", is_sample=False)


def records(document: TruthDocument, **outputs: list[str]) -> list[PageRecord]:
    made = []
    for engine, pages in outputs.items():
        for page, markdown in zip(document.pages, pages, strict=True):
            output = EngineOutput(markdown, num_lost_runs=0, wall_s=4.0, decode_s=1.0)
            made.append(
                PageRecord(
                    engine.replace("_", "-"), document, page, output, score_page(document, page, output)
                )
            )
    return made


GOOD = [TRUTH, "A second page of text."]
BAD = ["Title", "page second text"]


def rows(result: dict[str, Any], name: str) -> dict[str, list[Any]]:
    table = result["tables"][name]
    assert all(len(row) == len(table["columns"]) for row in table["rows"])
    return {" ".join(map(str, row[: 2 if name == "accuracy" else 1])): row for row in table["rows"]}


def test_groups_documents_and_all_samples_are_added_up():
    everything = records(DIGITAL, tiny=GOOD, plain=BAD) + records(HELD_OUT, tiny=BAD)
    result = summarise([DIGITAL, HELD_OUT], everything)
    table = rows(result, "accuracy")
    assert list(table) == [
        "digital, Latin tiny",
        "digital, Latin plain",
        "held-out tiny",
        "all samples tiny",
        "all samples plain",
    ]
    assert table["all samples tiny"][2:6] == ["2", "0.00", "0.00", "1.000"]
    assert float(table["held-out tiny"][3]) > 50
    assert rows(result, "accuracy-cer")["001.pdf (plain)"][2] is None  # plain did not read it
    assert rows(result, "accuracy-words")["guide.pdf"][1:] == ["1.000", table["digital, Latin plain"][5]]


def test_an_engine_that_never_writes_a_kind_of_structure_has_a_dash_and_one_that_misses_it_has_0():
    other = replace(HELD_OUT, name="002.pdf (plain)", group="untouched")
    everything = records(HELD_OUT, tiny=GOOD, plain=BAD) + records(other, tiny=BAD, plain=BAD)
    groups = summarise([HELD_OUT, other], everything)["groups"]
    assert groups["untouched"]["tiny"]["headings_f1"] == 0
    assert groups["untouched"]["plain"]["headings_f1"] is None
    assert groups["held-out"]["plain"]["headings_f1"] is None


def test_bars_are_met_by_the_truth_and_missed_by_bad_pages():
    good = rows(
        summarise(
            [DIGITAL, HELD_OUT], records(DIGITAL, tiny=GOOD, tesseract=BAD) + records(HELD_OUT, tiny=GOOD)
        ),
        "accuracy-bars",
    )
    assert {row[3] for row in good.values()} == {"yes"}
    assert good["decoding over encoding time"][2] == "0.3333"
    bad = rows(
        summarise(
            [DIGITAL, HELD_OUT], records(DIGITAL, tiny=BAD, tesseract=GOOD) + records(HELD_OUT, tiny=BAD)
        ),
        "accuracy-bars",
    )
    missed = {name for name, row in bad.items() if row[3] == "no"}
    assert missed == set(bad) - {"loops", "lost runs", "decoding over encoding time"}


def test_a_bar_nobody_measured_is_not_in_the_table():
    table = rows(summarise([DIGITAL], records(DIGITAL, tiny=GOOD)), "accuracy-bars")
    assert not any("held-out" in name or "Chinese" in name for name in table)


def test_modes_are_compared_page_by_page():
    other = [TRUTH, "A second page of texts"]
    (row,) = summarise([DIGITAL], records(DIGITAL, tiny=GOOD, tiny_full=other))["tables"]["accuracy-modes"][
        "rows"
    ]
    assert row[:3] == [2, 1, "50.0"]
    assert float(row[3]) == pytest.approx(100 * 1 / sum(map(len, other)), abs=1e-3)


def test_only_tables_with_rows_are_printed():
    text = printed(summarise([DIGITAL], records(DIGITAL, plain=GOOD)))
    assert "By group" in text
    assert "| digital, Latin | plain | 2 | 0.00 |" in text
    assert "Sparse and full" not in text
