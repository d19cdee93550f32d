"""The incremental Markdown writer: streamed equals exported, and what a renderer shows is the text that was
written.
"""

import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from ocr_app.document.markdown_writer import MarkdownWriter, page_markdown, region_markdown
from ocr_app.types import Piece, Region, RegionKind

PROSE = [
    RegionKind.PARAGRAPH,
    RegionKind.HEADING,
    RegionKind.LIST_ITEM,
    RegionKind.CAPTION,
    RegionKind.FOOTNOTE,
    RegionKind.UNPLACED,
]
MARKUP = "*_`~#>-+=|[](){}<>!&;:.\\/$^\"' \n\taxB19"
ENTITIES = [
    "&amp;",
    "&#38;",
    "&lt",
    "<b>",
    "</p>",
    "](http://x)",
    "![",
    "]: u",
    "1. ",
    "1) ",
    "12.",
    "- ",
    "---",
    "+ ",
    "* ",
    "** ",
    "[ ] ",
    "\\",
]

texts = st.one_of(
    st.text(alphabet=MARKUP, max_size=8),
    st.text(max_size=6),
    st.sampled_from(ENTITIES),
    st.text(string.ascii_letters, min_size=1, max_size=8),
)
separators = st.sampled_from(["", " "])
calls = st.lists(
    st.one_of(
        st.tuples(st.just("start"), st.sampled_from(list(RegionKind)), st.integers(0, 7), st.booleans()),
        st.tuples(st.just("piece"), texts, separators),
        st.tuples(st.sampled_from(["cell", "row", "break", "hyphen"])),
    ),
    max_size=40,
)


def renderer() -> MarkdownIt:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


def drive(writer: MarkdownWriter, plan: list[tuple]) -> list[str]:
    """Play a plan of calls, leaving out what the open region does not allow, and collect what is returned."""
    returns, kind = [], None
    for index, (call, *arguments) in enumerate(plan):
        if call == "start":
            kind, level, is_continuation = arguments
            returns.append(writer.start_region(kind, level, is_continuation=is_continuation))
        elif kind is None:
            continue
        elif call == "piece":
            returns.append(writer.add_piece(Piece(arguments[0], index), arguments[1]))
        elif call == "hyphen":
            writer.drop_hyphen()
        elif call == "break":
            returns.append(writer.line_break())
        elif kind is RegionKind.TABLE:
            returns.append(writer.next_cell() if call == "cell" else writer.next_row())
    return [*returns, writer.finish()]


@settings(max_examples=120, deadline=None)
@given(calls, st.booleans())
def test_streamed_text_equals_the_text_of_the_finished_regions(plan: list[tuple], furniture: bool):
    writer = MarkdownWriter(furniture=furniture)
    returns = drive(writer, plan)
    assert "".join(returns) == writer.markdown == page_markdown(writer.regions, furniture=furniture)


@settings(max_examples=100, deadline=None)
@given(calls)
def test_every_run_is_recorded_once_in_order(plan: list[tuple]):
    writer = MarkdownWriter()
    drive(writer, plan)
    is_open = False
    expected = []
    for index, (call, *_) in enumerate(plan):
        is_open |= call == "start"
        expected += [index] if call == "piece" and is_open else []
    assert [run for region in writer.regions for run in region.run_indices] == expected


def rendered_text(markdown: str) -> str:
    """The text a reader of the rendered page sees, white space folded; list numbers are markup and not in
    it.
    """
    parts = []
    for token in renderer().parse(markdown):
        if token.type in ("fence", "code_block"):
            parts.append(token.content)
        for child in token.children or []:
            assert child.type not in (
                "html_inline",
                "link_open",
                "image",
                "code_inline",
                "s_open",
                "strong_open",
            ), child
            parts.append(" " if child.type in ("softbreak", "hardbreak") else child.content)
        assert token.type not in ("html_block", "hr", "blockquote_open"), token
        parts.append(" ")
    return " ".join("".join(parts).split())


def visible(text: str) -> str:
    return " ".join("".join(char for char in text if char.isspace() or not _is_control(char)).split())


