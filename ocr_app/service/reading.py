"""The events of one job's document. As `pipeline.parse_document`, but what ends more than one page is raised.

A lack of memory or a broken device would otherwise be the reason of one failed page after another.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import replace
from itertools import groupby
from pathlib import Path

from ocr_app.config import AppConfig
from ocr_app.document.loader import open_document
from ocr_app.errors import DeviceFailedError, OutOfMemoryError
from ocr_app.models.base import PreparedPage, ReaderSession, open_reader
from ocr_app.pipeline import read_pages
from ocr_app.types import Event, KVSample, PageFinished, PageImage, PageReading, TextDelta

MEMORY_REMEDY = (
    "Lower sparsity.page_window or sparsity.max_resident_blocks, use reader.mode sparse, or ask for fewer "
    "pages."
)


def read_document(
    source: bytes | Path,
    config: AppConfig,
    *,
    password: str | None = None,
    pages: str | None = None,
    should_stop: Callable[[], bool],
) -> Iterator[Event]:
    """Yield the events of the pages asked for. Raises OutOfMemoryError or DeviceFailedError in the middle."""
    with (
        open_document(source, config.loader, password=password, pages=pages) as document,
        closing(_Watched(open_reader(config))) as session,
        closing(read_pages(document, session, config, should_stop=should_stop)) as events,
    ):
        for event in events:
            if isinstance(event, PageFinished) and session.fatal is not None:
                raise session.fatal
            yield event


def range_text(page_indices: Iterable[int]) -> str:
    """Page indices as a range that a person could have written, in the same order: 0, 1, 2, 7 → 1-3,8."""
    runs = groupby(enumerate(page_indices), key=lambda pair: pair[1] - pair[0])
    return ",".join(_part([index + 1 for _, index in run]) for _, run in runs)


def smaller_budget(config: AppConfig) -> AppConfig:
    """Settings for another try after a lack of memory: fewer earlier pages, fewer blocks, smaller images."""
    sparsity = config.sparsity
    cap = sparsity.max_resident_blocks
    smaller = replace(
        sparsity,
        page_window=sparsity.page_window // 4,
        block_budget=sparsity.block_budget // 2,
        max_resident_blocks=None if cap is None else max(1, cap // 2),
    )
    reader = replace(config.reader, mode="sparse" if config.reader.mode == "full" else config.reader.mode)
    loader = replace(config.loader, max_pixels=max(10_000, config.loader.max_pixels // 2))
    return replace(config, sparsity=smaller, reader=reader, loader=loader)


class _Watched:
    """A session that remembers the error no further page can be read after."""

    def __init__(self, session: ReaderSession) -> None:
        self._session = session
        self.fatal: OutOfMemoryError | DeviceFailedError | None = None

    def prepare(self, image: PageImage) -> PreparedPage:
        try:
            return self._session.prepare(image)
        except Exception as error:
            self.fatal = self.fatal or fatal_error(error)
            raise

    def read(
        self, page: PreparedPage, should_stop: Callable[[], bool]
    ) -> Iterator[TextDelta | KVSample | PageReading]:
        try:
            yield from self._session.read(page, should_stop)
        except Exception as error:
            self.fatal = self.fatal or fatal_error(error)
            raise

    def close(self) -> None:
        self._session.close()


def fatal_error(error: BaseException) -> OutOfMemoryError | DeviceFailedError | None:
    """What an error of a page means for the rest of the document; None: nothing."""
    if isinstance(error, OutOfMemoryError | DeviceFailedError):
        return error
    name = type(error).__name__
    if isinstance(error, MemoryError) or name == "OutOfMemoryError":
        return OutOfMemoryError(f"The memory of the device or of the process is used up. {MEMORY_REMEDY}")
    if name == "AcceleratorError" or (isinstance(error, RuntimeError) and "CUDA error" in str(error)):
        return DeviceFailedError("The device reported an error it cannot go on after; restart the service.")
    return None


def _part(numbers: list[int]) -> str:
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]}-{numbers[-1]}"
