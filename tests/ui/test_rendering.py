"""Text of a document is shown as text: whatever it holds, no tag, handler, address or picture of its own
comes through.
"""

from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.types import PageResult, Piece, Region, RegionKind, Verdict
from ocr_app.ui.diffing import page_diff, words_of
from ocr_app.ui.rendering import markdown_html, page_html

HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><svg onload=alert(1)>',
    "[go](javascript:alert(1))",
    "[go](https://example.org/?a=1)",
    "![track](https://example.org/pixel.png)",
    "<https://example.org>",
    "<iframe srcdoc='<script>alert(1)</script>'>",
    "```<b onclick=alert(1)>\ncode</b>\n```",
    "&lt;script&gt;",
    "<style>*{display:none}</style>",
    "[x]: javascript:alert(1)\n\n[x]",
    r"\(\text{<img src=x onerror=alert(1)>}\)",
    r"\(\href{javascript:alert(1)}{x} \style{background:url(https://example.org)}{y} \color{red}z\)",
    "\\[\n\\text{</math><script>alert(1)</script>}\n\\]",
]
TAGS = {
    *(
        "p",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "ul",
        "ol",
        "li",
        "span",
        "pre",
        "code",
        "em",
        "strong",
        "br",
        "hr",
        "blockquote",
    ),
    *("math", "mrow", "mi", "mn", "mo", "mtext", "mfrac", "msup", "mstyle"),
    *("table", "thead", "tbody", "tr", "th", "td", "div"),
}
ATTRIBUTES = {"class", "style", "data-run", "scope", "title", "tabindex", "start", "display", "stretchy"}


class Reader(HTMLParser):
    """Collects what a browser would make of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.text = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.extend(attrs)

    def handle_data(self, data: str) -> None:
        self.text += data


def assert_inert(html: str) -> None:
    page = Reader(html)
    assert page.tags <= TAGS
    assert {name for name, _ in page.attributes} <= ATTRIBUTES
    styles = [value for name, value in page.attributes if name == "style"]
    assert all(
        value in {f"--depth:{depth}" for depth in range(1, 7)} or value.startswith("text-align:")
        for value in styles
    )


def paragraph(text: str) -> PageResult:
    return PageResult(0, Verdict.OK, regions=(Region(RegionKind.PARAGRAPH, (Piece(text, 0),)),))


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_inert(text: str):
    assert_inert(markdown_html(text))
    html = page_html(paragraph(text))
    assert_inert(html)
    assert Reader(html).text == text.strip()


@given(st.text(alphabet=st.sampled_from("<>&\"'`()[]!#*|-_=:/\n abjs\u4e2d\U0001f600"), max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_text_is_inert(text: str):
    assert_inert(markdown_html(text))
    assert_inert(page_html(paragraph(text)))
    diff = page_diff(text, text[::-1])
    assert Reader(diff.first_html).text == text.replace("\r", "")
    assert Reader(diff.first_html).tags <= {"del"}


def test_formulas_are_drawn_and_money_is_not_one():
    inline, block = (
        Reader(markdown_html(r"Half \(\frac{1}{2}\) of it.")),
        Reader(markdown_html("\\[\nE = mc^2\n\\]")),
    )
    assert {"math", "mfrac"} <= inline.tags
    assert inline.text.split() == ["Half", "12", "of", "it."]
    assert {"math", "msup"} <= block.tags
    assert ("display", "block") in block.attributes
    assert "math" not in Reader(markdown_html("from $5 to $7, and \\\\(a\\\\)")).tags


@pytest.mark.parametrize("source", [r"\frac{", "a_b_c", "{" * 3000, "x" * 5000])
def test_what_is_no_formula_is_shown_as_it_is(source: str):
    page = Reader(markdown_html(rf"\({source}\)"))
    assert "code" in page.tags
    assert page.text.strip() == source


@pytest.mark.parametrize("kind", [kind for kind in RegionKind if kind is not RegionKind.TABLE])
def test_every_run_can_be_found_in_the_text(kind: RegionKind):
    pieces = (Piece("one", 3), Piece(" two", 7), Piece(" three"))
    page = Reader(page_html(PageResult(0, Verdict.OK, regions=(Region(kind, pieces, level=2),))))
    assert [value for name, value in page.attributes if name == "data-run"] == ["3", "7"]
    assert page.text == "one two three"


def test_tables_keep_cells_and_runs():
    rows = (((Piece("a", 0),), (Piece("b", 1),)), ((Piece("c", 2),), ()))
    page = Reader(page_html(PageResult(0, Verdict.OK, regions=(Region(RegionKind.TABLE, rows=rows),))))
    assert {"table", "th", "td"} <= page.tags
    assert page.text == "abc"


def test_bullets_give_way_and_numbers_stay():
    items = (
        Region(RegionKind.LIST_ITEM, (Piece("•", 0), Piece(" first", 1)), level=1),
        Region(RegionKind.LIST_ITEM, (Piece("2.", 2), Piece(" second", 3)), level=2),
    )
    html = page_html(PageResult(0, Verdict.OK, regions=items))
    assert html.count("<ul>") == 1
    assert Reader(html).text == "first2. second"
    assert 'class="numbered" style="--depth:2"' in html


@given(st.text(max_size=60))
@settings(max_examples=80, deadline=None)
def test_words_joined_are_the_text(text: str):
    assert "".join(words_of(text)) == text


def test_agreement_counts_words_in_common():
    diff = page_diff("the cat sat", "the dog sat")
    assert "<del>cat</del>" in diff.first_html
    assert "<ins>dog</ins>" in diff.second_html
    assert diff.agreement == pytest.approx(0.8)  # four of five parts: two words and two spaces
    assert page_diff("same", "same").agreement == 1.0
    assert page_diff("", "").agreement == 1.0
