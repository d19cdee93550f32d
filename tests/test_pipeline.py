"""The event stream of one document: N pages asked for are N records, whatever happens to any of them and
whenever it is stopped.
"""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.config import AppConfig, EncoderConfig, ReaderConfig
from ocr_app.errors import ConfigError, OutOfMemoryError, UnsupportedFileError
from ocr_app.models.base import READERS
from ocr_app.pipeline import parse_document, read_pages
from ocr_app.types import (
    DocumentFinished,
    EncodedPage,
    Event,
    KVSample,
    Outcome,
    PageFailure,
    PageFinished,
    PageImage,
    PageReading,
    PageResult,
    PageStarted,
    Telemetry,
    TextDelta,
    Verdict,
)

SECRET = "/srv/secret/weights.bin"
TIMEOUT_S = 10.0
CONFIG = AppConfig(reader=ReaderConfig(page_timeout_s=TIMEOUT_S))
VERDICTS = {
    "good": Verdict.OK,
    "wordless": Verdict.OK,
    "blank": Verdict.BLANK,
    "undrawable": Verdict.FAILED,
    "unpreparable": Verdict.FAILED,
    "out of memory": Verdict.FAILED,
    "raising": Verdict.FAILED,
    "resultless": Verdict.FAILED,
    "incomplete": Verdict.INCOMPLETE,
    "slow": Verdict.TIMEOUT,
}


