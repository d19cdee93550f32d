"""Orders boxes by rows. Pure geometry."""

from collections.abc import Sequence

from ocr_app.types import Box

SAME_ROW_OVERLAP = 0.5  # of the lower of the two heights


def row_order(boxes: Sequence[Box]) -> list[int]:
    """Indices of boxes from top to bottom by rows, from left to right inside a row."""
    return [index for row in group_rows(boxes) for index in row]


def group_rows(boxes: Sequence[Box]) -> list[list[int]]:
    """Rows from top to bottom, each a list of indices from left to right. Boxes share a row when they overlap by half a height.

    A box joins the row it overlaps most among the latest rows; the row is measured by the box that opened it, so that a row cannot
    creep down a page that is not quite straight.
    """
    rows: list[list[int]] = []
    for index in sorted(range(len(boxes)), key=lambda i: (boxes[i][1] + boxes[i][3], boxes[i][0])):
        best = max(rows[-3:], key=lambda row: _overlap(boxes[row[0]], boxes[index]), default=None)
        if best is not None and _overlap(boxes[best[0]], boxes[index]) >= SAME_ROW_OVERLAP:
            best.append(index)
        else:
            rows.append([index])
    return [sorted(row, key=lambda i: boxes[i][0]) for row in rows]


def _overlap(one: Box, other: Box) -> float:
    """Vertical overlap as a share of the lower height."""
    shared = min(one[3], other[3]) - max(one[1], other[1])
    return shared / max(1e-6, min(one[3] - one[1], other[3] - other[1]))
