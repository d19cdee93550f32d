"""Grids drawn by rules: their edges, their cells over several places, and what is no grid."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.models.embedded.geometry.ruled import _spans, ruled_grid
from ocr_app.types import Rule

BOX = (102.0, 102.0, 298.0, 188.0)  # of the text inside
LEVEL = [Rule(float(y), 100, 300) for y in (100, 130, 160, 190)]
UPRIGHT = [Rule(float(x), 100, 190) for x in (100, 200, 300)]


def test_rules_all_over_are_a_grid():
    grid = ruled_grid(BOX, LEVEL, UPRIGHT, 20.0)
    assert (grid.row_edges, grid.column_edges, grid.spans) == ((130.0, 160.0), (200.0,), ())


def test_a_missing_piece_of_a_rule_makes_one_cell_of_two():
    upright = [UPRIGHT[0], Rule(200.0, 130, 190), UPRIGHT[2]]
    assert ruled_grid(BOX, LEVEL, upright, 20.0).spans == ((0, 0, 0, 1),)
    level = [LEVEL[0], Rule(130.0, 200, 300), *LEVEL[2:]]
    assert ruled_grid(BOX, level, UPRIGHT, 20.0).spans == ((0, 1, 0, 0),)


def test_a_rule_drawn_twice_is_one_edge():
    doubled = [*LEVEL, Rule(132.0, 100, 300)]
    assert ruled_grid(BOX, doubled, UPRIGHT, 20.0).row_edges == (131.0, 160.0)


def test_rules_one_way_only_or_of_another_table_are_no_grid():
    assert ruled_grid(BOX, LEVEL, [], 20.0) is None
    assert ruled_grid(BOX, [], UPRIGHT, 20.0) is None
    assert ruled_grid((102.0, 502.0, 298.0, 588.0), LEVEL, UPRIGHT, 20.0) is None


@given(st.integers(1, 5), st.integers(1, 5), st.randoms(use_true_random=False))
def test_cells_over_several_places_do_not_overlap(num_rows: int, num_columns: int, random):
    has_level = np.array([[random.random() < 0.5] * 1 for _ in range((num_rows - 1) * num_columns)], bool)
    has_upright = np.array([random.random() < 0.5 for _ in range(num_rows * (num_columns - 1))], bool)
    spans = _spans(
        has_level.reshape(num_rows - 1, num_columns), has_upright.reshape(num_rows, num_columns - 1)
    )
    taken = np.zeros((num_rows, num_columns), int)
    for top, bottom, left, right in spans:
        assert 0 <= top <= bottom < num_rows
        assert 0 <= left <= right < num_columns
        taken[top : bottom + 1, left : right + 1] += 1
    assert taken.max(initial=0) <= 1