class Clock:
    """A clock that moves only when told, so that seconds of work take none."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def __call__(self) -> float:
        return self.now_s


@dataclass
class FakeDocument:
    """Pages of the kinds in VERDICTS. `num_drawn` tells how far ahead it was drawn."""

    kinds: list[str]
    num_drawn: int = 0
    is_closed: bool = False
    ends_after: int | None = None
    notes: tuple[str, ...] = ("The file was repaired.",)

    @property
    def page_indices(self) -> tuple[int, ...]:
        return tuple(range(10, 10 + len(self.kinds)))

    def pages(self) -> Iterator[PageImage | PageFailure]:
        for index, kind in zip(self.page_indices, self.kinds, strict=True):
            if self.num_drawn == self.ends_after:
                raise OSError(SECRET)
            self.num_drawn += 1
            if kind == "undrawable":
                yield PageFailure(index, "The page has no size.")
            else:
                pixels = np.zeros((4, 6, 3), np.uint8)
                yield PageImage(index, pixels, 150.0, 3.0, 2.0, is_blank=kind == "blank", notes=(kind,))

    def close(self) -> None:
        self.is_closed = True


@dataclass
class FakeSession:
    """A reader whose pages do what their note says."""

    clock: Clock = field(default_factory=Clock)
    step_s: float = 0.1
    is_closed: bool = False
    num_open_reads: int = 0
    threads: set[str] = field(default_factory=set)
    gate: threading.Event | None = None

    def prepare(self, image: PageImage) -> EncodedPage:
        self.threads.add(threading.current_thread().name)
        if self.gate is not None:
            self.gate.wait()
        if "unpreparable" in image.notes:
            raise ValueError(SECRET)
        return EncodedPage(image, (), (), np.zeros((0, 3), np.float32), num_reuse_hits=1, num_reuse_lookups=2)

    def read(
        self, page: EncodedPage, should_stop: Callable[[], bool]
    ) -> Iterator[TextDelta | KVSample | PageReading]:
        kind = next((note for note in page.image.notes if note in VERDICTS), "good")
        if kind == "out of memory":  # raised by the call itself, before there is anything to iterate
            raise OutOfMemoryError("The KV cache is full; lower sparsity.page_window.")
        return self._steps(kind, page.page_index, should_stop)

    def _steps(
        self, kind: str, page_index: int, should_stop: Callable[[], bool]
    ) -> Iterator[TextDelta | KVSample | PageReading]:
        self.num_open_reads += 1
        words: list[str] = []
        try:
            for step in range(0 if kind == "wordless" else 4):
                self.clock.now_s += TIMEOUT_S if kind == "slow" else self.step_s
                if should_stop():
                    break
                yield KVSample(1000 * page_index, None, None, num_tokens=step)
                words.append(f"word{step} ")
                yield TextDelta(page_index, words[-1])
                if kind == "raising" and step == 2:
                    raise ValueError(SECRET)
            if kind != "resultless":
                verdict = VERDICTS[kind] if kind in ("good", "wordless", "incomplete") else Verdict.OK
                reason = "One line was left over." if kind == "incomplete" else None
                yield PageReading(
                    verdict, (), "".join(words), reason=reason, num_tokens=len(words), confidence=0.5
                )
        finally:
            self.num_open_reads -= 1

    def close(self) -> None:
        self.is_closed = True


def run(kinds: list[str], should_stop: Callable[[], bool] = lambda: False, **options) -> list[Event]:
    session = options.pop("session", None) or FakeSession()
    document = options.pop("document", None) or FakeDocument(kinds)
    return list(read_pages(document, session, CONFIG, should_stop=should_stop, clock=session.clock))


def records(events: list[Event]) -> list[PageResult]:
    return [event.result for event in events if isinstance(event, PageFinished)]


def feed_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "page-feed"]


def stop_after(num_asks: int) -> Callable[[], bool]:
    asks = iter(range(num_asks))
    return lambda: next(asks, None) is None


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(sorted(VERDICTS)), max_size=7), st.none() | st.integers(0, 40))
def test_every_page_asked_for_has_one_record(kinds: list[str], num_asks: int | None):
    session = FakeSession()
    events = run(kinds, stop_after(num_asks) if num_asks is not None else lambda: False, session=session)
    results = records(events)
    assert [result.page_index for result in results] == list(FakeDocument(kinds).page_indices)
    for result in results:
        deltas = [e.text for e in events if isinstance(e, TextDelta) and e.page_index == result.page_index]
        assert "".join(deltas) == result.markdown
        assert result.verdict.is_good or result.reason
        assert SECRET not in (result.reason or "")
    check_verdicts(kinds, results, is_stopped=num_asks is not None)
    check_finish(events, results)
    assert not feed_threads()
    assert session.num_open_reads == 0


def check_verdicts(kinds: list[str], results: list[PageResult], *, is_stopped: bool) -> None:
    """Pages end as their kind says, up to a stop; from there on all are cancelled."""
    verdicts = [result.verdict for result in results]
    num_read = verdicts.index(Verdict.CANCELLED) if Verdict.CANCELLED in verdicts else len(verdicts)
    assert verdicts[:num_read] == [VERDICTS[kind] for kind in kinds[:num_read]]
    assert verdicts[num_read:] == [Verdict.CANCELLED] * (len(verdicts) - num_read)
    assert is_stopped or num_read == len(verdicts)


def check_finish(events: list[Event], results: list[PageResult]) -> None:
    assert [type(event) for event in events[-2:]] == [Telemetry, DocumentFinished]
    assert sum(isinstance(event, DocumentFinished) for event in events) == 1
    counts = Counter(result.verdict for result in results)
    assert events[-1].verdict_counts == counts
    assert events[-1].num_pages == len(results)
    assert events[-1].notes == ("The file was repaired.",)
    bad = [verdict for verdict in counts if not verdict.is_good]
    expected = (
        Outcome.CANCELLED
        if Verdict.CANCELLED in counts
        else Outcome.DONE_WITH_WARNINGS
        if bad
        else Outcome.DONE
    )
    assert events[-1].outcome is expected


def test_a_page_record_carries_its_paper_and_its_figures():
    events = run(["good"])
    (result,) = records(events)
    assert (result.width_px, result.height_px, result.dpi, result.notes) == (6, 4, 150.0, ("good",))
    assert (result.num_tokens, result.confidence) == (4, 0.5)
    assert result.decode_s == pytest.approx(4 * 0.1)


def test_blank_pages_are_shown_but_not_prepared():
    session = FakeSession()
    events = run(["blank", "blank"], session=session)
    assert [type(e) for e in events if not isinstance(e, Telemetry)] == [PageStarted, PageFinished] * 2 + [
        DocumentFinished
    ]
    assert not session.threads


def test_a_page_over_its_time_keeps_what_was_written():
    (result, after) = records(run(["slow", "good"]))
    assert result.verdict is Verdict.TIMEOUT
    assert "page_timeout_s" in result.reason
    assert result.markdown == "word0 "
    assert after.verdict is Verdict.OK


def test_time_spent_by_the_consumer_does_not_count_as_reading():
    session = FakeSession()
    results = []
    for event in read_pages(FakeDocument(["good"]), session, CONFIG, clock=session.clock):
        session.clock.now_s += TIMEOUT_S
        results += records([event])
    assert [result.verdict for result in results] == [Verdict.OK]


class DeafSession(FakeSession):
    """Writes for ever and never asks whether to stop."""

    def _steps(self, kind: str, page_index: int, should_stop: Callable[[], bool]) -> Iterator[TextDelta]:
        while True:
            self.clock.now_s += self.step_s
            yield TextDelta(page_index, "more ")


def test_a_reader_that_never_asks_is_cut_off():
    (timed_out,) = records(run(["good"], session=DeafSession()))
    assert timed_out.verdict is Verdict.TIMEOUT
    results = records(run(["good", "good"], stop_after(30), session=DeafSession()))
    assert [result.verdict for result in results] == [Verdict.CANCELLED] * 2
    assert results[0].markdown
    assert not results[1].markdown


def test_a_document_that_breaks_off_loses_no_page():
    document = FakeDocument(["good"] * 4, ends_after=2)
    results = records(run([], document=document))
    assert [result.verdict for result in results] == [Verdict.OK, Verdict.OK, Verdict.FAILED, Verdict.FAILED]
    assert all(SECRET not in (result.reason or "") for result in results)


def test_pages_are_prepared_in_one_thread_at_most_two_ahead():
    session = FakeSession()
    document = FakeDocument(["good"] * 12)
    leads = []
    for event in read_pages(document, session, CONFIG, clock=session.clock):
        if isinstance(event, TextDelta):
            leads.append(document.num_drawn - (event.page_index - 10 + 1))
            threading.Event().wait(0.002)  # let the feed run as far ahead as it may
    assert max(leads) == 2
    assert session.threads == {"page-feed"}


def test_closing_the_generator_ends_reader_and_thread():
    session, document = FakeSession(), FakeDocument(["good"] * 9)
    events = read_pages(document, session, CONFIG, clock=session.clock)
    assert any(isinstance(event, TextDelta) for event in events)
    assert session.num_open_reads == 1
    assert not document.is_closed
    events.close()
    assert session.num_open_reads == 0
    assert document.is_closed
    assert not feed_threads()


def test_a_stop_does_not_wait_for_a_page_that_is_being_prepared():
    session = FakeSession(gate=threading.Event())
    results = records(run(["good"] * 3, stop_after(3), session=session))
    assert [result.verdict for result in results] == [Verdict.CANCELLED] * 3
    (thread,) = feed_threads()
    session.gate.set()
    thread.join(5)
    assert not feed_threads()


def test_telemetry_comes_at_most_four_times_a_second_and_at_each_page_end():
    session = FakeSession(step_s=0.05)
    events = run(["good"] * 20, session=session)
    telemetry = [event for event in events if isinstance(event, Telemetry)]
    after_pages = sum(isinstance(a, PageFinished) and isinstance(b, Telemetry) for a, b in pairwise(events))
    assert after_pages == 20
    assert len(telemetry) - after_pages <= 4 * events[-1].elapsed_s + 2
    assert [sample.num_pages_done for sample in telemetry] == sorted(
        sample.num_pages_done for sample in telemetry
    )
    assert telemetry[-1].num_pages_done == telemetry[-1].num_pages_total == 20


def test_telemetry_goes_on_while_a_page_is_awaited():
    session = FakeSession(gate=threading.Event())
    events = read_pages(FakeDocument(["good"]), session, CONFIG)
    waiting = [next(events), next(events)]
    assert all(isinstance(event, Telemetry) and event.kv is None for event in waiting)
    session.gate.set()
    assert isinstance(list(events)[-1], DocumentFinished)


def test_counters_reach_the_telemetry():
    events = run(["good", "good"])
    last = events[-2]
    assert last.kv.allocated_bytes == 11_000
    assert last.kv.live_bytes is None
    assert events[-1].peak_kv_bytes == 11_000
    assert last.ttft_s == pytest.approx(0.1)
    assert last.pages_per_s == pytest.approx(1 / 0.4)
    assert last.eta_s == 0
    assert (last.num_reuse_hits, last.num_reuse_lookups) == (2, 4)
    assert last.process_bytes > 0


def test_time_before_reading_counts_for_the_job_but_not_for_the_pace():
    session = FakeSession()
    session.clock.now_s = 100.0  # of which 60 s went by since the job began
    events = list(read_pages(FakeDocument(["good"]), session, CONFIG, clock=session.clock, started_s=40.0))
    assert events[-1].elapsed_s == pytest.approx(60.4)
    assert events[-2].ttft_s == pytest.approx(60.1)
    assert events[-2].pages_per_s == pytest.approx(1 / 0.4)


def test_no_kv_reading_is_unknown_not_zero():
    assert run(["blank", "wordless"])[-1].peak_kv_bytes is None


def test_a_drawn_document_is_read_by_the_plain_reader(two_page_pdf: Path):
    config = replace(CONFIG, reader=ReaderConfig(model="plain"), encoder=EncoderConfig(threads=1))
    events = list(parse_document(two_page_pdf, config, pages="2,1"))
    results = records(events)
    assert [(result.page_number, result.verdict, result.markdown) for result in results] == [
        (2, Verdict.OK, "Silver spoon"),
        (1, Verdict.OK, "Copper kettle"),
    ]
    assert [event.runs for event in events if isinstance(event, PageStarted)] == [
        result.runs for result in results
    ]
    assert all(result.encode_s > 0 and result.regions for result in results)
    assert events[-1].outcome is Outcome.DONE
    assert not feed_threads()


opened: list[FakeSession] = []


def open_fake(config: AppConfig) -> FakeSession:
    opened.append(FakeSession())
    return opened[-1]


@pytest.fixture
def fake_reader(monkeypatch: pytest.MonkeyPatch) -> AppConfig:
    monkeypatch.setitem(READERS, "fake", f"{__name__}:open_fake")
    opened.clear()
    return replace(CONFIG, reader=replace(CONFIG.reader, model="fake"))


def test_a_file_that_is_no_document_is_refused_before_the_first_event(fake_reader: AppConfig):
    with pytest.raises(UnsupportedFileError):
        next(parse_document(b"plain words, no document", fake_reader))
    assert not opened


def test_an_unknown_reader_is_refused_by_name(two_page_pdf: Path):
    config = replace(CONFIG, reader=replace(CONFIG.reader, model="nobody"))
    with pytest.raises(ConfigError, match="nobody"):
        next(parse_document(two_page_pdf, config))


def test_closing_mid_document_closes_the_session_too(two_page_pdf: Path, fake_reader: AppConfig):
    events = parse_document(two_page_pdf, fake_reader)
    assert any(isinstance(event, PageStarted) for event in events)
    assert not opened[0].is_closed
    events.close()
    assert opened[0].is_closed
    assert not feed_threads()
