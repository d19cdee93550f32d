"""The suggestion holds every run once and obeys the grammar, whatever was seen; and simple pages."""

from dataclasses import replace

import pytest
from hypothesis import given, settings

from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.suggestion import Suggestion, suggest
from ocr_app.models.embedded.geometry.tables import page_blocks, table_boxes, table_grids
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Grammar, Structure
from ocr_app.models.embedded.letters import HYPHENS
from ocr_app.models.embedded.writer import TokenWriter
from ocr_app.types import EncodedPage
from tests.models.conftest import laid_out, page_of, typeset
from tests.models.geometry.drawing import pages


def tokens_of(suggestion: Suggestion) -> list[int]:
    """What a reader writes that follows the suggestion, END_PAGE left out."""
    return [
        int(token)
        for before, run in zip(suggestion.before, suggestion.order, strict=True)
        for token in (*before, NUM_STRUCTURE_TOKENS + run)
    ]


def markdown(page: EncodedPage) -> str:
    writer = TokenWriter(page, "")
    for token in tokens_of(suggest(page)):
        writer.add(token)
    writer.finish()
    return writer.markdown.strip()


def breach(page: EncodedPage, tokens: list[int]) -> str | None:
    """The first token that the grammar does not allow."""
    grammar, last = Grammar(len(page.runs)), None
    for place, token in enumerate([*tokens, int(Structure.END_PAGE)]):
        has_hyphen = last is not None and page.runs[last].text[-1:] in HYPHENS
        structure, pointer = grammar.allowed(ends_with_hyphen=has_hyphen)
        if not (pointer if token >= NUM_STRUCTURE_TOKENS else structure[token]):
            return f"{token} at {place} of {tokens}"
        last = token - NUM_STRUCTURE_TOKENS if token >= NUM_STRUCTURE_TOKENS else last
        grammar.advance(token)
    return None


@settings(max_examples=150)
@given(pages())
def test_every_run_is_suggested_once(page: EncodedPage):
    suggestion = suggest(page)
    assert sorted(suggestion.order) == list(range(len(page.runs)))
    assert len(suggestion.before) == len(suggestion.order)


@settings(max_examples=150)
@given(pages())
def test_the_grammar_allows_what_is_suggested(page: EncodedPage):
    if page.runs:
        assert breach(page, tokens_of(suggest(page))) is None


def test_a_breach_of_the_grammar_is_seen():
    """Otherwise the test above could not fail."""
    page = page_of((0, 0, ["a", "b"]))
    assert breach(page, [NUM_STRUCTURE_TOKENS, NUM_STRUCTURE_TOKENS + 1]) is not None
    assert breach(page, [int(Structure.PARAGRAPH), NUM_STRUCTURE_TOKENS]) is not None, "a run is left"


@settings(max_examples=100)
@given(pages())
def test_every_line_is_in_one_block(page: EncodedPage):
    blocks = page_blocks(SeenPage(page))
    assert sorted(line.index for block in blocks for line in block.lines) == list(range(len(page.lines)))


@settings(max_examples=100)
@given(pages())
def test_tables_are_looked_for_inside_the_page_and_their_edges_are_sorted(page: EncodedPage):
    seen = SeenPage(page)
    for x0, y0, x1, y1 in table_boxes(seen):
        assert 0 <= x0 <= x1 <= seen.width
        assert 0 <= y0 <= y1 <= seen.height
    for grid in table_grids(seen):
        assert list(grid.row_edges) == sorted(grid.row_edges)
        assert list(grid.column_edges) == sorted(grid.column_edges)


@given(pages())
@settings(max_examples=50)
def test_the_same_page_is_suggested_the_same(page: EncodedPage):
    assert suggest(page) == suggest(replace(page))


def test_an_empty_page_has_an_empty_suggestion():
    assert suggest(page_of()) == Suggestion()


def test_one_line_is_one_paragraph():
    assert suggest(page_of((0, 0, ["a", "b"]))) == Suggestion((0, 1), ((Structure.PARAGRAPH,), ()))


def test_lines_on_the_very_same_place_are_all_kept():
    page = laid_out(page_of(*[(50.0, 50.0, ["a", "b"])] * 6), ("table", range(6)))
    assert sorted(suggest(page).order) == list(range(12))


def test_running_heads_come_first_and_feet_last_as_furniture():
    page = typeset((50, 950, "17"), (50, 300, "Text of the page"), (50, 20, "Chapter one"))
    page = laid_out(page, ("page-footer", [0]), ("text", [1]), ("page-header", [2]))
    order = suggest(page).order
    assert [page.runs[run].line_index for run in order] == [2, 2, 1, 1, 1, 1, 0]
    assert markdown(page) == "Text of the page"


def test_a_word_broken_at_the_end_of_a_line_is_joined():
    page = typeset((50, 50, "a long and inter-"), (50, 66, "national rule"))
    assert markdown(laid_out(page, ("text", [0, 1]))) == "a long and international rule"


def test_a_word_broken_at_the_end_of_a_paragraph_is_left_as_it_is():
    page = laid_out(typeset((50, 50, "inter-"), (50, 150, "national rule")), ("text", [0]), ("text", [1]))
    assert markdown(page) == "inter-\n\nnational rule"


def test_two_columns_of_text_are_read_one_after_the_other():
    left = [(50.0, 100.0 + 20 * row, f"left column line {row}") for row in range(4)]
    right = [(450.0, 100.0 + 20 * row, f"right column line {row}") for row in range(4)]
    page = typeset(*(line for pair in zip(left, right, strict=True) for line in pair))
    together, apart = (
        laid_out(page, ("text", range(8))),
        laid_out(page, ("text", range(0, 8, 2)), ("text", range(1, 8, 2))),
    )
    for seen in (together, apart):
        assert [
            page.runs[run].text for run in suggest(seen).order if page.runs[run].text in ("left", "right")
        ] == [
            *["left"] * 4,
            *["right"] * 4,
        ]


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("text", Structure.PARAGRAPH),
        ("caption", Structure.PARAGRAPH),
        ("footnote", Structure.FOOTNOTE),
        ("section-header", Structure.HEADING_2),
        ("page-header", Structure.FURNITURE),
    ],
)
def test_the_class_of_a_block_opens_its_region(kind: str, opening: Structure):
    page = typeset((50, 300, "Some words"), (50, 400, "The text below goes on for longer than that"))
    page = laid_out(page, (kind, [0]), ("text", [1]))
    opened = {run: before for run, before in zip(suggest(page).order, suggest(page).before, strict=True)}
    assert opened[0] == (opening,)
    assert opened[2] == (Structure.PARAGRAPH,)
