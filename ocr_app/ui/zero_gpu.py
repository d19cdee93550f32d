"""Reading on a Space with ZeroGPU, where a GPU is lent to one decorated function at a time. Elsewhere this
changes nothing, and neither does it for a reader that runs on the CPU.

There the function runs in another process and its arguments are pickled, so that our stop flag cannot travel:
closing the generator ends the work instead.
"""

import logging
import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from ocr_app.config import AppConfig
from ocr_app.document.loader import open_document
from ocr_app.models.base import uses_gpu
from ocr_app.types import Event
from ocr_app.ui.jobs import Parse

logger = logging.getLogger(__name__)

START_S = 20  # to begin: the process, CUDA, the weights
PAGE_S = 3  # a page of small print is encoded and read in less on two cores
MAX_LEASE_S = 900  # a longer one would wait for a place, or be refused


def with_lent_gpu(parse: Parse) -> Parse:
    """The parse function, on a lent GPU where the Space lends them and the reader is to run on one.

    A document too long for one lease is read on the CPU: half a document would be worse than a slow one.
    """
    if not os.environ.get("SPACES_ZERO_GPU"):
        return parse
    import spaces

    @spaces.GPU(duration=_lease_of)
    def lent(
        source: Path, config: AppConfig, password: str | None, pages: str | None, num_pages: int
    ) -> Iterator[Event]:
        yield from parse(source, config, password=password, pages=pages)

    def parse_where_it_runs(
        source: Path,
        config: AppConfig,
        *,
        should_stop: Callable[[], bool],
        password: str | None = None,
        pages: str | None = None,
    ) -> Iterator[Event]:
        num_pages = _count_pages(source, config, password, pages) if uses_gpu(config) else 0
        if not num_pages or lease_s(num_pages) > MAX_LEASE_S:
            on_cpu = replace(config, reader=replace(config.reader, device="cpu"))
            if num_pages:
                logger.warning("%d pages take longer than a GPU is lent: read on the CPU", num_pages)
            yield from parse(source, on_cpu, password=password, pages=pages, should_stop=should_stop)
            return
        events: Any = lent(source, config, password, pages, num_pages)
        for event in events:
            yield event
            if should_stop():
                events.close()
                return

    return parse_where_it_runs


def lease_s(num_pages: int) -> int:
    """Seconds for which a GPU is asked for to read so many pages."""
    return START_S + PAGE_S * num_pages


def _lease_of(
    source: Path, config: AppConfig, password: str | None, pages: str | None, num_pages: int
) -> int:
    return lease_s(num_pages)


def _count_pages(source: Path, config: AppConfig, password: str | None, pages: str | None) -> int:
    """Pages to be read. A file that cannot be opened raises here what reading it would raise."""
    with open_document(source, config.loader, password=password, pages=pages) as document:
        return len(document.page_indices)
