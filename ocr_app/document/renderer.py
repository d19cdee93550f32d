"""The renderer: a process of its own that opens one document and draws its pages on request.

Everything that parses a user's bytes runs here, under limits of memory, time and file writing. It reads an
order and then requests from standard input and answers on standard output (see frames). It ends when the app
closes the pipe, and so never outlives it.
"""

import os
import resource
import signal
from typing import Any

from ocr_app.document.drawing import Drawing, Limits, PageSource
from ocr_app.document.frames import Channel, Header
from ocr_app.document.sniff import FileKind
from ocr_app.errors import OCRError, PageRenderError

_SIGNS_OF_NO_MEMORY = ("malloc", "calloc", "realloc", "memory")
_MORE_MEMORY = "Lower the resolution, or raise loader.renderer_memory_bytes."
_PARTIAL = "A part of the page may be missing: it is damaged, or drawing it needs more memory than allowed."


def main() -> None:
    channel = _take_over_pipes()
    try:
        order, document_bytes = channel.receive()
        source = _open(order, bytes(document_bytes), channel)
        if source is not None:
            _serve(source, channel, float(order["alarm_s"]))
    except EOFError:
        return


def _take_over_pipes() -> Channel:
    """Keep the pipes for frames; whatever a library prints goes to standard error."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the app, which then closes the pipe
    write_fd = os.dup(1)
    os.dup2(2, 1)
    return Channel(0, write_fd)


def _open(order: Header, document_bytes: bytes, channel: Channel) -> PageSource | None:
    """Open the document and tell about it, or tell the error."""
    limits = Limits(order["dpi"], order["max_pixels"], order["memory_bytes"])
    try:
        source = _open_source(
            FileKind(order["kind"]), order["path"] or document_bytes, limits, order["password"]
        )
    except OCRError as error:
        channel.send({"error": type(error).__name__, "message": str(error)})
        return None
    except MemoryError:
        channel.send(
            {
                "error": "TooLargeError",
                "message": f"Opening the file needs more memory than allowed. {_MORE_MEMORY}",
            }
        )
        return None
    channel.send({"page_count": source.page_count, "is_repaired": source.is_repaired, "notes": source.notes})
    return source


def _open_source(kind: FileKind, source: str | bytes, limits: Limits, password: str | None) -> PageSource:
    """Load the one library that the kind needs, then set the limits, then open."""
    if kind is FileKind.PDF:
        from ocr_app.document.pdf import PdfSource

        _limit_process(limits.memory_bytes)
        return PdfSource(source, limits, password)
    from ocr_app.document.raster import RasterSource

    _limit_process(limits.memory_bytes)
    return RasterSource(source, kind, limits)


def _limit_process(memory_bytes: int) -> None:
    """Allow `memory_bytes` beyond what the interpreter and libraries take, no file writes and no core
    dumps.
    """
    ceiling = _address_space_bytes() + memory_bytes
    resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _address_space_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * resource.getpagesize()


def _serve(source: PageSource, channel: Channel, alarm_s: float) -> None:
    is_sound = True
    while is_sound:
        request, _ = channel.receive()
        # should the app die in mid-page, the kernel ends this process even while a library does not return
        signal.setitimer(signal.ITIMER_REAL, alarm_s)
        answer, pixels, is_sound = _answer(source, request["page_index"])
        channel.send(answer, pixels)
        del pixels
        signal.setitimer(signal.ITIMER_REAL, 0)


def _answer(source: PageSource, page_index: int) -> tuple[Header, Any, bool]:
    """Header and pixels of a page, or the reason why there are none; and whether this process can be trusted
    with another page.
    """
    try:
        drawing = source.draw(page_index)
        return _description(drawing), drawing.pixels, True
    except PageRenderError as error:
        return {"failure": str(error)}, b"", True
    except (
        Exception
    ) as error:  # the per-page loop: any failure of a library is this page's failure, told to the person
        return {"failure": _reason(error), "is_last": True}, b"", False


def _description(drawing: Drawing) -> Header:
    from ocr_app.document.blank import is_blank, is_dark

    is_empty = is_blank(drawing.pixels, drawing.dpi)
    if is_empty and drawing.is_partial:
        raise PageRenderError(
            f"what is on the page is damaged, or drawing it needs more memory than allowed. {_MORE_MEMORY}"
        )
    notes = drawing.notes
    if is_empty and is_dark(drawing.pixels):
        notes += ("The page is a single dark surface without text.",)
    height_px, width_px = drawing.pixels.shape[:2]
    sizes = {
        "height_px": height_px,
        "width_px": width_px,
        "width_pt": drawing.width_pt,
        "height_pt": drawing.height_pt,
    }
    return sizes | {
        "dpi": drawing.dpi,
        "rotation": drawing.rotation,
        "is_blank": is_empty,
        "notes": notes,
        "lack": _PARTIAL if drawing.is_partial else None,
    }


def _reason(error: Exception) -> str:
    text = str(error).lower()
    if isinstance(error, MemoryError) or any(sign in text for sign in _SIGNS_OF_NO_MEMORY):
        return f"drawing the page needs more memory than allowed. {_MORE_MEMORY}"
    return f"the page is damaged and cannot be drawn ({type(error).__name__})"


if __name__ == "__main__":
    main()
