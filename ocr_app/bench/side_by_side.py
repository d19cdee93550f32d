"""One HTML file that shows pages beside what was written of them, the pictures inside it."""

import base64
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path

from ocr_app.bench.worst import small_png
from ocr_app.config import LoaderConfig
from ocr_app.types import PageFailure

STYLE = (
    "section{display:flex;gap:1em;align-items:flex-start}img{width:45%}pre{width:50%;white-space:pre-wrap}"
)
Page = tuple[str, Path, str, Mapping[str, float | None]]  # name, PDF, Markdown, figures


def write_side_by_side(pages: Iterable[Page], path: Path, dpi: int) -> None:
    """Write the file; Markdown is shown as text, never as HTML."""
    sections = "\n".join(_section(*page, dpi) for page in pages)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f'<!doctype html><meta charset="utf-8"><title>Worst pages</title>\n'
        f"<style>{STYLE}</style>\n{sections}\n",
        encoding="utf-8",
    )


def _section(name: str, pdf: Path, markdown: str, figures: Mapping[str, float | None], dpi: int) -> str:
    told = ", ".join(f"{key} {value:.3f}" for key, value in figures.items() if value is not None)
    picture = f'<img alt="{escape(name)}" src="data:image/png;base64,{_picture(pdf, dpi)}">'
    return (
        f"<h2>{escape(name)}</h2><p>{escape(told)}</p>"
        f'<section>{picture}<pre dir="auto">{escape(markdown)}</pre></section>'
    )


def _picture(pdf: Path, dpi: int) -> str:
    from ocr_app.document.loader import open_document

    with open_document(pdf, LoaderConfig(dpi=dpi), pages="1") as document:
        image = next(iter(document.pages()))
    return "" if isinstance(image, PageFailure) else base64.b64encode(small_png(image)).decode("ascii")
