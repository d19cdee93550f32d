"""What white space alone suggests about a page's lines: their order, their regions, and the grids that tables make.

The reader is told all of it as features of its visual tokens and as a rotary position; it learns how far to trust each. Pure geometry
beside the marks that open list items.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ocr_app.models.embedded.plain_regions import PlainLines, PlainRegion
from ocr_app.models.embedded.reading_order import Block
from ocr_app.types import Box, RegionKind

GRID_GAP = 4.0  # line heights between rows of one grid, at most
MAX_SINGLE_ROWS = 4  # rows of one cell that may stand inside a grid: wrapped cells and titles
COLUMN_STEP = 0.25  # line heights: how finely the paper is divided to look for columns
COLUMN_GAP = 1  # steps without ink that part two columns
STRAY_SHARE = 0.2  # of a grid's rows may reach over the gap between two columns

TOLD_OF_NEXT = ("opens", "is list item", "is heading", "is in a grid", "skipped columns", "first of row", "last of row")  # own features
NUM_HINT_FEATURES = 42


@dataclass(slots=True)
class LineHint:
    """One line. Numbers of columns are of its grid."""

    rank: int = 0  # in reading order
    opens: bool = False  # a region
    kind: RegionKind = RegionKind.PARAGRAPH
    level: int = 0  # of a heading
    is_block_start: bool = False
    is_block_end: bool = False
    block_left: float = 0.0
    block_right: float = 0.0
    place: int = 0  # in its row
    row_size: int = 1
    grid: int = -1  # number of its grid, or -1
    column: int = 0
    num_columns: int = 0
    num_skipped: int = 0  # columns left empty before it in its row
    num_trailing: int = 0  # columns left empty behind it, when it is the last of its row
    is_grid_start: bool = False  # it lies in the first or the last row of its grid
    is_grid_end: bool = False


@dataclass(frozen=True, slots=True)
class PageHints:
    """All lines of a page."""

    lines: list[LineHint] = field(default_factory=list)
    order: list[int] = field(default_factory=list)  # line indices in reading order


def page_hints(boxes: Sequence[Box], texts: Sequence[str]) -> PageHints:
    """Hints for lines given by their boxes (x0, y0, x1, y1) and what was read in them."""
    plain = PlainLines(boxes, texts)
    hints = PageHints([LineHint() for _ in boxes])
    rows: Block = []
    for block in plain.blocks():
        rows += block
        _mark_block(hints.lines, block, boxes)
        for region in plain.regions(block):
            _mark_region(hints, region)
    for row in rows:
        for spot, index in enumerate(row):
            hints.lines[index].place, hints.lines[index].row_size = spot, len(row)
    for number, grid in enumerate(_grids(rows, boxes, plain.line_height)):
        _mark_grid(hints.lines, grid, number, boxes, plain.line_height)
    return hints


def _mark_block(lines: list[LineHint], block: Block, boxes: Sequence[Box]) -> None:
    left = min(boxes[index][0] for row in block for index in row)
    right = max(boxes[index][2] for row in block for index in row)
    for row in block:
        for index in row:
            lines[index].block_left, lines[index].block_right = left, right
            lines[index].is_block_start, lines[index].is_block_end = row is block[0], row is block[-1]


def _mark_region(hints: PageHints, region: PlainRegion) -> None:
    for spot, index in enumerate(region.line_indices):
        line = hints.lines[index]
        line.rank, line.opens, line.kind, line.level = len(hints.order), spot == 0, region.kind, region.level
        hints.order.append(index)


def _grids(rows: Block, boxes: Sequence[Box], line_height: float) -> list[Block]:
    """Stretches of successive rows, two of them or more of several cells, that may be the rows of one table."""
    grids: list[Block] = []
    current: Block = []
    num_single = 0
    for row in rows:
        num_single = num_single + 1 if len(row) == 1 else 0
        if current and (num_single > MAX_SINGLE_ROWS or not _follows(current[-1], row, boxes, line_height)):
            grids.append(current)
            current = []
        if current or len(row) > 1:
            current.append(row)
    trimmed = [_trimmed(grid) for grid in [*grids, current]]
    return [grid for grid in trimmed if sum(len(row) > 1 for row in grid) > 1]


def _follows(before: list[int], row: list[int], boxes: Sequence[Box], line_height: float) -> bool:
    gap = min(boxes[index][1] for index in row) - max(boxes[index][3] for index in before)
    overlap = min(boxes[row[-1]][2], boxes[before[-1]][2]) - max(boxes[row[0]][0], boxes[before[0]][0])
    return -line_height < gap < GRID_GAP * line_height and overlap > 0


def _trimmed(grid: Block) -> Block:
    """Without the rows of one cell at its end."""
    while grid and len(grid[-1]) == 1:
        grid = grid[:-1]
    return grid


def _mark_grid(lines: list[LineHint], grid: Block, number: int, boxes: Sequence[Box], line_height: float) -> None:
    columns = _columns(grid, boxes, line_height)
    if len(columns) < 2:  # prose in pieces
        return
    for row in grid:
        following = 0
        for index in row:
            line = lines[index]
            line.grid, line.num_columns = number, len(columns)
            line.is_grid_start, line.is_grid_end = row is grid[0], row is grid[-1]
            first, last = _covered(columns, boxes[index])
            line.column = max(first, following)
            line.num_skipped = max(0, first - following)
            following = max(last, line.column) + 1
        lines[row[-1]].num_trailing = max(0, len(columns) - following)


def _columns(grid: Block, boxes: Sequence[Box], line_height: float) -> list[tuple[float, float]]:
    """Left and right edges of the columns: stretches of paper with ink in more than a few of the rows of several cells."""
    rows = [row for row in grid if len(row) > 1]
    left = min(boxes[row[0]][0] for row in rows)
    right = max(boxes[index][2] for row in rows for index in row)
    step = COLUMN_STEP * line_height
    num_rows = np.zeros(int((right - left) / step) + 2, np.int64)
    for row in rows:
        is_covered = np.zeros(len(num_rows), bool)
        for index in row:
            is_covered[int((boxes[index][0] - left) / step) : int((boxes[index][2] - left) / step) + 1] = True
        num_rows += is_covered
    inked = np.flatnonzero(num_rows > STRAY_SHARE * len(rows))
    parts = np.split(inked, np.flatnonzero(np.diff(inked) > COLUMN_GAP) + 1)
    return [(left + part[0] * step, left + (part[-1] + 1) * step) for part in parts]


def _covered(columns: list[tuple[float, float]], box: Box) -> tuple[int, int]:
    """First and last of the columns that a box reaches into; the nearest one when it lies between them."""
    width = box[2] - box[0]
    overlaps = [min(right, box[2]) - max(left, box[0]) for left, right in columns]
    inside = [i for i, overlap in enumerate(overlaps) if overlap > 0.3 * min(width, columns[i][1] - columns[i][0])]
    nearest = int(np.argmax(overlaps))
    return (inside[0], inside[-1]) if inside else (nearest, nearest)


def hint_features(hints: PageHints, boxes: np.ndarray, strokes: np.ndarray, line_height: float) -> np.ndarray:
    """(L, NUM_HINT_FEATURES) float32 from boxes (L, 4) and stroke widths (L,), which are 0 where not known."""
    lines, order = hints.lines, np.array(hints.order)
    own = np.array([_own_features(line, len(lines)) for line in lines], np.float32)
    bold = _boldness(strokes)[:, None]
    left = np.array([line.block_left for line in lines])
    right = np.array([line.block_right for line in lines])
    inset = np.stack([np.tanh((boxes[:, 0] - left) / line_height / 3), np.tanh((right - boxes[:, 2]) / line_height / 8)], 1)
    told = np.concatenate([own[:, : len(TOLD_OF_NEXT)], bold], 1)
    relation = np.zeros((len(lines), 10), np.float32)
    following = np.zeros_like(told)
    for before, after in pairwise(order):
        step = _step(boxes[before], boxes[after], line_height)
        relation[before, :5], relation[after, 5:] = step, step
        following[before] = told[after]
    return np.concatenate([own, bold, inset, relation, following], 1).astype(np.float32)


def _own_features(line: LineHint, num_lines: int) -> list[float]:
    """Those in TOLD_OF_NEXT come first: a line is told them of the next one too."""
    return [
        float(line.opens),
        float(line.kind is RegionKind.LIST_ITEM),
        float(line.kind is RegionKind.HEADING),
        float(line.grid >= 0),
        min(line.num_skipped, 8) / 2,
        float(line.place == 0),
        float(line.place == line.row_size - 1),
        line.level / 3,
        line.rank / num_lines,
        float(line.is_block_start),
        float(line.is_block_end),
        min(line.row_size, 12) / 4,
        min(line.place, 12) / 4,
        line.column / 4,
        line.num_columns / 4,
        min(line.num_trailing, 8) / 2,
        float(line.is_grid_start),
        float(line.is_grid_end),
        float(line.num_skipped > 0),
        float(line.num_trailing > 0),
        float(line.grid >= 0 and line.row_size == 1),
    ]


def _boldness(strokes: np.ndarray) -> np.ndarray:
    """(L,) log of each line's stroke width over the page's median; 0 where unknown."""
    known = strokes > 0
    if not known.any():
        return np.zeros(len(strokes))
    return np.where(known, np.log(np.where(known, strokes, 1) / np.median(strokes[known])), 0.0).clip(-1, 1)


def _step(before: np.ndarray, after: np.ndarray, line_height: float) -> list[float]:
    """From one line to the next: down, left edge, right edge, height, and that there is one."""
    down = (after[1] + after[3] - before[1] - before[3]) / 2
    ratio = np.log(max(after[3] - after[1], 1e-3) / max(before[3] - before[1], 1e-3))
    distances = np.tanh(np.array([down, after[0] - before[0], after[2] - before[2]]) / line_height / 3)
    return [*distances.tolist(), float(ratio), 1.0]
