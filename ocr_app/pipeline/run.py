"""One pass over an open document: waits for pages, reads them in order, counts, and yields the events."""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import Any

from ocr_app.models.base import ReaderSession
from ocr_app.pipeline.attempt import PageAttempt
from ocr_app.pipeline.feed import Clock, Document, FedPage, PageFeed
from ocr_app.telemetry import MemoryProbe, Progress, Throttle
from ocr_app.types import (
    DocumentFinished,
    Event,
    KVSample,
    Outcome,
    PageFinished,
    PageImage,
    PageResult,
    PageStarted,
    Telemetry,
    TextDelta,
    Verdict,
)

logger = logging.getLogger(__name__)

POLL_S = 0.05  # how often a stop is looked for while a page is awaited


class Run:
    """One pass over a document: the state behind its events."""

    def __init__(
        self,
        feed: PageFeed,
        document: Document,
        session: ReaderSession,
        probe: MemoryProbe,
        page_timeout_s: float,
        should_stop: Callable[[], bool],
        clock: Clock,
        started_s: float,
    ) -> None:
        self._feed = feed
        self._session = session
        self._probe = probe
        self._page_timeout_s = page_timeout_s
        self._should_stop = should_stop
        self._clock = clock
        self._page_indices = document.page_indices
        self._notes = document.notes
        self._page_index = self._page_indices[0] if self._page_indices else 0
        self._started_s = started_s
        self._is_stopped = False
        self._throttle = Throttle()
        self._progress = Progress(len(self._page_indices), self._elapsed_s())
        self._verdicts: Counter[Verdict] = Counter()
        self._kv: KVSample | None = None
        self._peak_kv_bytes: int | None = None
        self._ttft_s: float | None = None
        self._num_reuse_hits = 0
        self._num_reuse_lookups = 0

    def events(self) -> Iterator[Event]:
        for page_index in self._page_indices:
            self._page_index = page_index
            result = yield from self._page(page_index)
            self._verdicts[result.verdict] += 1
            self._progress.page_done(self._elapsed_s())
            yield PageFinished(result)
            if not self._is_stopped:  # thousands of cancelled pages need no reading each
                yield self._telemetry()
        yield self._telemetry()
        yield self._finished()

    def _page(self, page_index: int) -> Generator[Event, None, PageResult]:
        """Wait for a page and read it; returns its record."""
        fed = yield from self._await_page()
        if fed is None:
            return PageResult(page_index, Verdict.CANCELLED, reason="Stopped before this page was read.")
        if fed.image is not None and fed.verdict is None:
            runs, figures = (fed.page.runs, fed.page.figures) if fed.page else ((), ())
            yield PageStarted(page_index, fed.image, runs, figures)
        if fed.page is not None:
            return (yield from self._read(page_index, fed))
        return PageResult(page_index, fed.verdict or Verdict.BLANK, reason=fed.reason, **_paper(fed.image))

    def _await_page(self) -> Generator[Event, None, FedPage | None]:
        """The next page from the feed, with telemetry meanwhile; None when a stop came first."""
        while not self._is_stopping():
            fed = self._feed.take(POLL_S)
            if fed is not None:
                return fed
            yield from self._due_telemetry()
        return None

    def _read(self, page_index: int, fed: FedPage) -> Generator[Event, None, PageResult]:
        self._num_reuse_hits += fed.page.num_reuse_hits
        self._num_reuse_lookups += fed.page.num_reuse_lookups
        attempt = PageAttempt(self._session, fed.page, self._is_stopping, self._page_timeout_s, self._clock)
        with closing(attempt.items()) as items:
            for item in items:
                if isinstance(item, KVSample):
                    self._note_kv(item)
                else:
                    self._note_text(item)
                    yield item
                yield from self._due_telemetry()
        if attempt.error is not None:
            logger.error("page %d could not be read", page_index + 1, exc_info=attempt.error)
        return _page_result(page_index, fed, attempt)

    def _note_text(self, delta: TextDelta) -> None:
        if delta.text and self._ttft_s is None:
            self._ttft_s = self._elapsed_s()

    def _note_kv(self, sample: KVSample) -> None:
        self._kv = sample
        self._progress.tokens_written(self._elapsed_s(), sample.num_tokens)
        if sample.allocated_bytes is not None:
            self._peak_kv_bytes = max(self._peak_kv_bytes or 0, sample.allocated_bytes)

    def _is_stopping(self) -> bool:
        """A stop, once asked for, stays."""
        self._is_stopped = self._is_stopped or self._should_stop()
        return self._is_stopped

    def _elapsed_s(self) -> float:
        return self._clock() - self._started_s

    def _due_telemetry(self) -> Iterator[Telemetry]:
        if self._throttle.is_due(self._elapsed_s()):
            yield self._telemetry()

    def _telemetry(self) -> Telemetry:
        now_s = self._elapsed_s()
        self._throttle.mark(now_s)
        left = self._progress.time_left()
        return Telemetry(
            time_s=now_s,
            page_index=self._page_index,
            kv=self._kv,
            devices=self._probe.devices(),
            process_bytes=self._probe.process_bytes(),
            num_pages_done=self._progress.num_pages_done,
            num_pages_total=self._progress.num_pages_total,
            tokens_per_s=self._progress.tokens_per_s,
            pages_per_s=self._progress.pages_per_s,
            ttft_s=self._ttft_s,
            eta_s=left.expected_s if left else None,
            eta_low_s=left.low_s if left else None,
            eta_high_s=left.high_s if left else None,
            num_reuse_hits=self._num_reuse_hits,
            num_reuse_lookups=self._num_reuse_lookups,
        )

    def _finished(self) -> DocumentFinished:
        return DocumentFinished(
            outcome=_outcome(self._verdicts),
            num_pages=len(self._page_indices),
            verdict_counts=dict(self._verdicts),
            elapsed_s=self._elapsed_s(),
            peak_kv_bytes=self._peak_kv_bytes,
            notes=self._notes,
        )


def _outcome(verdicts: Counter[Verdict]) -> Outcome:
    if verdicts[Verdict.CANCELLED]:
        return Outcome.CANCELLED
    return Outcome.DONE if all(verdict.is_good for verdict in verdicts) else Outcome.DONE_WITH_WARNINGS


def _page_result(page_index: int, fed: FedPage, attempt: PageAttempt) -> PageResult:
    """The record of a page that was read, whole or in part: its Markdown is what was yielded, however it
    ended.
    """
    reading = attempt.reading
    verdict, reason = attempt.verdict()
    markdown = "".join(attempt.written)
    if reading is not None and reading.markdown != markdown:
        logger.error(
            "page %d: the reader's Markdown is not what it wrote piece by piece; the pieces are kept",
            page_index + 1,
        )
    return PageResult(
        page_index,
        verdict,
        markdown=markdown,
        joint=reading.joint if reading else "\n\n",
        reason=reason,
        regions=reading.regions if reading else (),
        runs=fed.page.runs,
        figures=fed.page.figures,
        confidence=reading.confidence if reading else None,
        num_tokens=reading.num_tokens if reading else 0,
        encode_s=fed.encode_s,
        decode_s=attempt.busy_s,
        **_paper(fed.image),
    )


def _paper(image: PageImage | None) -> dict[str, Any]:
    """The fields of a page record that describe its image."""
    if image is None:
        return {}
    names = ("width_px", "height_px", "dpi", "width_pt", "height_pt", "rotation", "turn", "skew", "notes")
    return {name: getattr(image, name) for name in names}
