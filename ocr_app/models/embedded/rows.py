"""Orders boxes by rows. Pure geometry."""

from collections.abc import Sequence

from ocr_app.types import Box

SAME_ROW_OVERLAP = 0.5  # of the lower of the two heights
BESIDE_OVERLAP = 0.3  # of the narrower of the two widths
LATEST_ROWS = 3


def row_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of boxes from top to bottom by rows, from left to right inside a row."""
    return [index for row in group_rows(boxes) for index in row]


def group_rows(boxes: Sequence[Box]) -> list[list[int]]:
    """Rows from top to bottom, each a list of indices from left to right.

    A box joins one of the latest rows when it overlaps the box that opened the row by half a height, so that
    a row cannot creep down a page that is not quite straight; and when it stands beside all boxes of the row:
    of two boxes above each other one is the next line.
    """
    rows: list[list[int]] = []
    for index in sorted(range(len(boxes)), key=lambda i: (boxes[i][1] + boxes[i][3], boxes[i][0])):
        fitting = [row for row in rows[-LATEST_ROWS:] if _fits(boxes, row, boxes[index])]
        if fitting:
            max(fitting, key=lambda row: _overlap(boxes[row[0]], boxes[index], axis=1)).append(index)
        else:
            rows.append([index])
    return [sorted(row, key=lambda i: boxes[i][0]) for row in rows]


def _fits(boxes: Sequence[Box], row: list[int], box: Box) -> bool:
    if _overlap(boxes[row[0]], box, axis=1) < SAME_ROW_OVERLAP:
        return False
    return all(_overlap(boxes[index], box, axis=0) < BESIDE_OVERLAP for index in row)


def _overlap(one: Box, other: Box, axis: int) -> float:
    """Overlap along x (axis 0) or y (axis 1) as a share of the shorter of the two."""
    shared = min(one[axis + 2], other[axis + 2]) - max(one[axis], other[axis])
    return shared / max(1e-6, min(one[axis + 2] - one[axis], other[axis + 2] - other[axis]))
