"""What the reader may write next on a page: the rules beside the grammar."""

from dataclasses import replace

from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import visual_page
from tests.models.conftest import page_of

POINTER = NUM_STRUCTURE_TOKENS
CELL, ROW, TABLE = int(Structure.CELL), int(Structure.ROW), int(Structure.TABLE)


def table_state() -> PageState:
    """Three columns; the second row lacks its first two cells."""
    full = [(100.0 * column, 20.0 * row, ["x"]) for row in (0, 2, 3) for column in range(3)]
    page = page_of(*full[:3], (200.0, 20.0, ["y"]), *full[3:])
    return PageState(visual_page(page), [run.text for run in page.runs], 0.0, may_continue=False)


def may_leave_empty(tokens: list[int]) -> bool:
    """Whether another cell may be opened behind the empty one that ends these tokens."""
    return bool(table_state().look_ahead(tokens).allowed[-1, CELL])


def test_no_more_cells_are_left_empty_than_there_is_white_space_for():
    first_row = [TABLE, CELL, POINTER, CELL, POINTER + 1, CELL, POINTER + 2]
    assert not may_leave_empty([TABLE, CELL]), "the first cell has text"
    assert not may_leave_empty([*first_row[:3], CELL])
    assert may_leave_empty([*first_row, ROW, CELL])
    assert may_leave_empty([*first_row, ROW, CELL, CELL])
    assert not may_leave_empty([*first_row, ROW, CELL, CELL, CELL]), "two columns are empty, no third"


def test_a_draft_and_single_tokens_allow_the_same():
    tokens = [
        int(Structure.PAGE),
        TABLE,
        CELL,
        POINTER,
        CELL,
        POINTER + 1,
        CELL,
        POINTER + 2,
        ROW,
        CELL,
        CELL,
        CELL,
        POINTER + 3,
    ]
    drafted = table_state().look_ahead(tokens)
    state = table_state()
    for token, *expected in zip(
        tokens, drafted.allowed.tolist(), drafted.next_runs, drafted.next_cells, strict=True
    ):
        outlook = state.look_ahead([token])
        assert [outlook.allowed[0].tolist(), outlook.next_runs[0], outlook.next_cells[0]] == expected
        state.advance(token)


def test_columns_ask_for_the_next_cell():
    first_row = [TABLE, CELL, POINTER, CELL, POINTER + 1, CELL, POINTER + 2]
    asked = table_state().look_ahead([*first_row, ROW, CELL, CELL, CELL]).next_cells
    assert asked[:7] == [None, None, CELL, None, CELL, None, ROW], (
        "behind a line the next cell, and behind the last one of a row the next row"
    )
    assert table_state().look_ahead([int(Structure.PAGE)]).next_cells == [TABLE], "three columns are a table"
    assert asked[7:] == [None, CELL, CELL, None], "two columns are empty before the next line"


def test_repeats_go_on_over_what_is_committed():
    state = table_state()
    for token in (TABLE, CELL, CELL):
        state.advance(token)
    assert state.repeats_after([CELL, CELL, ROW, CELL]) == [2, 3, 0, 0]


def test_a_line_over_two_columns_asks_for_a_cell_in_its_middle():
    rows = [(100.0 * column, 20.0 * row, ["x"]) for row in range(4) for column in range(3)]
    page = page_of(*rows, (0.0, 80.0, ["x"]), (100.0, 80.0, ["a", "b"]))
    wide = page.runs[14]
    moved = replace(wide, box=(200.0, 80.0, 238.0, 92.0))
    page = replace(
        page,
        runs=(*page.runs[:14], moved),
        lines=(*page.lines[:13], replace(page.lines[13], box=(100.0, 80.0, 240.0, 92.0))),
    )
    state = PageState(visual_page(page), [run.text for run in page.runs], 0.0, may_continue=False)
    tokens = [TABLE]
    for run in range(14):
        tokens += [CELL, POINTER + run] if run % 3 or not run else [ROW, CELL, POINTER + run]
    assert state.look_ahead(tokens).next_cells[-1] == CELL
