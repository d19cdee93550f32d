"""Reading order by white space alone: a page is cut along gaps into blocks, as in recursive XY cuts. Pure
geometry, knows no text.

What stands in the margins above and below the text is set aside. Then columns of prose are cut apart, then
what lies below a gap, then columns of other text (side headings). Cells of a table are never cut into
columns: a table is read by its rows.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ocr_app.models.embedded.rows import group_rows
from ocr_app.types import Box

PROSE_WIDTH = 10.0  # line heights: a column with wider lines than this holds sentences
CROSSING_SHARE = 0.08  # of the lines may reach over the gutter between columns
PROSE_SHARE = 0.3  # of a column's height under lines of that width
# line heights of empty paper between columns of prose: no gap between words goes down a whole column
PROSE_GUTTER = 0.25
GUTTER = 0.8  # and between other columns
ROW_GAP = 0.45  # line heights of empty paper between blocks
MARGIN_GAP = 0.7  # line heights of empty paper between running heads and the text
MAX_MARGIN_HEIGHT = 3.5  # line heights
MIN_SENTENCES = 4  # lines as wide as that
SENTENCE_SHARE = 0.5  # of a column's lines
MIN_HALF_HEIGHT = 12  # line heights: columns shorter than this may be parts of a table
MIN_HALF_SHARE = 0.25  # of the other half's height
ALIGNED = 0.2  # of the distance between rows
MAX_ALIGNED = 0.65  # of the rows; by chance it is 0.4
MAX_TITLE_BANDS = 6
MAX_DEPTH = 24

Block = list[list[int]]  # rows from top to bottom, each a list of boxes from left to right


def reading_blocks(boxes: Sequence[Box], line_height: float) -> list[Block]:
    """Blocks of rows in reading order; every box is in exactly one row."""
    if not boxes:
        return []
    parts = _without_margins(boxes, list(range(len(boxes))), line_height)
    return [block for part in parts for block in _cut(boxes, part, line_height, MAX_DEPTH)]


def _without_margins(boxes: Sequence[Box], members: list[int], line_height: float) -> list[list[int]]:
    """The head, the text and the foot of a page. A page number below the first of two columns belongs to
    neither.
    """
    bands = _split(boxes, members, axis=1, gap=MARGIN_GAP * line_height)
    if len(bands) == 1:
        return bands
    has_head, has_foot = (_is_margin(boxes, band, line_height) for band in (bands[0], bands[-1]))
    head, foot = bands[: int(has_head)], bands[len(bands) - int(has_foot) :]
    text = [index for band in bands[len(head) : len(bands) - len(foot)] for index in band]
    return [*head, *([text] if text else []), *foot]


def _is_margin(boxes: Sequence[Box], members: list[int], line_height: float) -> bool:
    """A few lines, none as wide as a sentence: those may as well be the ends of columns."""
    widest = max(boxes[index][2] - boxes[index][0] for index in members)
    return (
        _height_of_text(boxes, members) <= MAX_MARGIN_HEIGHT * line_height
        and widest < PROSE_WIDTH * line_height
    )


def _cut(boxes: Sequence[Box], members: list[int], line_height: float, depth: int) -> list[Block]:
    parts = _parts(boxes, members, line_height) if depth else [members]
    if len(parts) == 1:
        return [_rows(boxes, members)]
    return [block for part in parts for block in _cut(boxes, part, line_height, depth - 1)]


def _parts(boxes: Sequence[Box], members: list[int], line_height: float) -> list[list[int]]:
    """The members in reading order, cut in one direction; one part when there is nothing to cut."""
    columns = _prose_columns(boxes, members, line_height)
    if len(columns) > 1:
        return columns
    halves = _halves(boxes, members, line_height)
    if len(halves) > 1:
        return halves
    strips = _strips(boxes, members, line_height)
    if len(strips) > 1:
        return strips
    bands = _split(boxes, members, axis=1, gap=ROW_GAP * line_height)
    if len(bands) > 1:
        return _below_titles(boxes, bands, line_height)
    columns = _split(boxes, members, axis=0, gap=GUTTER * line_height)
    if len(columns) == 2 and any(
        _is_prose(boxes, column, line_height) and _is_single(boxes, column) for column in columns
    ):
        return columns
    return [members]


def _prose_columns(boxes: Sequence[Box], members: list[int], line_height: float) -> list[list[int]]:
    columns = _split(boxes, members, axis=0, gap=PROSE_GUTTER * line_height)
    return columns if all(_is_prose(boxes, column, line_height) for column in columns) else [members]


def _below_titles(boxes: Sequence[Box], bands: list[list[int]], line_height: float) -> list[list[int]]:
    """The bands, or the first few and all others as one, where those are columns: a picture in one leaves
    white across both.
    """
    for num_titles in range(1, min(MAX_TITLE_BANDS, len(bands) - 1) + 1):
        rest = [index for band in bands[num_titles:] for index in band]
        if len(_prose_columns(boxes, rest, line_height)) > 1:
            return [*bands[:num_titles], rest]
    return bands


def _halves(boxes: Sequence[Box], members: list[int], line_height: float) -> list[list[int]]:
    """Two columns with prose in one and whatever in the other, whose rows do not go on over the gutter, as
    those of a table do.
    """
    columns = _split(boxes, members, axis=0, gap=GUTTER * line_height)
    for place in range(1, len(columns)):
        halves = (
            [index for column in columns[:place] for index in column],
            [index for column in columns[place:] for index in column],
        )
        heights = [_height_of_text(boxes, half) for half in halves]
        is_long = min(heights) >= MIN_HALF_HEIGHT * line_height and min(heights) >= MIN_HALF_SHARE * max(
            heights
        )
        if (
            is_long
            and any(_has_prose(boxes, half, line_height) for half in halves)
            and _aligned_share(boxes, *halves) < MAX_ALIGNED
        ):
            return list(halves)
    return [members]


def _height_of_text(boxes: Sequence[Box], members: list[int]) -> float:
    return max(boxes[index][3] for index in members) - min(boxes[index][1] for index in members)


def _aligned_share(boxes: Sequence[Box], one: list[int], other: list[int]) -> float:
    """How many of the rows of the half with fewer stand at the height of one of the other half's."""
    rows, others = sorted((_rows(boxes, half) for half in (one, other)), key=len)
    heights = np.array([np.mean([_middle(boxes[index]) for index in row]) for row in rows])
    other_heights = np.array([np.mean([_middle(boxes[index]) for index in row]) for row in others])
    pitch = max(1.0, float(np.median(np.diff(np.sort(other_heights)))))
    return float((np.abs(heights[:, None] - other_heights).min(1) < ALIGNED * pitch).mean())


