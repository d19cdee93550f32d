"""Pages drawn and prepared in a thread of their own, in order, a bounded number ahead of the page being read.

It knows the document and the reader's `prepare`, not what is read or who waits. Failures travel in the same
queue as pages.
"""

import logging
import queue
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from ocr_app.errors import OCRError
from ocr_app.models.base import PreparedPage, ReaderSession
from ocr_app.types import PageFailure, PageImage, Verdict

logger = logging.getLogger(__name__)

NUM_PAGES_AHEAD = 2  # prepared and waiting, beside the page being read
# how long closing waits for the thread; a page being encoded cannot be interrupted and ends by itself
CLOSE_WAIT_S = 0.8

Clock = Callable[[], float]


class Document(Protocol):
    """What the pipeline asks of an open document."""

    page_indices: Sequence[int]
    notes: tuple[str, ...]

    def pages(self) -> Generator[PageImage | PageFailure, None, None]: ...

    def close(self) -> None:
        """End a page being drawn in another thread, and give everything back. May be called again."""
        ...


@dataclass(frozen=True, slots=True)
class FedPage:
    """A page as the feed hands it over: prepared, or blank (no `page`, no `verdict`), or failed (`verdict`
    and `reason`).
    """

    image: PageImage | None = None
    page: PreparedPage | None = None
    encode_s: float = 0.0
    verdict: Verdict | None = None
    reason: str | None = None


class PageFeed:
    """Draws and prepares pages in a thread of its own, in order, a bounded number ahead. Failures travel in
    the same queue.
    """

    def __init__(self, document: Document, session: ReaderSession, clock: Clock) -> None:
        self._document = document
        self._session = session
        self._clock = clock
        self._ready: queue.SimpleQueue[FedPage] = queue.SimpleQueue()
        self._room = threading.Semaphore(NUM_PAGES_AHEAD)
        self._closing = threading.Event()
        # not a daemon: an encoder torn down in mid-page by the interpreter's exit aborts the process
        self._thread = threading.Thread(target=self._run, name="page-feed")
        self._thread.start()

    def take(self, timeout_s: float) -> FedPage | None:
        """The next page, or None when it is not ready in time."""
        try:
            page = self._ready.get(timeout=timeout_s)
        except queue.Empty:
            if self._thread.is_alive() or not self._ready.empty():
                return None
            return FedPage(
                verdict=Verdict.FAILED,
                reason="Pages could not be drawn any further; the log has the details.",
            )
        self._room.release()
        return page

    def close(self) -> None:
        """End the thread and close the document; wait, but not longer than a person pressing Stop would."""
        self._closing.set()
        self._room.release()
        self._document.close()
        self._thread.join(CLOSE_WAIT_S)
        if self._thread.is_alive():
            logger.info("a page is still being prepared; its thread ends when that is done")

    def _run(self) -> None:
        pages = self._document.pages()
        try:
            for page_index in self._document.page_indices:
                self._room.acquire()
                if self._closing.is_set():
                    break
                self._ready.put(self._next_page(pages, page_index))
        finally:
            pages.close()

    def _next_page(self, pages: Iterator[PageImage | PageFailure], page_index: int) -> FedPage:
        image = None
        try:
            item = next(pages, None)
            if item is None:
                return FedPage(
                    verdict=Verdict.FAILED, reason="The document ended before this page could be drawn."
                )
            assert item.page_index == page_index, (
                f"page {page_index} was asked for, page {item.page_index} came"
            )
            if isinstance(item, PageFailure):
                return FedPage(verdict=item.verdict, reason=item.reason)
            image = item
            return FedPage(image) if image.is_blank else self._prepare(image)
        except Exception as error:
            self._log(page_index, error)
            return FedPage(image, verdict=Verdict.FAILED, reason=failure_reason(error))

    def _prepare(self, image: PageImage) -> FedPage:
        started_s = self._clock()
        page = self._session.prepare(image)
        return FedPage(page.image, page, self._clock() - started_s)

    def _log(self, page_index: int, error: Exception) -> None:
        if self._closing.is_set():  # the document may be closed under a page that nobody waits for
            logger.debug("page %d was given up: %s", page_index + 1, error)
        else:
            logger.error("page %d could not be prepared", page_index + 1, exc_info=error)


def failure_reason(error: Exception) -> str:
    """What a person may read about an error: our own messages are written for that, any other may hold a
    path.
    """
    return (
        str(error)
        if isinstance(error, OCRError)
        else f"An unexpected error ({type(error).__name__}); the log has the details."
    )
