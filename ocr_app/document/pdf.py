"""Pages of a PDF, drawn by MuPDF. Runs in the renderer only: it parses bytes that may be hostile.

JavaScript is never run and nothing is fetched; annotations and form fields are drawn.
"""

import re
from typing import Any

import numpy as np
import pymupdf

from ocr_app.document.drawing import Drawing, Limits, fitting_scale
from ocr_app.errors import (
    DamagedFileError,
    NoPagesError,
    PageRenderError,
    PasswordRequiredError,
    WrongPasswordError,
)

_MAX_TREE_DEPTH = 64
_LOSS = re.compile(r"error|cannot|truncated|premature", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?[0-9]*\.?[0-9]+")


class PdfSource:
    """An open PDF."""

    def __init__(self, source: bytes | str, limits: Limits, password: str | None) -> None:
        pymupdf.TOOLS.mupdf_display_errors(False)
        pymupdf.TOOLS.mupdf_display_warnings(False)
        self._limits = limits
        self._document = _open(source)
        _unlock(self._document, password)
        self.page_count = self._document.page_count
        self.is_repaired = bool(self._document.is_repaired)
        if self.page_count < 1:
            raise DamagedFileError(_DAMAGED) if self.is_repaired else NoPagesError(_NO_PAGES)
        self.notes = (
            (f"The file was damaged and has been repaired: {self.page_count} page(s) were found.",)
            if self.is_repaired
            else ()
        )

    def draw(self, page_index: int) -> Drawing:
        try:
            page = self._document.load_page(page_index)
        except MemoryError:
            raise
        except (
            Exception
        ) as error:  # MuPDF raises some forty classes; all mean that this page is not to be had
            raise PageRenderError("the page cannot be found in the damaged file") from error
        if _has_zero_size(self._document, page.xref):
            raise PageRenderError("the page has no size (its MediaBox has no width or height)")
        return self._draw_page(page)

    def _draw_page(self, page: Any) -> Drawing:
        width_pt, height_pt = page.rect.width, page.rect.height
        wanted = self._limits.dpi / 72
        fit = fitting_scale(width_pt * wanted, height_pt * wanted, self._limits.max_pixels)
        dpi = self._limits.dpi * fit
        matrix = pymupdf.Matrix(wanted * fit, wanted * fit)
        pymupdf.TOOLS.reset_mupdf_warnings()
        pixmap = page.get_pixmap(matrix=matrix, colorspace=pymupdf.csRGB, alpha=False, annots=True)
        is_partial = _tells_of_loss(pymupdf.TOOLS.mupdf_warnings())
        notes = () if fit == 1 else (_reduced_note(width_pt, height_pt, self._limits.dpi, dpi),)
        return Drawing(_pixels(pixmap), dpi, page.rotation % 360, notes, width_pt, height_pt, is_partial)


def _open(source: bytes | str) -> Any:
    try:
        document = (
            pymupdf.open(source, filetype="pdf")
            if isinstance(source, str)
            else pymupdf.open(stream=source, filetype="pdf")
        )
        if (
            document.is_pdf and document.page_count >= 0
        ):  # counting reads the page tree: a broken one shows now
            return document
    except MemoryError:
        raise
    except Exception as error:  # as above: whatever MuPDF raises, the file cannot be read
        raise DamagedFileError(_DAMAGED) from error
    raise DamagedFileError(_DAMAGED)


_DAMAGED = (
    "The file starts like a PDF, but is damaged: 0 pages could be read. "
    "Download or scan it again, or open it in a PDF viewer and print it to a new PDF."
)
_NO_PAGES = "The PDF opens and has no pages. Check the program that made it."


def _unlock(document: Any, password: str | None) -> None:
    if not document.needs_pass:
        return
    if not password:
        raise PasswordRequiredError("The PDF is encrypted. Give its password; it is held in memory only.")
    if not document.authenticate(password):
        raise WrongPasswordError(
            "The PDF is encrypted and this password does not open it. Try again; upper and lower case differ."
        )


def _has_zero_size(document: Any, xref: int) -> bool:
    """Whether the file gives the page no area. MuPDF would draw an empty Letter page instead and nobody would
    know.
    """
    for _ in range(_MAX_TREE_DEPTH):
        kind, value = document.xref_get_key(xref, "MediaBox")
        if kind == "array":
            return _is_empty_box(value)
        parent_kind, parent = document.xref_get_key(xref, "Parent")
        if kind != "null" or parent_kind != "xref":
            return False
        xref = int(parent.split()[0])
    return False


def _is_empty_box(text: str) -> bool:
    if "R" in text:
        return False  # numbers by reference: MuPDF's reading stands
    numbers = [float(number) for number in _NUMBER.findall(text)]
    return len(numbers) == 4 and (abs(numbers[2] - numbers[0]) < 0.01 or abs(numbers[3] - numbers[1]) < 0.01)


def _tells_of_loss(warnings: str) -> bool:
    """MuPDF leaves out what it cannot decode and draws on, to an empty page if need be; only its warnings
    tell.
    """
    return _LOSS.search(warnings) is not None


def _pixels(pixmap: Any) -> np.ndarray:
    """A copy of the pixmap as (H, W, 3): its own memory goes when the pixmap does, whoever still looks at
    it.
    """
    rows = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.stride)
    return np.ascontiguousarray(rows[:, : pixmap.width * 3]).reshape(pixmap.height, pixmap.width, 3)


def _reduced_note(width_pt: float, height_pt: float, wanted: int, dpi: float) -> str:
    size = f"{width_pt / 72 * 25.4:.0f} x {height_pt / 72 * 25.4:.0f} mm"
    change = f"drawn at {dpi:.3g} dpi instead of {wanted}"
    return f"The page is large ({size}): {change} to stay within the pixel limit."
