"""Columns and rows of tables from the places of lines: cells that wrap stay together, and lines over two
cells are cut.
"""

import numpy as np

from ocr_app.models.embedded.grids import GridLines, find_grids
from ocr_app.models.embedded.hints import column_steps, page_hints
from ocr_app.types import Box

HEIGHT = 12.0
LEFTS = (0.0, 120.0, 240.0)


def cell(column: int, y: float, width: float = 60.0) -> Box:
    return (LEFTS[column], y, LEFTS[column] + width, y + HEIGHT)


def grid_rows(*paper_rows: list[Box], has_letters: bool = True) -> list[list[list[int]]]:
    """Rows of the only grid, each a list of cells, each a list of lines."""
    boxes = [box for row in paper_rows for box in row]
    numbers = iter(range(len(boxes)))
    rows = [[next(numbers) for _ in row] for row in paper_rows]
    lines = GridLines(boxes, [[(box[0], box[2])] for box in boxes], [has_letters] * len(boxes), HEIGHT)
    (grid,) = find_grids(rows, lines)
    return [list(row.values()) for row in grid.rows]


def full_row(y: float) -> list[Box]:
    return [cell(0, y, 100.0), cell(1, y), cell(2, y)]


def test_lines_close_below_a_long_line_belong_to_its_cell():
    rows = grid_rows(
        full_row(0),
        [cell(0, 14, 40)],
        full_row(40),
        full_row(60),
        [cell(0, 74, 100)],
        [cell(0, 88, 30)],
        full_row(114),
    )
    assert rows == [[[0, 3], [1], [2]], [[4], [5], [6]], [[7, 10, 11], [8], [9]], [[12], [13], [14]]]


def test_the_last_row_takes_its_wrapped_lines_and_no_paragraph():
    wrapped = grid_rows(full_row(0), [cell(0, 14, 40)], full_row(40), [cell(0, 54, 40)])
    assert wrapped[-1] == [[4, 7], [5], [6]]
    paragraph = grid_rows(full_row(0), [cell(0, 14, 40)], full_row(40), [(0.0, 54.0, 300.0, 66.0)])
    assert paragraph[-1] == [[4], [5], [6]]


def test_rows_with_empty_cells_are_rows_of_their_own():
    rows = grid_rows(
        full_row(0), [cell(1, 20)], [cell(0, 40, 50), cell(2, 40)], [cell(0, 60, 50)], full_row(80)
    )
    assert [len(row) for row in rows] == [3, 1, 2, 1, 3], "what stands above is short, so nothing wraps"


def test_numbers_do_not_wrap():
    assert [
        len(row)
        for row in grid_rows(full_row(0), [cell(0, 14, 100)], full_row(40), full_row(60), has_letters=False)
    ] == [3, 1, 3, 3]


def test_two_cells_that_wrap_are_read_one_after_the_other():
    boxes = [*full_row(0), cell(0, 14, 90), cell(1, 14, 40), *full_row(40), *full_row(66)]
    assert page_hints(boxes, ["x"] * len(boxes)).order[:5] == [0, 3, 1, 4, 2]


def test_a_line_over_two_cells_is_one_column_wide_for_each_of_its_words():
    boxes = [*full_row(0), cell(0, 20, 100), (120.0, 20.0, 300.0, 32.0), *full_row(40), *full_row(60)]
    words = [[(box[0], box[2])] for box in boxes]
    words[4] = [(120.0, 180.0), (240.0, 300.0)]
    hints = page_hints(boxes, ["x"] * len(boxes), words)
    assert {line.num_columns for line in hints.lines} == {3}
    run_boxes = np.array(
        [
            box
            for line, box in enumerate(boxes)
            for box in ([boxes[line]] if line != 4 else [cell(1, 20), cell(2, 20)])
        ]
    )
    line_of = np.array([0, 1, 2, 3, 4, 4, 5, 6, 7, 8, 9, 10])
    assert column_steps(hints, run_boxes, line_of, np.ones(12, bool)).tolist() == [
        0,
        0,
        0,
        0,
        0,
        1,
        0,
        0,
        0,
        0,
        0,
        0,
    ]
    assert not column_steps(hints, run_boxes, line_of, np.zeros(12, bool)).any(), (
        "no column begins within a word"
    )


def test_words_of_prose_cells_are_no_columns():
    boxes = [
        box
        for row in range(6)
        for box in (cell(0, 20.0 * row), (120.0, 20.0 * row, 300.0, 20.0 * row + HEIGHT))
    ]
    words = [[(box[0], box[2])] for box in boxes]
    for number in range(1, len(boxes), 2):
        words[number] = [(120.0, 200.0), (206.0, 300.0)]
    hints = page_hints(boxes, ["x"] * len(boxes), words)
    assert {line.num_columns for line in hints.lines} == {2}
