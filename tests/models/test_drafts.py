"""Drafts follow white space: the rest of the line, the lines after it, and the cells of a table."""

from ocr_app.models.embedded.drafts import MAX_DRAFT_TOKENS, LineDrafts
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import visual_page
from ocr_app.types import EncodedPage
from tests.models.conftest import page_of

POINTER = NUM_STRUCTURE_TOKENS


def propose(page: EncodedPage, token: int, written: list[int]) -> list[int]:
    visual = visual_page(page)
    state = PageState(visual, [run.text for run in page.runs], 0.0, may_continue=False)
    for before in [int(Structure.PAGE), *written]:
        state.advance(before)
    return LineDrafts(page, visual).propose(token, state)


def test_a_paragraph_is_followed_to_its_end_and_the_next_one_opened():
    page = page_of((0, 0, ["a"] * 8), (0, 16, ["b"] * 3), (0, 60, ["c"] * 8), (0, 76, ["d"] * 8))
    draft = propose(page, POINTER + 2, [int(Structure.PARAGRAPH), POINTER, POINTER + 1])
    assert draft[:8] == [POINTER + run for run in range(3, 11)]
    assert draft[8:10] == [Structure.PARAGRAPH, POINTER + 11]


def test_a_table_is_followed_by_its_cells_and_the_empty_ones():
    full = [(100.0 * column, 20.0 * row, ["x"]) for row in range(2) for column in range(3)]
    page = page_of(*full, (0.0, 40.0, ["y"]), (200.0, 40.0, ["z"]), (0.0, 60.0, ["x"]), (100.0, 60.0, ["x"]))
    cell, row = int(Structure.CELL), int(Structure.ROW)
    draft = propose(page, int(Structure.TABLE), [])
    assert draft[:7] == [cell, POINTER, cell, POINTER + 1, cell, POINTER + 2, row]
    first, second = (
        [cell, POINTER, cell, POINTER + 1, cell, POINTER + 2],
        [cell, POINTER + 3, cell, POINTER + 4, cell, POINTER + 5],
    )
    assert propose(page, POINTER + 6, [int(Structure.TABLE), *first, row, *second, row, cell])[:5] == [
        cell,
        cell,
        POINTER + 7,
        row,
        cell,
    ]


def test_what_is_copied_is_not_proposed_again_and_a_draft_has_a_length():
    page = page_of(*((0.0, 16.0 * row, ["a"] * 8) for row in range(12)))
    copied = [POINTER + run for run in (*range(16), *range(24, 32))]
    draft = propose(page, int(Structure.PARAGRAPH), [int(Structure.PARAGRAPH), *copied])
    assert len(draft) == MAX_DRAFT_TOKENS
    assert draft[:8] == [POINTER + run for run in range(16, 24)]
    assert not set(copied) & set(draft)


def test_drafts_that_go_wrong_early_become_short_until_one_is_followed():
    visual = visual_page(page := page_of(*((0.0, 16.0 * row, ["a"] * 8) for row in range(12))))
    state = PageState(visual, [run.text for run in page.runs], 0.0, may_continue=False)
    state.advance(int(Structure.PAGE))
    drafts = LineDrafts(page, visual)

    def length() -> int:
        return len(drafts.propose(int(Structure.PARAGRAPH), state))

    assert length() == MAX_DRAFT_TOKENS
    drafts.learn(num_proposed=MAX_DRAFT_TOKENS, num_accepted=5)
    assert length() == 10
    drafts.learn(num_proposed=10, num_accepted=10)
    assert length() == MAX_DRAFT_TOKENS
