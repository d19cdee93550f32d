"""The layout network and the table-grid network on drawn pages: the classes one expects."""

import numpy as np
import pymupdf
import pytest

from ocr_app.models.embedded.seeing.layout import CLASSES, MAX_LINES, LayoutNetwork
from ocr_app.models.embedded.seeing.tables import GridNetwork
from ocr_app.types import Box, PageLayout

DPI = 150
PROSE = "The kettle was put on the fire long before noon and nobody knew when it would boil at last. " * 12
TITLE, FOOTER = "On Kettles and Spoons", "Page 3 of 12"


@pytest.fixture(scope="module")
def network() -> LayoutNetwork:
    return LayoutNetwork(threads=1)


def drawn(document: pymupdf.Document) -> tuple[np.ndarray, list[Box], list[str]]:
    """The picture of the first page, and its lines with their boxes in pixels."""
    page, scale = document[0], DPI / 72
    shown = page.get_pixmap(dpi=DPI)
    pixels = np.frombuffer(shown.samples, np.uint8).reshape(shown.h, shown.w, 3).copy()
    lines = [line for block in page.get_text("dict")["blocks"] for line in block["lines"]]
    boxes = [tuple(side * scale for side in line["bbox"]) for line in lines]
    return pixels, boxes, ["".join(span["text"] for span in line["spans"]).strip() for line in lines]


@pytest.fixture(scope="module")
def article() -> tuple[np.ndarray, list[Box], list[str]]:
    """A title, two columns and a footer."""
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        page.insert_text((150, 90), TITLE, fontsize=24, fontname="hebo")
        for left in (60, 310):
            page.insert_textbox((left, 140, left + 225, 700), PROSE, fontsize=10)
        page.insert_text((270, 810), FOOTER, fontsize=9)
        return drawn(document)


@pytest.fixture(scope="module")
def seen(network: LayoutNetwork, article) -> PageLayout:
    pixels, boxes, texts = article
    return network.see(pixels, DPI, boxes, texts)


def test_title_text_and_footer_are_told_apart(seen: PageLayout, article):
    kinds = [CLASSES[index] for index in seen.classes.argmax(axis=1)]
    by_text = dict(zip(article[2], kinds, strict=True))
    assert by_text[TITLE] in ("title", "section-header")
    assert by_text[FOOTER] == "page-footer"
    assert {kind for text, kind in by_text.items() if text not in (TITLE, FOOTER)} == {"text"}


def test_probabilities_are_those_of_one_choice(seen: PageLayout, article):
    assert seen.classes.shape == (len(article[1]), len(CLASSES))
    assert np.allclose(seen.classes.sum(axis=1), 1, atol=1e-5)
    assert ((seen.link_probabilities >= 0) & (seen.link_probabilities <= 1)).all()
    assert seen.links.shape == (len(seen.link_probabilities), 2)


def test_lines_of_one_column_are_linked_and_columns_are_not(seen: PageLayout, article):
    boxes = article[1]
    column = [
        None if text in (TITLE, FOOTER) else box[0] > 600 for box, text in zip(boxes, article[2], strict=True)
    ]
    linked = [
        pair for pair, sure in zip(seen.links.tolist(), seen.link_probabilities, strict=True) if sure > 0.55
    ]
    assert sum(column[a] is column[b] is not None for a, b in linked) >= len(boxes) - 4
    assert not any(column[a] is not column[b] for a, b in linked)


def test_a_page_without_lines_or_of_too_many_is_told_nothing_of_them(network: LayoutNetwork):
    pixels = np.full((400, 300, 3), 255, np.uint8)
    for boxes in ([], [(0.0, 0.0, 10.0, 10.0)] * (MAX_LINES + 1)):
        layout = network.see(pixels, DPI, boxes, ["a"] * len(boxes))
        assert len(layout.classes) == len(layout.links) == len(layout.link_probabilities) == 0


def test_lines_without_width_or_text_are_classified_without_harm(network: LayoutNetwork):
    pixels = np.full((400, 300, 3), 255, np.uint8)
    boxes = [(10.0, 10.0, 10.0, 10.0), (10.0, 50.0, 100.0, 50.0), (10.0, 50.0, 100.0, 70.0)]
    layout = network.see(pixels, DPI, boxes, ["a", "", "表格"])
    assert layout.classes.shape == (3, len(CLASSES))
    assert np.isfinite(layout.classes).all()


def test_the_grid_network_sees_the_rows_and_columns_of_a_table():
    with pymupdf.open() as document:
        page = document.new_page(width=595, height=842)
        for row in range(6):
            for column, word in enumerate(("Kettle", str(120 + row), str(98 - row))):
                page.insert_text((60 + 160 * column, 110 + 24 * row), word, fontsize=11)
        pixels, boxes, _ = drawn(document)
    x0, y0, x1, y1 = (
        f(sides) for f, sides in zip((min, min, max, max), zip(*boxes, strict=True), strict=True)
    )
    grid = GridNetwork(threads=1).see(pixels, (x0 - 2, y0 - 2, x1 + 2, y1 + 2))
    assert (len(grid.row_edges), len(grid.column_edges)) == (5, 2)
    for top, bottom in zip(grid.row_edges, grid.row_edges[1:], strict=False):
        assert sum(top < (box[1] + box[3]) / 2 < bottom for box in boxes) == 3
