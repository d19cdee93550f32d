"""Blocks of text as regions: paragraphs, items, headings, code, and what goes together."""

import pytest

from ocr_app.models.embedded.geometry.blocks import find_blocks
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.text import joined, parts_of
from ocr_app.types import EncodedPage, RegionKind
from tests.models.conftest import laid_out, typeset

HEADING, ITEM, PARAGRAPH = RegionKind.HEADING, RegionKind.LIST_ITEM, RegionKind.PARAGRAPH


def regions(page: EncodedPage) -> list[tuple[RegionKind, str]]:
    seen = SeenPage(page)
    found = sorted(find_blocks(seen), key=lambda block: block.box[1])
    return [
        (part.kind, part.text) for part in joined(seen, [p for block in found for p in parts_of(seen, block)])
    ]


def alone(kind: str, *lines: tuple[float, float, str], **how) -> list[tuple[RegionKind, str]]:
    return regions(laid_out(typeset(*lines, **how), (kind, range(len(lines)))))


def test_a_line_set_in_opens_a_paragraph():
    lines = [
        (50, 50, "a paragraph with a rather long first line of words"),
        (50, 66, "ends here."),
        (70, 82, "Another"),
    ]
    assert alone("text", *lines) == [(PARAGRAPH, f"{lines[0][2]} ends here."), (PARAGRAPH, "Another")]


def test_lines_at_the_margin_go_on():
    assert (
        len(alone("text", (50, 50, "a line of words"), (50, 66, "and one more of them"), (50, 82, "the end")))
        == 1
    )


def test_a_paragraph_that_opens_with_a_mark_is_an_item():
    assert alone("text", (50, 50, "• something to do")) == [(ITEM, "• something to do")]


def test_a_likely_item_without_a_mark_is_one_and_an_unlikely_one_is_a_paragraph():
    page = laid_out(typeset((50, 50, "something to do")), ("list-item", [0]))
    assert regions(page) == [(ITEM, "something to do")]
    page.layout.classes[0, 4] = 0.6
    assert regions(page) == [(PARAGRAPH, "something to do")]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("How kettles are made", HEADING),
        ("Table 3: kettles by year", PARAGRAPH),
        ("Ann Lee, Bo Wu, Cy Ray, Di Fox", PARAGRAPH),
        ("This is a sentence of more than eight words in all.", PARAGRAPH),
        ("It depends on the following:", PARAGRAPH),
    ],
)
def test_what_is_called_a_heading_must_read_like_one(text: str, kind: RegionKind):
    assert alone("section-header", (50, 50, text)) == [(kind, text)]


def test_a_heading_of_two_lines_is_one_and_one_of_two_sizes_is_two():
    page = typeset((50, 50, "A long heading that"), (50, 66, "goes on below"))
    page = laid_out(page, ("section-header", [0]), ("section-header", [1]))
    assert regions(page) == [(HEADING, "A long heading that goes on below")]
    far = typeset((50, 50, "A heading"), (50, 150, "another far below"))
    assert len(regions(laid_out(far, ("section-header", [0]), ("section-header", [1])))) == 2


def test_an_item_takes_the_line_set_in_below_it():
    page = typeset((50, 50, "1. An item whose text"), (66, 66, "goes on set in"), (50, 200, "A paragraph"))
    page = laid_out(page, ("list-item", [0]), ("text", [1]), ("text", [2]))
    assert regions(page) == [(ITEM, "1. An item whose text goes on set in"), (PARAGRAPH, "A paragraph")]
