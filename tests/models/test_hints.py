"""What white space alone suggests: order, regions, and the columns of tables."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.models.embedded.hints import NUM_HINT_FEATURES, hint_features, page_hints
from ocr_app.types import RegionKind

HEIGHT = 12


def cell(column: int, row: int, num_columns: int = 1) -> tuple[float, float, float, float]:
    """A box in a grid of columns 100 wide and rows 20 high."""
    return (100.0 * column, 20.0 * row, 100.0 * (column + num_columns) - 30, 20.0 * row + HEIGHT)


def test_cells_know_their_column_and_the_empty_ones_beside_them():
    boxes = [
        cell(0, 0),
        cell(1, 0),
        cell(2, 0),
        cell(3, 0),
        cell(0, 1),
        cell(2, 1),
        cell(1, 2),
        cell(3, 2),
        cell(0, 3),
        cell(1, 3),
    ]
    lines = page_hints(boxes, ["x"] * len(boxes)).lines
    assert [line.column for line in lines] == [0, 1, 2, 3, 0, 2, 1, 3, 0, 1]
    assert [line.num_skipped for line in lines] == [0, 0, 0, 0, 0, 1, 1, 1, 0, 0]
    assert [line.num_trailing for line in lines] == [0, 0, 0, 0, 0, 1, 0, 0, 0, 2]
    assert {line.num_columns for line in lines} == {4}
    assert [line.is_grid_start for line in lines] == [True] * 4 + [False] * 6
    assert [line.is_grid_end for line in lines] == [False] * 8 + [True] * 2


def test_prose_is_no_grid():
    lines = page_hints([cell(0, row, num_columns=4) for row in range(5)], ["some words of prose"] * 5).lines
    assert {line.grid for line in lines} == {-1}


def test_a_heading_opens_a_region_and_the_lines_of_a_paragraph_do_not():
    boxes = [(0.0, 0.0, 200.0, 24.0), *((0.0, 40.0 + 15 * i, 400.0, 52.0 + 15 * i) for i in range(4))]
    lines = page_hints(boxes, ["Title", *["words"] * 4]).lines
    assert [line.opens for line in lines] == [True, True, False, False, False]
    assert lines[0].kind is RegionKind.HEADING


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=30)
)
def test_every_line_has_one_rank_and_finite_features(places: list[tuple[int, int, int]]):
    boxes = [(10.0 * x, 15.0 * y, 10.0 * (x + width), 15.0 * y + HEIGHT) for x, y, width in places]
    hints = page_hints(boxes, ["1. text"] * len(boxes))
    assert sorted(hints.order) == list(range(len(boxes)))
    assert [hints.lines[index].rank for index in hints.order] == list(range(len(boxes)))
    assert all(line.num_skipped >= 0 and line.num_trailing >= 0 for line in hints.lines)
    features = hint_features(hints, np.array(boxes), np.zeros(len(boxes)), float(HEIGHT))
    assert features.shape == (len(boxes), NUM_HINT_FEATURES)
    assert np.isfinite(features).all()


def test_bold_lines_stand_out_by_their_strokes():
    boxes = np.array([cell(0, row, num_columns=4) for row in range(5)])
    hints = page_hints(boxes.tolist(), ["words"] * 5)
    usual = hint_features(hints, boxes, np.array([1.0] * 5), HEIGHT)
    bold = hint_features(hints, boxes, np.array([1.5, 1, 1, 1, 1]), HEIGHT)
    unlike = np.flatnonzero(np.abs(usual - bold).sum(1))
    assert unlike.tolist() == [0], "only the bold line is told apart; strokes that are not known say nothing"
    assert np.allclose(hint_features(hints, boxes, np.zeros(5), HEIGHT), usual)


def test_items_set_in_lie_deeper_until_text_at_the_margin():
    texts = ["- one", "- two", "- three", "- four", "plain text that ends the list", "- five"]
    lefts = [20.0, 50.0, 50.0, 20.0, 0.0, 50.0]
    boxes = [(left, 30.0 * row, 400.0, 30.0 * row + HEIGHT) for row, left in enumerate(lefts)]
    lines = page_hints(boxes, texts).lines
    assert [line.level for line in lines if line.kind is RegionKind.LIST_ITEM] == [1, 2, 2, 1, 1]