def _is_control(char: str) -> bool:
    return ord(char) < 32 or 127 <= ord(char) < 160


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from([RegionKind.PARAGRAPH, RegionKind.FOOTNOTE, RegionKind.FURNITURE]),
    st.lists(texts, max_size=6),
)
def test_paragraph_text_renders_back_to_itself(kind: RegionKind, parts: list[str]):
    region = Region(kind, tuple(Piece(part) for part in parts))
    markdown = region_markdown(region)
    assert rendered_text(markdown) == visible(region.text)
    assert [token.type for token in renderer().parse(markdown)] in (
        [],
        ["paragraph_open", "inline", "paragraph_close"],
    )


@settings(max_examples=120, deadline=None)
@given(st.integers(1, 6), st.lists(texts, max_size=6))
def test_heading_text_renders_back_to_itself_at_its_level(level: int, parts: list[str]):
    region = Region(RegionKind.HEADING, tuple(Piece(part) for part in parts), level=level)
    markdown = region_markdown(region)
    assert rendered_text(markdown) == visible(region.text)
    assert not markdown or renderer().parse(markdown)[0].tag == f"h{level}"


@settings(max_examples=120, deadline=None)
@given(st.lists(texts, max_size=6))
def test_caption_renders_as_italic_text(parts: list[str]):
    region = Region(RegionKind.CAPTION, tuple(Piece(part) for part in parts))
    markdown = region_markdown(region)
    assert rendered_text(markdown) == visible(region.text)
    assert not markdown or renderer().render(markdown).startswith("<p><em>")


@settings(max_examples=120, deadline=None)
@given(st.lists(st.lists(st.lists(texts, max_size=3), min_size=1, max_size=4), min_size=1, max_size=4))
def test_table_cells_render_back_and_ragged_rows_are_padded(rows: list[list[list[str]]]):
    region = Region(
        RegionKind.TABLE,
        rows=tuple(tuple(tuple(Piece(part) for part in cell) for cell in row) for row in rows),
    )
    expected = [[visible("".join(cell)) for cell in row] for row in rows]
    markdown = region_markdown(region)
    if not any(any(row) for row in expected):
        assert markdown == ""
        return
    width = max(map(len, expected))
    assert cells_of(markdown, width) == [row + [""] * (width - len(row)) for row in expected]


def cells_of(markdown: str, width: int) -> list[list[str]]:
    tokens = renderer().parse(markdown)
    cells = [
        rendered_inline(tokens[i + 1])
        for i, token in enumerate(tokens)
        if token.type in ("th_open", "td_open")
    ]
    return [cells[start : start + width] for start in range(0, len(cells), width)]


def rendered_inline(token) -> str:
    assert all(child.type in ("text", "text_special") for child in token.children), token.children
    return "".join(child.content for child in token.children)


@settings(max_examples=200, deadline=None)
@given(st.lists(texts, max_size=8))
def test_code_is_fenced_whatever_is_in_it(parts: list[str]):
    region = Region(RegionKind.CODE, tuple(Piece(part) for part in parts))
    tokens = renderer().parse(region_markdown(region))
    assert [token.type for token in tokens] in ([], ["fence"])
    shown = tokens[0].content if tokens else ""
    assert visible(shown) == visible("".join(parts))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(1, 4),
            st.sampled_from(["", "1. ", "2. ", "3) ", "• ", "– ", "12. ", "(a) "]),
            st.text("ab#*", min_size=1),
        ),
        min_size=1,
    )
)
def test_list_items_keep_depth_number_and_text(items: list[tuple[int, str, str]]):
    regions = [
        Region(RegionKind.LIST_ITEM, (Piece(marker + text),), level=level) for level, marker, text in items
    ]
    assert rendered_items(page_markdown(regions)) == expected_items(items)


def expected_items(items: list[tuple[int, str, str]]) -> list[tuple[int, int | None, str]]:
    """Depth (never more than one below the item above), printed number, text."""
    expected, depth = [], 0
    for level, marker, text in items:
        depth = min(level, depth + 1)
        digits = marker.rstrip(". )") if marker[:1].isdigit() else None
        expected.append((depth, int(digits) if digits else None, marker + text if marker == "(a) " else text))
    return expected


