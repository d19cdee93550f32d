"""Markdown of any engine gives the text that is printed and the structure that is meant."""

import pytest

from ocr_app.bench.markdown_structure import Heading, ListItem, read_markdown

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
    depths = (ListItem(1, "first"), ListItem(1, "second"), ListItem(2, "nested goes on"), ListItem(1, "third"), ListItem(1, "numbered"))
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
