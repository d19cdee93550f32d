"""Lay out training documents with typst and hand them over with their truth.

`python -m ocr_app.training.typesetting --seed 3 --out DIR` draws the pages of one document with units and
reading order marked.
"""

import argparse
import logging
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import numpy as np

from ocr_app.training.documents import write_document
from ocr_app.training.numbering import roman
from ocr_app.training.style_draw import draw_style
from ocr_app.training.styles import Style
from ocr_app.training.texts import TextSource
from ocr_app.training.truth import (
    LaidOutDocument,
    PageTruth,
    TraceError,
    UnitKind,
    markdown_truth,
    number_regions,
    trace_document,
)
from ocr_app.training.typst_source import TypstWriter

if TYPE_CHECKING:
    import typst

logger = logging.getLogger(__name__)

LANGUAGES = {"en": 70, "zh": 20, "de": 4, "fr": 3, "es": 3}
MAX_ATTEMPTS = 5
KIND_COLORS = {
    UnitKind.PARAGRAPH: (90, 90, 220),
    UnitKind.HEADING: (220, 40, 40),
    UnitKind.LIST_ITEM: (30, 150, 60),
    UnitKind.CELL: (200, 130, 0),
    UnitKind.CODE: (120, 60, 160),
    UnitKind.CAPTION: (0, 150, 170),
    UnitKind.FOOTNOTE: (150, 100, 50),
    UnitKind.FURNITURE: (140, 140, 140),
}


def generate_document(
    seed: int,
    *,
    split: str = "train",
    language: str | None = None,
    max_pages: int = 6,
    loud_heads: float | None = None,
) -> LaidOutDocument:
    """Make one document. The same arguments give the same document.

    A document whose characters cannot all be traced to their units (a font without a glyph, say) is drawn
    anew from the next sub-seed.
    """
    for attempt in range(MAX_ATTEMPTS):
        rng = Random(f"{split} {seed} {attempt}")
        chosen = language or rng.choices(list(LANGUAGES), list(LANGUAGES.values()))[0]
        texts = TextSource(chosen, split, rng)
        style = draw_style(rng, split=split, language=chosen, texts=texts, loud_heads=loud_heads)
        num_pages = min(max_pages, rng.choice((1, 2, 2, 3, 4, 6))) * rng.uniform(0.5, 1.1)
        writer = TypstWriter(style)
        source = writer.write(write_document(style, texts, rng, num_pages))
        try:
            pages = trace_document(
                compile_source(source, colored=True), writer.units, page_label(style), max_pages
            )
        except TraceError as error:
            logger.info("seed %d, attempt %d: %s", seed, attempt, error)
            continue
        pdf = first_pages(compile_source(source, colored=False), len(pages))
        return LaidOutDocument(
            pdf, number_regions(pages), chosen, style.family.name, seed, tuple(map(markdown_truth, pages))
        )
    raise TraceError(f"seed {seed}: no layout could be traced in {MAX_ATTEMPTS} attempts")


@lru_cache(maxsize=1)
def _fonts() -> "typst.Fonts":
    """The installed fonts; finding them takes longer than laying out a page."""
    import typst

    return typst.Fonts()


def compile_source(source: str, *, colored: bool) -> bytes:
    """PDF of a typst source; coloured by unit numbers, or as a person sees it."""
    import typst

    mode = "ids" if colored else "black"
    return typst.compile(
        source.encode(), sys_inputs={"mode": mode}, font_paths=_fonts(), pdf_tags=False, timestamp=0
    )


def page_label(style: Style) -> Callable[[int], str]:
    """What is printed as the number of a page, by its index."""

    def label(page_index: int) -> str:
        number = page_index + style.first_page
        return roman(number) if style.page_numbering == "i" else str(number)

    return label


def first_pages(pdf: bytes, num_pages: int) -> bytes:
    """The PDF cut to its first pages."""
    import pymupdf

    with pymupdf.open(stream=pdf, filetype="pdf") as document:
        if len(document) <= num_pages:
            return pdf
        document.select(range(num_pages))
        return document.tobytes(garbage=3, deflate=True, no_new_id=True)


def render_pages(pdf: bytes, dpi: int) -> Iterator[np.ndarray]:
    """Pages as (H, W, 3) uint8, one at a time."""
    import pymupdf

    with pymupdf.open(stream=pdf, filetype="pdf") as document:
        for page in document:
            pixmap = page.get_pixmap(dpi=dpi)
            yield np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.height, pixmap.width, 3).copy()


def draw_units(pixels: np.ndarray, page: PageTruth, dpi: int) -> np.ndarray:
    """Mark every line of every unit in the colour of its kind, with the unit's place in the order at its
    first character.
    """
    import cv2

    scale = dpi / 72
    for index, unit in enumerate(page.units):
        boxes = page.boxes[page.unit_of == index] * scale
        is_new_line = (np.diff(boxes[:, 0]) < 0) | (
            np.abs(np.diff(boxes[:, 3])) > np.diff(boxes[1:, 1::2], axis=1)[:, 0]
        )
        for line in np.split(boxes, np.flatnonzero(is_new_line) + 1):
            (x0, y0), (x1, y1) = (
                line[:, :2].min(0).astype(int).tolist(),
                line[:, 2:].max(0).astype(int).tolist(),
            )
            cv2.rectangle(pixels, (x0, y0), (x1, y1), KIND_COLORS[unit.kind], 1)
        label = f"{index}" + (f"/{unit.level}" if unit.level else "")
        at = boxes[0, :2].astype(int) - (10, 0)
        cv2.putText(
            pixels,
            label,
            (max(int(at[0]), 0), int(at[1]) + 4),
            cv2.FONT_HERSHEY_SIMPLEX,
            0.32,
            KIND_COLORS[unit.kind],
            1,
            cv2.LINE_AA,
        )
    return pixels


def peek(generate: Callable[..., LaidOutDocument], description: str) -> None:
    """Command line: draw the pages of one generated document, with their truth marked."""
    import cv2

    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--split", choices=("train", "held_out"), default="train")
    parser.add_argument("--language", choices=tuple(LANGUAGES))
    parser.add_argument("--dpi", type=int, default=80)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    document = generate(arguments.seed, split=arguments.split, language=arguments.language)
    for page, pixels in zip(document.pages, render_pages(document.pdf, arguments.dpi), strict=True):
        name = f"{arguments.seed:04}-{page.page_index + 1}"
        drawn = draw_units(pixels, page, arguments.dpi)
        cv2.imwrite(str(arguments.out / f"{name}.png"), drawn[:, :, ::-1])
        (arguments.out / f"{name}.md").write_text(document.markdown[page.page_index], encoding="utf-8")
        state = "continues" if page.is_continuation else "begins anew"
        print(
            f"{name}: {document.style}, {document.language}, {len(page.units)} units, {len(page.chars)} characters, {state}"
        )


if __name__ == "__main__":
    peek(generate_document, (__doc__ or "").splitlines()[0])
