"""Drafts are the suggestion, at the length that was worth verifying."""

from ocr_app.models.embedded.drafts import MAX_DRAFT_TOKENS, MIN_DRAFT_TOKENS, Drafts
from ocr_app.models.embedded.geometry.suggestion import suggest
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import visual_page
from ocr_app.types import EncodedPage
from tests.models.conftest import laid_out, page_of

POINTER = NUM_STRUCTURE_TOKENS


def state_of(page: EncodedPage, written: list[int]) -> PageState:
    texts = [run.text for run in page.runs]
    state = PageState(visual_page(page), suggest(page), texts, 0.0, may_continue=False)
    for token in [int(Structure.PAGE), *written]:
        state.advance(token)
    return state


def two_paragraphs() -> EncodedPage:
    page = page_of((0, 0, ["a"] * 8), (0, 16, ["b"] * 3), (0, 60, ["c"] * 8), (0, 76, ["d"] * 8))
    return laid_out(page, ("text", [0, 1]), ("text", [2, 3]))


def test_a_paragraph_is_followed_to_its_end_and_the_next_one_opened():
    state = state_of(two_paragraphs(), [int(Structure.PARAGRAPH), POINTER, POINTER + 1])
    draft = Drafts().propose(POINTER + 2, state)
    assert draft[:8] == [POINTER + run for run in range(3, 11)]
    assert draft[8:10] == [Structure.PARAGRAPH, POINTER + 11]
    assert state.grammar.num_copied == 2, "a draft commits nothing"


def test_what_is_copied_is_not_proposed_again_and_a_draft_ends_before_the_end_of_the_page():
    copied = [POINTER + run for run in (0, 1, 2, 5, 6)]
    draft = Drafts().propose(POINTER + 7, state_of(two_paragraphs(), [int(Structure.PARAGRAPH), *copied]))
    assert draft[:3] == [POINTER + 8, POINTER + 9, POINTER + 10]
    assert not set(copied) & set(draft)
    assert Structure.END_PAGE not in draft
    assert len(draft) < MAX_DRAFT_TOKENS


def test_a_draft_goes_on_after_a_token_that_the_suggestion_does_not_have():
    state = state_of(two_paragraphs(), [int(Structure.HEADING_1)])
    assert Drafts().propose(POINTER, state)[:3] == [POINTER + 1, POINTER + 2, POINTER + 3]


def test_drafts_that_go_wrong_early_become_short_until_one_is_followed():
    page = page_of(*((0.0, 16.0 * row, ["a"] * 8) for row in range(12)))
    state, drafts = state_of(laid_out(page, ("text", range(12))), []), Drafts()

    def length() -> int:
        return len(drafts.propose(int(Structure.PARAGRAPH), state))

    assert length() == MAX_DRAFT_TOKENS
    drafts.learn(num_proposed=MAX_DRAFT_TOKENS, num_accepted=5)
    assert length() == 10
    drafts.learn(num_proposed=10, num_accepted=0)
    assert length() == MIN_DRAFT_TOKENS
    drafts.learn(num_proposed=6, num_accepted=6)
    assert length() == MAX_DRAFT_TOKENS
