"""Lay out training documents with a browser, which prints HTML, and hand them over with their truth.

`python -m ocr_app.training.html_typesetting --seed 3 --out DIR` draws the pages of one document with units
and reading order marked.
"""

import atexit
import logging
import shutil
from contextlib import ExitStack
from functools import lru_cache
from random import Random
from typing import TYPE_CHECKING

from ocr_app.errors import BrowserMissingError
from ocr_app.training.documents import write_document
from ocr_app.training.html_look import browser_style, draw_look
from ocr_app.training.html_source import HtmlWriter
from ocr_app.training.style_draw import draw_style
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
from ocr_app.training.typesetting import LANGUAGES, MAX_ATTEMPTS, first_pages, page_label, peek

if TYPE_CHECKING:
    from playwright.sync_api import Page

logger = logging.getLogger(__name__)

# Debian's chromium may run as root, and calls nobody.
BROWSER_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def generate_html_document(
    seed: int, *, split: str = "train", language: str | None = None, max_pages: int = 6
) -> LaidOutDocument:
    """Make one document. The same arguments give the same document.

    A document whose characters cannot all be traced to their units, or whose units come out of order, is
    drawn anew from the next sub-seed. Raises BrowserMissingError where there is no browser to print with.
    """
    for attempt in range(MAX_ATTEMPTS):
        rng = Random(f"html {split} {seed} {attempt}")
        chosen = language or rng.choices(list(LANGUAGES), list(LANGUAGES.values()))[0]
        texts = TextSource(chosen, split, rng)
        style = browser_style(draw_style(rng, split=split, language=chosen, texts=texts))
        num_pages = min(max_pages, rng.choice((1, 2, 2, 3, 4, 6))) * rng.uniform(0.5, 1.1)
        writer = HtmlWriter(style, draw_look(rng, style, split))
        source = writer.write(write_document(style, texts, rng, num_pages))
        try:
            pages = trace_document(
                print_source(source, writer.color_sheet()), writer.units, page_label(style), max_pages
            )
            check_order(pages)
        except TraceError as error:
            logger.info("seed %d, attempt %d: %s", seed, attempt, error)
            continue
        pdf = first_pages(print_source(source), len(pages))
        return LaidOutDocument(
            pdf,
            number_regions(pages),
            chosen,
            f"html-{style.family.name}",
            seed,
            tuple(map(markdown_truth, pages)),
        )
    raise TraceError(f"seed {seed}: no layout could be traced in {MAX_ATTEMPTS} attempts")


def check_order(pages: tuple[PageTruth, ...]) -> None:
    """No region begins on a later page than one that follows it: a browser may move what must not be broken
    behind what may.
    """
    seen: set[int] = set()
    for page in pages:
        body = {
            unit.region for unit in page.units if unit.kind not in (UnitKind.FURNITURE, UnitKind.FOOTNOTE)
        }
        fresh = body - seen
        if fresh and seen and min(fresh) < max(seen):
            raise TraceError(f"page {page.page_index}: region {min(fresh)} begins after region {max(seen)}")
        seen |= body


_open = ExitStack()  # browser and driver of this process


@lru_cache(maxsize=1)
def _sheet() -> "Page":
    """An empty browser tab to print from; it stays open until `close_browser` or the end of the process, for
    starting one takes seconds.
    """
    from playwright.sync_api import sync_playwright

    path = shutil.which("chromium")
    if path is None:
        raise BrowserMissingError(
            "Pages of HTML are printed by chromium, which is not installed: install it, or ask for none of them."
        )
    driver = sync_playwright().start()
    _open.callback(driver.stop)
    browser = driver.chromium.launch(executable_path=path, args=BROWSER_ARGUMENTS)
    _open.callback(browser.close)
    atexit.register(close_browser)
    return browser.new_page(java_script_enabled=False)


def close_browser() -> None:
    """Close the browser and its driver, if they are open: no other user of playwright in this process can
    start beside them.
    """
    _open.close()
    _sheet.cache_clear()


def print_source(source: str, color_sheet: str = "") -> bytes:
    """PDF of an HTML source: as a person sees it, or coloured by a further style sheet. Equal sources give
    equal bytes.
    """
    sheet = _sheet()
    sheet.set_content(source.replace("</head>", f"<style>{color_sheet}</style></head>", 1))
    return _without_dates(sheet.pdf(prefer_css_page_size=True, print_background=True))


def _without_dates(pdf: bytes) -> bytes:
    import pymupdf

    with pymupdf.open(stream=pdf, filetype="pdf") as document:
        document.set_metadata({})
        document.xref_set_key(-1, "ID", "null")
        return document.tobytes(garbage=3, deflate=True, no_new_id=True)


if __name__ == "__main__":
    peek(generate_html_document, (__doc__ or "").splitlines()[0])
