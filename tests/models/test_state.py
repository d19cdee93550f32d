"""What the reader may write next on a page, and what it is told beside that."""

import pytest

from ocr_app.models.embedded.geometry.suggestion import Suggestion
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import visual_page
from tests.models.conftest import page_of

POINTER = NUM_STRUCTURE_TOKENS
CELL, ROW, TABLE = Structure.CELL, Structure.ROW, Structure.TABLE
PAGE, PARAGRAPH, DROP_HYPHEN = int(Structure.PAGE), int(Structure.PARAGRAPH), int(Structure.DROP_HYPHEN)
WRITTEN = [TABLE, CELL, POINTER, CELL, POINTER + 1, ROW, CELL, CELL, POINTER + 2, Structure.END_PAGE]


def table_state(last: str = "x") -> PageState:
    """Two columns; the second row lacks its first cell."""
    page = page_of((0.0, 0.0, ["x"]), (100.0, 0.0, ["x"]), (100.0, 20.0, [last]))
    suggestion = Suggestion((0, 1, 2), ((TABLE, CELL), (CELL,), (ROW, CELL, CELL)))
    texts = [run.text for run in page.runs]
    return PageState(visual_page(page), suggestion, texts, 0.0, may_continue=False)


def test_the_suggestion_is_told_from_the_start_of_a_page_to_its_end():
    outlook = table_state().look_ahead([PAGE, *map(int, WRITTEN[:-1])])
    assert outlook.suggested == [int(token) for token in WRITTEN]


def test_a_draft_and_single_tokens_tell_the_same():
    tokens = [PAGE, *map(int, WRITTEN[:7]), POINTER + 2]
    drafted, state = table_state().look_ahead(tokens), table_state()
    for token, allowed, suggested in zip(tokens, drafted.allowed.tolist(), drafted.suggested, strict=True):
        outlook = state.look_ahead([token])
        assert (outlook.allowed[0].tolist(), outlook.suggested[0]) == (allowed, suggested)
        state.advance(token)


def test_looking_ahead_commits_nothing():
    state = table_state()
    state.advance(PAGE)
    before = (state.suggested(), state.grammar.num_copied, state.is_copied.tolist())
    state.look_ahead([int(TABLE), int(CELL), POINTER, int(CELL), POINTER + 1])
    state.draft(int(TABLE), 5)
    assert (state.suggested(), state.grammar.num_copied, state.is_copied.tolist()) == before


def test_what_the_grammar_forbids_is_not_suggested():
    page = page_of((0.0, 0.0, ["x"]), (0.0, 20.0, ["y"]))
    wrong = Suggestion((0, 1), ((Structure.PARAGRAPH,), (Structure.ROW,)))
    state = PageState(visual_page(page), wrong, ["x", "y"], 0.0, may_continue=False)
    assert state.look_ahead([PAGE, PARAGRAPH, POINTER]).suggested == [PARAGRAPH, POINTER, None]


def test_the_suggestion_forbids_nothing():
    allowed = table_state().look_ahead([PAGE, PARAGRAPH]).allowed
    assert allowed[1, POINTER:].all(), "any run may open a paragraph, also one of a table"
    assert allowed[0, [int(TABLE), PARAGRAPH, int(Structure.HEADING_1)]].all()


@pytest.mark.parametrize(("text", "may_drop"), [("in-", True), ("in", False)])
def test_only_a_hyphen_may_be_dropped(text: str, may_drop: bool):
    outlook = table_state(last=text).look_ahead([PAGE, PARAGRAPH, POINTER + 2])
    assert bool(outlook.allowed[-1, DROP_HYPHEN]) is may_drop


def test_repeats_go_on_over_what_is_committed():
    state = table_state()
    for token in (TABLE, CELL, CELL):
        state.advance(int(token))
    assert state.repeats_after([int(token) for token in (CELL, CELL, ROW, CELL)]) == [2, 3, 0, 0]
