"""Reading order by white space alone: a page is cut along gaps into blocks, as in recursive XY cuts. Pure geometry, knows no text.

Columns of prose are cut apart first, then what lies below a gap, then columns of other text (side headings). Cells of a table are never cut
into columns: a table is read by its rows.
"""

from collections.abc import Sequence

from ocr_app.models.embedded.rows import group_rows
from ocr_app.types import Box

PROSE_WIDTH = 10.0  # line heights: a column with wider lines than this holds sentences
PROSE_GUTTER = 0.4  # line heights of empty paper between columns of prose: no gap between words goes down a whole column
GUTTER = 0.8  # and between other columns
ROW_GAP = 0.45  # line heights of empty paper between blocks
MAX_DEPTH = 24

Block = list[list[int]]  # rows from top to bottom, each a list of boxes from left to right


def reading_blocks(boxes: Sequence[Box], line_height: float) -> list[Block]:
    """Blocks of rows in reading order; every box is in exactly one row."""
    return _cut(boxes, list(range(len(boxes))), line_height, MAX_DEPTH) if boxes else []


def _cut(boxes: Sequence[Box], members: list[int], line_height: float, depth: int) -> list[Block]:
    parts = _parts(boxes, members, line_height) if depth else [members]
    if len(parts) == 1:
        return [_rows(boxes, members)]
    return [block for part in parts for block in _cut(boxes, part, line_height, depth - 1)]


def _parts(boxes: Sequence[Box], members: list[int], line_height: float) -> list[list[int]]:
    """The members in reading order, cut in one direction; one part when there is nothing to cut."""
    columns = _split(boxes, members, axis=0, gap=PROSE_GUTTER * line_height)
    if len(columns) > 1 and all(_is_prose(boxes, column, line_height) for column in columns):
        return columns
    bands = _split(boxes, members, axis=1, gap=ROW_GAP * line_height)
    if len(bands) > 1:
        return bands
    columns = _split(boxes, members, axis=0, gap=GUTTER * line_height)
    if len(columns) == 2 and any(_is_prose(boxes, column, line_height) for column in columns):
        return columns
    return [members]


def _rows(boxes: Sequence[Box], members: list[int]) -> Block:
    return [[members[place] for place in row] for row in group_rows([boxes[index] for index in members])]


def _split(boxes: Sequence[Box], members: list[int], axis: int, gap: float) -> list[list[int]]:
    """Parts along x (axis 0) or y (axis 1), with at least `gap` of empty paper between them."""
    ordered = sorted(members, key=lambda index: boxes[index][axis])
    parts = [[ordered[0]]]
    reach = boxes[ordered[0]][axis + 2]
    for index in ordered[1:]:
        if boxes[index][axis] - reach >= gap:
            parts.append([])
        parts[-1].append(index)
        reach = max(reach, boxes[index][axis + 2])
    return parts


def _is_prose(boxes: Sequence[Box], members: list[int], line_height: float) -> bool:
    """At least two lines, and half of them as wide as sentences are."""
    widths = sorted(boxes[index][2] - boxes[index][0] for index in members)
    return len(widths) > 1 and widths[len(widths) // 2] >= PROSE_WIDTH * line_height
