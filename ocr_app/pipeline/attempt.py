"""The reading of one page: how long the reader may work, what it wrote, and how it ended."""

from collections.abc import Callable, Generator, Iterator
from dataclasses import replace

from ocr_app.models.base import PreparedPage, ReaderSession
from ocr_app.pipeline.feed import Clock, failure_reason
from ocr_app.types import KVSample, PageReading, TextDelta, Verdict

STOP_GRACE_S = 0.5  # what a reader told to stop has left to hand over its regions


class PageAttempt:
    """The reading of one page: what was written, how long the reader worked, and why it ended early, if it
    did.

    Only time spent inside the reader counts, so that a slow consumer of the events does not make a page time
    out.
    """

    def __init__(
        self,
        session: ReaderSession,
        page: PreparedPage,
        is_stopping: Callable[[], bool],
        timeout_s: float,
        max_chars: int,
        clock: Clock,
    ) -> None:
        self.written: list[str] = []
        self._num_chars = 0
        self.reading: PageReading | None = None
        self.error: Exception | None = None
        self.busy_s = 0.0
        self._cut: Verdict | None = None  # why the reader was told to stop
        self._cut_s = 0.0  # busy time when it was told
        self._called_s: float | None = None  # set while the reader works
        self._session = session
        self._page = page
        self._is_stopping = is_stopping
        self._timeout_s = timeout_s
        self._max_chars = max_chars
        self._clock = clock

    def items(self) -> Iterator[TextDelta | KVSample]:
        """Text and KV readings as they come, until the page is read, fails, or is cut off."""
        stream = self._opened()
        try:
            while (item := self._next(stream)) is not None:
                if isinstance(item, PageReading):
                    self._take_reading(item)
                    return
                if isinstance(item, TextDelta):
                    item = self._capped(item)
                    self.written.append(item.text)
                yield item
                if self._cut is Verdict.TOKEN_CAP:
                    return
                if self.should_stop() and self.busy_s - self._cut_s > STOP_GRACE_S:
                    return
        finally:
            stream.close()

    @property
    def was_cut(self) -> bool:
        """Whether the page ended otherwise than the reader ended it."""
        return self._cut is not None or self.error is not None

    def should_stop(self) -> bool:
        """Asked by the reader every decode step, and by `items` after each of its items."""
        if self._cut is None:
            self._cut_s = self._busy_now_s()
            if self._is_stopping():
                self._cut = Verdict.CANCELLED
            elif self._cut_s > self._timeout_s:
                self._cut = Verdict.TIMEOUT
        return self._cut is not None

    def _capped(self, delta: TextDelta) -> TextDelta:
        """The text up to the limit. Behind it the reader is not asked again: one that writes without end
        would not hear.
        """
        room = self._max_chars - self._num_chars
        self._num_chars += len(delta.text)
        if len(delta.text) <= room:
            return delta
        self._cut = Verdict.TOKEN_CAP
        return replace(delta, text=delta.text[:room])

    def _take_reading(self, reading: PageReading) -> None:
        """Keep the result, unless its regions hold more than a page may."""
        if sum(len(region.text) for region in reading.regions) > self._max_chars:
            self._cut = self._cut or Verdict.TOKEN_CAP
        else:
            self.reading = reading

    def verdict(self) -> tuple[Verdict, str | None]:
        """How the page ended, and the reason for the person."""
        if self.error is not None:
            return Verdict.FAILED, failure_reason(self.error)
        if self._cut is Verdict.CANCELLED:
            return Verdict.CANCELLED, "Stopped while this page was read; what was written is kept."
        if self._cut is Verdict.TIMEOUT:
            remedy = "what was written is kept. Raise reader.page_timeout_s to give it longer."
            return Verdict.TIMEOUT, f"Reading took longer than {self._timeout_s:g} s; {remedy}"
        if self._cut is Verdict.TOKEN_CAP:
            remedy = "what was written up to there is kept. Raise reader.max_page_tokens to allow more."
            return Verdict.TOKEN_CAP, f"The reader wrote more than {self._max_chars} characters; {remedy}"
        if self.reading is None:
            return Verdict.FAILED, "The reader ended without a result for this page."
        return self.reading.verdict, self.reading.reason

    def _opened(self) -> Generator[TextDelta | KVSample | PageReading, None, None]:
        """The reader's items. Whatever it raises, when called, when asked or when closed, belongs to this
        page and ends here.
        """
        try:
            yield from self._session.read(self._page, self.should_stop)
        except Exception as error:
            self.error = error

    def _next(
        self, stream: Iterator[TextDelta | KVSample | PageReading]
    ) -> TextDelta | KVSample | PageReading | None:
        self._called_s = self._clock()
        try:
            return next(stream, None)
        finally:
            self.busy_s = self._busy_now_s()
            self._called_s = None

    def _busy_now_s(self) -> float:
        return self.busy_s + (self._clock() - self._called_s if self._called_s is not None else 0.0)
