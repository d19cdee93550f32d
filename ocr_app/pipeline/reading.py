"""One pass over an open document: waits for pages, reads them in order, counts, and yields the events."""

import logging
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from contextlib import closing

from ocr_app.config import ReaderConfig
from ocr_app.document.furniture import settle_page
from ocr_app.document.running_heads import Repeats
from ocr_app.models.base import PreparedPage, ReaderSession
from ocr_app.pipeline.attempt import PageAttempt
from ocr_app.pipeline.feed import Clock, Document, FedPage, PageFeed
from ocr_app.pipeline.record import page_result, paper_of
from ocr_app.pipeline.soundness import Seen, sound_seen
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

CHARS_A_TOKEN = 16  # more than a token of any reader writes: the cap in characters is the last resort
POLL_S = 0.05  # how often a stop is looked for while a page is awaited


class DocumentReading:
    """One pass over a document: the state behind its events."""

    def __init__(
        self,
        feed: PageFeed,
        document: Document,
        session: ReaderSession,
        probe: MemoryProbe,
        limits: ReaderConfig,
        should_stop: Callable[[], bool],
        clock: Clock,
        started_s: float,
    ) -> None:
        self._feed = feed
        self._session = session
        self._probe = probe
        self._limits = limits
        self._repeats = Repeats()
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
            if result.verdict is not Verdict.CANCELLED:  # pages never read have no speed
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
            seen = sound_seen(fed.page.runs, fed.page.figures) if fed.page else Seen()
            yield PageStarted(page_index, fed.image, seen.runs, seen.figures)
            if fed.page is not None:
                return (yield from self._read(page_index, fed, fed.page, fed.image, seen))
        return PageResult(page_index, fed.verdict or Verdict.BLANK, reason=fed.reason, **paper_of(fed.image))

    def _await_page(self) -> Generator[Event, None, FedPage | None]:
        """The next page from the feed, with telemetry meanwhile; None when a stop came first."""
        while not self._is_stopping():
            fed = self._feed.take(POLL_S)
            if fed is not None:
                return fed
            yield from self._due_telemetry()
        return None

    def _read(
        self, page_index: int, fed: FedPage, page: PreparedPage, image: PageImage, seen: Seen
    ) -> Generator[Event, None, PageResult]:
        self._num_reuse_hits += page.num_reuse_hits
        self._num_reuse_lookups += page.num_reuse_lookups
        attempt = PageAttempt(
            self._session,
            page,
            self._is_stopping,
            self._limits.page_timeout_s,
            CHARS_A_TOKEN * self._limits.max_page_tokens,
            self._clock,
        )
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
        result, added = page_result(image, fed.encode_s, seen, attempt)
        if added:
            yield TextDelta(page_index, added)
        return settle_page(result, self._repeats)

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