def rendered_items(markdown: str) -> list[tuple[int, int | None, str]]:
    """The same read from the rendered page, with the numbers a browser would count out."""
    items, lists = [], []
    for token in renderer().parse(markdown):
        if token.type in ("bullet_list_open", "ordered_list_open"):
            lists.append(int(token.attrs.get("start", 1)) - 1 if token.tag == "ol" else None)
        elif token.type in ("bullet_list_close", "ordered_list_close"):
            lists.pop()
        elif token.type == "list_item_open" and lists[-1] is not None:
            lists[-1] += 1
        elif token.type == "inline":
            items.append((len(lists), lists[-1], "".join(child.content for child in token.children)))
    return items


@pytest.mark.parametrize(
    ("text", "markdown"),
    [
        ("p < 0.05 and a & b", "p < 0.05 and a & b"),
        ("see [12], snake_case and 5 * 3", "see [12], snake_case and 5 * 3"),
        ("-5 degrees, AT&T, C#", "-5 degrees, AT&T, C#"),
        ("<script>alert(1)</script>", "\\<script>alert(1)\\</script>"),
        ("1. not a list", "1\\. not a list"),
        ("[text](javascript:x)", "[text\\](javascript:x)"),
    ],
)
def test_only_what_would_be_markup_is_escaped(text: str, markdown: str):
    assert region_markdown(Region(RegionKind.PARAGRAPH, (Piece(text),))) == markdown


def test_a_dropped_hyphen_joins_a_word_and_keeps_its_run():
    writer = MarkdownWriter()
    writer.start_region(RegionKind.PARAGRAPH)
    writer.add_piece(Piece("informa-", 0))
    writer.drop_hyphen()
    writer.add_piece(Piece("tion", 1), "")
    writer.finish()
    assert writer.markdown == "information"
    assert writer.regions[0].run_indices == (0, 1)


def test_prose_streams_one_piece_behind():
    writer = MarkdownWriter()
    writer.start_region(RegionKind.PARAGRAPH)
    assert writer.add_piece(Piece("one", 0)) == ""
    assert writer.add_piece(Piece("two", 1), " ").startswith("on")
    assert writer.add_piece(Piece("three", 2), " ").endswith("tw")


def test_furniture_is_recorded_and_written_only_on_request():
    regions = [
        Region(RegionKind.FURNITURE, (Piece("Page 7"),)),
        Region(RegionKind.PARAGRAPH, (Piece("text"),)),
    ]
    assert page_markdown(regions) == "text"
    assert page_markdown(regions, furniture=True) == "Page 7\n\ntext"


def test_line_breaks_are_kept_in_paragraphs_and_items_and_folded_in_headings():
    for kind, expected in (
        (RegionKind.PARAGRAPH, "a\\\nb"),
        (RegionKind.LIST_ITEM, "- a\\\n  b"),
        (RegionKind.HEADING, "# a b"),
    ):
        writer = MarkdownWriter()
        writer.start_region(kind, 1)
        writer.add_piece(Piece("a"))
        writer.line_break()
        writer.add_piece(Piece("b"), " ")
        writer.finish()
        assert writer.markdown == expected


def test_a_dash_right_before_chinese_text_is_a_bullet_and_before_a_word_is_not():
    chinese, flag = (Region(RegionKind.LIST_ITEM, (Piece(text),), level=1) for text in ("-欲待曲", "-rwx"))
    assert region_markdown(chinese).strip() == "- 欲待曲"
    assert region_markdown(flag).strip() == "- -rwx"


@pytest.mark.parametrize("marker", ["•", "–", "0", "o", "○"])
def test_a_bullet_is_written_as_one_whatever_the_recogniser_took_it_for(marker: str):
    assert (
        region_markdown(
            Region(RegionKind.LIST_ITEM, (Piece(f"{marker} of the first kind"),), level=1)
        ).strip()
        == "- of the first kind"
    )


@pytest.mark.parametrize("text", ["open the door", "0.5 litres", "o'clock", "007 agents"])
def test_a_word_is_no_bullet(text: str):
    assert text in region_markdown(Region(RegionKind.LIST_ITEM, (Piece(text),), level=1))