def _is_single(boxes: Sequence[Box], members: list[int]) -> bool:
    """Whether most rows are one line: a table's would be several cells."""
    rows = _rows(boxes, members)
    return sum(len(row) == 1 for row in rows) > len(rows) / 2


def _strips(boxes: Sequence[Box], members: list[int], line_height: float) -> list[list[int]]:
    """Cut above and below the few lines that reach over the gutter of columns of prose: titles, and captions
    of wide tables.
    """
    gutter = _crossed_gutter(boxes, members, line_height)
    if gutter is None:
        return [members]
    crossing = sorted(
        (index for index in members if boxes[index][0] < gutter < boxes[index][2]),
        key=lambda index: _middle(boxes[index]),
    )
    strips: list[list[int]] = [[] for _ in range(2 * len(crossing) + 1)]
    for place, index in enumerate(crossing):
        strips[2 * place + 1].append(index)
    for index in set(members) - set(crossing):
        strips[2 * sum(_middle(boxes[other]) < _middle(boxes[index]) for other in crossing)].append(index)
    return [strip for strip in strips if strip]


def _crossed_gutter(boxes: Sequence[Box], members: list[int], line_height: float) -> float | None:
    """The middle of the widest stretch that only a few lines cross, with prose on both of its sides."""
    few = max(1, int(CROSSING_SHARE * len(members)))
    edges = sorted({*(boxes[index][0] for index in members), *(boxes[index][2] for index in members)})
    best, widest = None, PROSE_GUTTER * line_height
    for left, right in pairwise(edges):
        if right - left < widest:
            continue
        middle = (left + right) / 2
        sides = (
            [index for index in members if boxes[index][2] <= middle],
            [index for index in members if boxes[index][0] >= middle],
        )
        num_crossing = len(members) - len(sides[0]) - len(sides[1])
        if 0 < num_crossing <= few and all(side and _is_prose(boxes, side, line_height) for side in sides):
            best, widest = middle, right - left
    return best


def _middle(box: Box) -> float:
    return (box[1] + box[3]) / 2


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
    """At least two lines, and a good part of the column's height filled with some as wide as sentences:
    tables may stand below them.

    Or, where pictures take up the height, most of its lines as wide.
    """
    wide = _wide(boxes, members, line_height)
    fills_height = sum(box[3] - box[1] for box in wide) >= PROSE_SHARE * _height_of_text(boxes, members)
    return len(members) > 1 and (
        fills_height or len(wide) >= max(MIN_SENTENCES, SENTENCE_SHARE * len(members))
    )


def _has_prose(boxes: Sequence[Box], members: list[int], line_height: float) -> bool:
    return len(_wide(boxes, members, line_height)) >= MIN_SENTENCES


def _wide(boxes: Sequence[Box], members: list[int], line_height: float) -> list[Box]:
    return [
        boxes[index] for index in members if boxes[index][2] - boxes[index][0] >= PROSE_WIDTH * line_height
    ]
