"""Markdown of any engine gives the text that is printed and the structure that is meant."""

import pytest

from ocr_app.bench.markdown_structure import Heading, ListItem, read_markdown
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.types import Piece, Region, RegionKind

PAGE = """\
# Annual report

A paragraph
over two lines with *stress*, `code` &amp; a [link](https://example.org).

- first
- second
  1. nested

     goes on
- third

12. numbered

| Year | Sum |
| --- | ---: |
| 2024 | |
| 2025 | a \\| b<br>c |

```
x = 1
```

<!-- page 2 -->
"""


def test_plain_text_is_what_stands_on_the_page():
    text = read_markdown(PAGE).text
    assert text.splitlines() == [
        "Annual report",
        "A paragraph over two lines with stress, code & a link.",
        "first",
        "second",
        "1. nested",
        "goes on",
        "third",
        "12. numbered",
        "Year Sum",
        "2024",
        "2025 a | b c",
        "x = 1",
    ]


def test_structure_has_levels_depths_and_rows():
    structure = read_markdown(PAGE)
    assert structure.headings == (Heading(1, "Annual report"),)
    depths = (
        ListItem(1, "first"),
        ListItem(1, "second"),
        ListItem(2, "nested goes on"),
        ListItem(1, "third"),
        ListItem(1, "numbered"),
    )
    assert structure.list_items == depths
    assert structure.rows == (("Year", "Sum"), ("2024", ""), ("2025", "a | b c"))


@pytest.mark.parametrize("markdown", ["", "\n\n", "<!-- page -->"])
def test_nothing_gives_nothing(markdown: str):
    structure = read_markdown(markdown)
    assert structure.text == ""
    assert structure.headings == structure.list_items == structure.rows == ()


def test_a_heading_inside_a_list_item_is_a_heading():
    structure = read_markdown("- # Title\n- text")
    assert structure.headings == (Heading(1, "Title"),)
    assert structure.list_items[1] == ListItem(1, "text")


def region(kind: RegionKind, text: str, level: int = 0) -> Region:
    return Region(kind, (Piece(text),), level)


def test_markdown_of_our_own_gives_the_text_of_its_regions_back():
    cells = (((Piece("a"),), (Piece("b|c"),)), ((), (Piece("<d>"),)))
    regions = (
        region(RegionKind.FURNITURE, "Page 3"),
        region(RegionKind.HEADING, "1. Title #2", 2),
        region(RegionKind.PARAGRAPH, "x < y & *z* [1](2)"),
        region(RegionKind.LIST_ITEM, "12. twelve", 1),
        region(RegionKind.LIST_ITEM, "(a) alpha", 1),
        region(RegionKind.CODE, "if a:\n    b"),
        region(RegionKind.CAPTION, "Figure 1. A thing"),
        region(RegionKind.FOOTNOTE, "1 See there."),
        Region(RegionKind.TABLE, rows=cells),
    )
    structure = read_markdown(page_markdown(regions, furniture=True))
    assert structure.text.split() == " ".join(region.text for region in regions).split()
    assert structure.headings == (Heading(2, "1. Title #2"),)
    assert [item.text for item in structure.list_items] == ["twelve", "(a) alpha"]
    assert structure.rows == (("a", "b|c"), ("", "<d>"))
