"""One document from file to events: open, prepare ahead, read in order, one record for every page asked for.

`parse_document` is the only way pages get read: screen, HTTP, command line and benches consume the same
events. It knows no jobs, no network and no model, and owns one thread, which draws and prepares pages at most
`NUM_PAGES_AHEAD` ahead of the page being read.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

from ocr_app.config import AppConfig
from ocr_app.document.loader import open_document
from ocr_app.models.base import ReaderSession, open_reader
from ocr_app.pipeline.feed import Clock, Document, PageFeed
from ocr_app.pipeline.reading import DocumentReading
from ocr_app.telemetry import MemoryProbe
from ocr_app.types import Event

__all__ = ["parse_document", "read_pages"]


def never() -> bool:
    return False


def parse_document(
    source: bytes | Path,
    config: AppConfig,
    *,
    password: str | None = None,
    pages: str | None = None,
    should_stop: Callable[[], bool] = never,
    clock: Clock = time.perf_counter,
) -> Iterator[Event]:
    """Read a document and yield its events, DocumentFinished last. Closing the generator cancels the work and
    frees its memory.

    Raises OCRError before the first event when the file cannot be opened or the model is missing; after that,
    what goes wrong with a page is in the record of that page. When `should_stop` turns true, the pages not
    finished get the verdict `cancelled`.
    """
    started_s = clock()
    with (
        open_document(source, config.loader, password=password, pages=pages) as document,
        closing(open_reader(config)) as session,
    ):
        yield from read_pages(
            document, session, config, should_stop=should_stop, clock=clock, started_s=started_s
        )


def read_pages(
    document: Document,
    session: ReaderSession,
    config: AppConfig,
    *,
    should_stop: Callable[[], bool] = never,
    clock: Clock = time.perf_counter,
    started_s: float | None = None,
) -> Iterator[Event]:
    """The events of an open document, which is closed at the end, read by an open reader. Times count from
    `started_s` on the clock.
    """
    started_s = clock() if started_s is None else started_s
    feed = PageFeed(document, session, clock)
    probe = MemoryProbe()
    try:
        yield from DocumentReading(
            feed, document, session, probe, config.reader, should_stop, clock, started_s
        ).events()
    finally:
        feed.close()
        probe.close()
