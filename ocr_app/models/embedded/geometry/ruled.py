"""The grid that a table ruled all over shows by itself, with its cells over several rows or columns."""

from itertools import pairwise

import numpy as np

from ocr_app.types import Box, Rule, TableGrid

SAME_PLACE = 0.35  # line heights: rules nearer than this are one
COVERED = 0.6  # of a cell's side under a rule makes it an edge
MIN_EDGES = 3  # each way, the frame included
MIN_DRAWN = 0.5  # of all inner edges


def ruled_grid(box: Box, level: list[Rule], upright: list[Rule], line_height: float) -> TableGrid | None:
    """The grid of a table with rules around all its cells; None where too few cells are ruled off."""
    near = SAME_PLACE * line_height
    level, upright = _inside(level, box, 1, line_height), _inside(upright, box, 0, line_height)
    ys = _places(level, near)
    xs = _places(upright, near)
    if len(ys) < MIN_EDGES or len(xs) < MIN_EDGES:
        return None
    above = np.array(
        [[_covered(level, y, x0, x1, near) for x0, x1 in pairwise(xs)] for y in ys]
    )  # (R + 1, C)
    beside = np.array(
        [[_covered(upright, x, y0, y1, near) for x in xs] for y0, y1 in pairwise(ys)]
    )  # (R, C + 1)
    if above[1:-1].mean() < MIN_DRAWN or beside[:, 1:-1].mean() < MIN_DRAWN:
        return None
    spans = _spans(above[1:-1] >= COVERED, beside[:, 1:-1] >= COVERED)
    return TableGrid(box, tuple(ys[1:-1]), tuple(xs[1:-1]), spans)


def _places(rules: list[Rule], near: float) -> list[float]:
    """Places of rules, those of one row or column put together, from the first on."""
    groups: list[list[Rule]] = []
    for rule in sorted(rules, key=lambda rule: rule.place):
        if groups and rule.place - groups[-1][-1].place < near:
            groups[-1].append(rule)
        else:
            groups.append([rule])
    return [
        float(np.average([r.place for r in group], weights=[r.end - r.start for r in group]))
        for group in groups
    ]


def _covered(rules: list[Rule], place: float, start: float, end: float, near: float) -> float:
    """Which part of a stretch lies under rules at a place."""
    total = sum(
        max(0.0, min(rule.end, end) - max(rule.start, start))
        for rule in rules
        if abs(rule.place - place) < near
    )
    return total / max(end - start, 1e-6)


def _spans(has_level: np.ndarray, has_upright: np.ndarray) -> tuple[tuple[int, int, int, int], ...]:
    """(first row, last row, first column, last column) of each cell over several, from the edges between
    cells.

    `has_level` (R - 1, C) and `has_upright` (R, C - 1) say where an edge is drawn.
    """
    num_rows, num_columns = has_upright.shape[0], has_level.shape[1]
    taken = np.zeros((num_rows, num_columns), bool)
    spans = []
    for row in range(num_rows):
        for column in range(num_columns):
            if taken[row, column]:
                continue
            last_column = column
            while (
                last_column + 1 < num_columns
                and not has_upright[row, last_column]
                and not taken[row, last_column + 1]
            ):
                last_column += 1
            last_row = row
            while last_row + 1 < num_rows and not has_level[last_row, column : last_column + 1].any():
                last_row += 1
            taken[row : last_row + 1, column : last_column + 1] = True
            if (last_row, last_column) != (row, column):
                spans.append((row, last_row, column, last_column))
    return tuple(spans)


def _inside(rules: list[Rule], box: Box, axis: int, slack: float) -> list[Rule]:
    """Rules in a box; `axis` is 1 for level ones, whose place is y."""
    low, high, start, end = (
        box[axis] - slack,
        box[axis + 2] + slack,
        box[1 - axis] - slack,
        box[3 - axis] + slack,
    )
    return [rule for rule in rules if low <= rule.place <= high and rule.start < end and rule.end > start]
