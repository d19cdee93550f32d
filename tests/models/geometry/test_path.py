"""A suggestion is followed from the start, and found again after anything else was written."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.models.embedded.geometry.suggestion import suggest
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure, max_page_tokens
from ocr_app.models.embedded.path import SuggestedPath
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import visual_page
from ocr_app.types import EncodedPage
from tests.models.conftest import laid_out, page_of
from tests.models.geometry.drawing import pages
from tests.models.geometry.test_suggestion import tokens_of


def state_of(page: EncodedPage) -> PageState:
    texts = [run.text for run in page.runs]
    return PageState(visual_page(page), suggest(page), texts, 0.0, may_continue=False)


def open_state(page: EncodedPage) -> PageState:
    state = state_of(page)
    state.advance(int(Structure.PAGE))
    return state


@settings(max_examples=60)
@given(pages(max_lines=8).filter(lambda page: page.runs))
def test_followed_from_the_start_it_is_the_suggestion(page: EncodedPage):
    suggestion = suggest(page)
    path, is_copied = SuggestedPath(suggestion), [False] * len(page.runs)
    written, last, since = [], None, []
    while (token := path.next_token(last, since, is_copied)) != Structure.END_PAGE:
        assert token is not None
        written.append(token)
        if token >= NUM_STRUCTURE_TOKENS:
            last, since = token - NUM_STRUCTURE_TOKENS, []
            is_copied[last] = True
        else:
            since = [*since, token]
    assert written == tokens_of(suggestion)


@settings(max_examples=60)
@given(pages(max_lines=8).filter(lambda page: page.runs), st.data())
def test_after_any_deviation_the_page_is_written_to_its_end(page: EncodedPage, data: st.DataObject):
    """Some tokens at random, as the grammar lets them; from there on what is suggested."""
    state, token = state_of(page), int(Structure.PAGE)
    num_wrong = data.draw(st.integers(1, 8))
    for step in range(max_page_tokens(len(page.runs))):
        outlook = state.look_ahead([token])
        state.advance(token)
        allowed = outlook.allowed[0].nonzero()[:, 0].tolist()
        told = outlook.suggested[0]
        token = data.draw(st.sampled_from(allowed)) if step < num_wrong or told is None else told
        if token == Structure.END_PAGE:
            break
    assert token == Structure.END_PAGE
    assert state.is_copied.all()


def test_a_wrong_kind_of_region_is_left_with_its_first_run():
    page = laid_out(page_of((0, 0, ["a", "b"]), (0, 40, ["c"])), ("text", [0]), ("text", [1]))
    state = open_state(page)
    state.advance(int(Structure.HEADING_2))
    assert state.suggested() == NUM_STRUCTURE_TOKENS, "the run it would have opened a paragraph with"
    for token in (NUM_STRUCTURE_TOKENS, NUM_STRUCTURE_TOKENS + 1):
        state.advance(token)
    assert state.suggested() == Structure.PARAGRAPH


def test_runs_that_were_passed_over_are_written_at_the_end_in_a_paragraph():
    page = laid_out(page_of((0, 0, ["a", "b"]), (0, 40, ["c"])), ("text", [0]), ("text", [1]))
    state = open_state(page)
    for token in (int(Structure.PARAGRAPH), NUM_STRUCTURE_TOKENS + 2):
        state.advance(token)
    written = []
    while (token := state.suggested()) != Structure.END_PAGE:
        written.append(token)
        state.advance(token)
    assert sorted(token for token in written if token >= NUM_STRUCTURE_TOKENS) == [
        NUM_STRUCTURE_TOKENS,
        NUM_STRUCTURE_TOKENS + 1,
    ]
    assert written[0] == Structure.PARAGRAPH


def test_behind_an_open_row_of_a_table_that_is_not_suggested_nothing_is_told():
    page = laid_out(page_of((0, 0, ["a"]), (0, 40, ["b"])), ("text", [0, 1]))
    state = open_state(page)
    state.advance(int(Structure.TABLE))
    assert state.suggested() is None
    state.advance(int(Structure.CELL))
    assert state.suggested() == NUM_STRUCTURE_TOKENS
