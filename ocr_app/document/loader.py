"""A document opened for reading: its pages as images, one at a time.

Limits are checked before work is done. All parsing happens in the renderer, a process of its own; this module
sees sizes and pixels only, and knows nothing of PDF or image libraries, models or text.
"""

from collections.abc import Generator
from pathlib import Path
from types import TracebackType

import numpy as np

from ocr_app.config import LoaderConfig
from ocr_app.document.frames import Header
from ocr_app.document.pages import parse_page_range
from ocr_app.document.renderer_process import RendererClosedError, RendererProcess
from ocr_app.document.sniff import HEAD_BYTES, sniff
from ocr_app.errors import PageRenderError, TooLargeError, UnsupportedFileError
from ocr_app.types import PageFailure, PageImage


class Document:
    """An open document; a context manager that ends its renderer. Made by `open_document`."""

    def __init__(self, renderer: RendererProcess, info: Header, page_indices: tuple[int, ...]) -> None:
        self._renderer = renderer
        self.page_count: int = info["page_count"]  # of the file
        self.page_indices = page_indices  # those asked for, in that order
        self.is_repaired: bool = info["is_repaired"]
        self.notes: tuple[str, ...] = tuple(info["notes"])

    def pages(self) -> Generator[PageImage | PageFailure, None, None]:
        """Yield one item for every index of `page_indices`, drawn when it is asked for. Closing the iterator
        ends the renderer.

        Ends early only when the document is closed meanwhile.
        """
        try:
            for page_index in self.page_indices:
                yield self._page(page_index)
        except RendererClosedError:
            return
        finally:
            self._renderer.stop()

    def close(self) -> None:
        """End the renderer, also in mid-page. May be called from any thread, and twice."""
        self._renderer.close()

    def __enter__(self) -> "Document":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _page(self, page_index: int) -> PageImage | PageFailure:
        try:
            header, data = self._renderer.draw(page_index)
        except PageRenderError as error:
            return PageFailure(page_index, str(error))
        pixels = np.frombuffer(data, np.uint8).reshape(header["height_px"], header["width_px"], 3)
        return PageImage(
            page_index=page_index,
            pixels=pixels,
            dpi=header["dpi"],
            width_pt=header["width_pt"],
            height_pt=header["height_pt"],
            rotation=header["rotation"],
            is_blank=header["is_blank"],
            notes=tuple(header["notes"]),
            lack=header["lack"],
        )


def open_document(
    source: bytes | Path, config: LoaderConfig, *, password: str | None = None, pages: str | None = None
) -> Document:
    """Open a PDF or image, from its bytes or from a file. `pages` is a range such as `1-5,9,20-`; None means
    all.

    Raises the leaf of OCRError that says what is wrong and what to do. The password is kept in memory only,
    for a restart of the renderer.
    """
    head, num_bytes = _head_and_size(source)
    if num_bytes > config.max_file_bytes:
        raise TooLargeError(
            f"The file has {num_bytes / 2**20:.1f} MiB; the limit is {config.max_file_bytes / 2**20:.1f} "
            "MiB. "
            "Split the file, or raise loader.max_file_bytes."
        )
    order = {
        "kind": sniff(head),
        "path": str(source.absolute()) if isinstance(source, Path) else None,
        "password": password,
        "dpi": config.dpi,
        "max_pixels": config.max_pixels,
        "memory_bytes": config.renderer_memory_bytes,
    }
    data = b"" if isinstance(source, Path) else source
    return _open(RendererProcess(order, data, config.page_timeout_s, 3 * config.max_pixels), config, pages)


def _open(renderer: RendererProcess, config: LoaderConfig, pages: str | None) -> Document:
    try:
        info = renderer.start()
        page_indices = parse_page_range(pages, info["page_count"])
        if len(page_indices) > config.max_pages:
            raise TooLargeError(
                f"The document has {len(page_indices)} pages to read; the limit is {config.max_pages}. "
                f"Ask for a page range such as 1-{config.max_pages}, or raise loader.max_pages."
            )
        return Document(renderer, info, page_indices)
    except BaseException:
        renderer.close()
        raise


def _head_and_size(source: bytes | Path) -> tuple[bytes, int]:
    if isinstance(source, bytes):
        return source[:HEAD_BYTES], len(source)
    try:
        with source.open("rb") as file:
            return file.read(HEAD_BYTES), source.stat().st_size
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise UnsupportedFileError(
            f"The file {source.name!r} cannot be read: {reason}. Check its name and permissions."
        ) from error
