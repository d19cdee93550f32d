"""What white space alone suggests about a page's lines: their order, their regions, and the grids that tables
make.

The reader is told all of it as features of its visual tokens and as a rotary position; it learns how far to
trust each. Pure geometry beside the marks that open list items.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from ocr_app.models.embedded.grids import Columns, Grid, GridLines, Span, covered, find_grids
from ocr_app.models.embedded.plain_regions import PlainLines, PlainRegion
from ocr_app.models.embedded.reading_order import Block
from ocr_app.types import Box, RegionKind

SAME_INDENT = 0.5  # line heights: left edges nearer than this are one
OTHER_COLUMN = 8.0  # line heights: no item is set in as far from the one it belongs to
MAX_ITEM_LEVEL = 3

TOLD_OF_NEXT = (
    "opens",
    "is list item",
    "is heading",
    "is in a grid",
    "skipped columns",
    "first of row",
    "last of row",
)  # own features
NUM_HINT_FEATURES = 42
NUM_COLUMN_FEATURES = 5


@dataclass(slots=True)
class LineHint:
    """One line. Numbers of columns are of its grid."""

    rank: int = 0  # in reading order
    opens: bool = False  # a region
    kind: RegionKind = RegionKind.PARAGRAPH
    level: int = 0  # of a heading or a list item
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
    continues_cell: bool = False  # it goes on with the text of the line before it in reading order


@dataclass(frozen=True, slots=True)
class PageHints:
    """All lines of a page."""

    lines: list[LineHint] = field(default_factory=list)
    order: list[int] = field(default_factory=list)  # line indices in reading order
    columns: list[Columns] = field(default_factory=list)  # of each grid, by its number


def page_hints(
    boxes: Sequence[Box], texts: Sequence[str], words: Sequence[Sequence[Span]] | None = None
) -> PageHints:
    """Hints for lines given by their boxes (x0, y0, x1, y1) and what was read in them; `words` are the
    stretches of ink of each line.
    """
    plain = PlainLines(boxes, texts)
    words = words or [[(box[0], box[2])] for box in boxes]
    hints = PageHints([LineHint() for _ in boxes])
    rows: Block = []
    items = ItemLevels(plain.line_height)
    for block in plain.blocks():
        rows += block
        _mark_block(hints.lines, block, boxes)
        for region in plain.regions(block):
            _mark_region(hints, region, items.level_of(region, boxes[region.line_indices[0]][0]))
    for row in rows:
        for spot, index in enumerate(row):
            hints.lines[index].place, hints.lines[index].row_size = spot, len(row)
    has_letters = [any(character.isalpha() for character in text) for text in texts]
    for grid in find_grids(rows, GridLines(boxes, words, has_letters, plain.line_height)):
        _mark_grid(hints, grid, boxes)
        hints.columns.append(grid.columns)
    return hints


def _mark_grid(hints: PageHints, grid: Grid, boxes: Sequence[Box]) -> None:
    lines = hints.lines
    for row in grid.rows:
        following = 0
        for spot, (column, cell) in enumerate(row.items()):
            for index in cell:
                line = lines[index]
                line.grid, line.num_columns, line.column = (
                    len(hints.columns),
                    len(grid.columns),
                    max(column, following),
                )
                line.place, line.row_size = spot, len(row)
                line.is_grid_start, line.is_grid_end = row is grid.rows[0], row is grid.rows[-1]
                line.continues_cell = index != cell[0]
            lines[cell[0]].num_skipped = max(0, column - following)
            last = max(covered(grid.columns, (boxes[index][0], boxes[index][2]))[1] for index in cell)
            following = max(last, lines[cell[0]].column) + 1
        lines[cell[-1]].num_trailing = max(0, len(grid.columns) - following)
        _read_by_cells(hints, [index for cell in row.values() for index in cell])


def _read_by_cells(hints: PageHints, indices: list[int]) -> None:
    """Give these lines the ranks they have among them in the order given."""
    ranks = sorted(hints.lines[index].rank for index in indices)
    for rank, index in zip(ranks, indices, strict=True):
        hints.lines[index].rank = rank
        hints.order[rank] = index


@dataclass(slots=True)
class ItemLevels:
    """How deep list items lie in each other, by their left edges, one region after another."""

    line_height: float
    lefts: list[float] = field(default_factory=list)  # of the open items, from the outermost

    def level_of(self, region: PlainRegion, left: float) -> int:
        """Of a list item from 1 on; other regions keep their own, and close the items they are not set in
        from.
        """
        slack = SAME_INDENT * self.line_height
        if self.lefts and left > self.lefts[-1] + OTHER_COLUMN * self.line_height:
            self.lefts.clear()
        if region.kind is not RegionKind.LIST_ITEM:
            while self.lefts and left <= self.lefts[-1] + slack:
                self.lefts.pop()
            return region.level
        while self.lefts and left < self.lefts[-1] - slack:
            self.lefts.pop()
        if not self.lefts or left > self.lefts[-1] + slack:
            self.lefts.append(left)
        return min(len(self.lefts), MAX_ITEM_LEVEL)


def _mark_block(lines: list[LineHint], block: Block, boxes: Sequence[Box]) -> None:
    left = min(boxes[index][0] for row in block for index in row)
    right = max(boxes[index][2] for row in block for index in row)
    for row in block:
        for index in row:
            lines[index].block_left, lines[index].block_right = left, right
            lines[index].is_block_start, lines[index].is_block_end = row is block[0], row is block[-1]


def _mark_region(hints: PageHints, region: PlainRegion, level: int) -> None:
    for spot, index in enumerate(region.line_indices):
        line = hints.lines[index]
        line.rank, line.opens, line.kind, line.level = len(hints.order), spot == 0, region.kind, level
        hints.order.append(index)


def column_steps(
    hints: PageHints, run_boxes: np.ndarray, line_of: np.ndarray, space: np.ndarray
) -> np.ndarray:
    """(V,) how many columns of its grid lie between a run (boxes (V, 4)) and the run before it in its line; 0
    for most.

    `space` (V,) bool says behind which runs there is one: no column begins within a word.
    """
    steps = np.zeros(len(line_of), np.int64)
    before = 0
    for run, line in enumerate(line_of.tolist()):
        grid = hints.lines[line].grid
        is_first = not run or line_of[run - 1] != line
        if grid < 0 or not (is_first or space[run - 1]):
            continue
        column = covered(hints.columns[grid], (run_boxes[run, 0], run_boxes[run, 2]))[0]
        if not is_first:
            steps[run] = max(0, column - before)
        before = column
    return steps


def column_features(hints: PageHints, steps: np.ndarray, line_of: np.ndarray) -> np.ndarray:
    """(V, NUM_COLUMN_FEATURES) float32: does a run begin a new column, how many later, does the next run; do
    lines go on with a cell.
    """
    following = np.append(steps[1:], 0)[: len(steps)]
    continues = np.array([line.continues_cell for line in hints.lines])
    is_continued = np.zeros(len(continues), bool)
    is_continued[hints.order[:-1]] = continues[hints.order[1:]]
    columns = [steps > 0, np.minimum(steps, 4) / 2, following > 0, continues[line_of], is_continued[line_of]]
    return np.stack(columns, 1).astype(np.float32)


def hint_features(hints: PageHints, boxes: np.ndarray, strokes: np.ndarray, line_height: float) -> np.ndarray:
    """(L, NUM_HINT_FEATURES) float32 from boxes (L, 4) and stroke widths (L,), 0 where not known."""
    lines, order = hints.lines, np.array(hints.order)
    own = np.array([_own_features(line, len(lines)) for line in lines], np.float32)
    bold = _boldness(strokes)[:, None]
    left = np.array([line.block_left for line in lines])
    right = np.array([line.block_right for line in lines])
    inset = np.stack(
        [np.tanh((boxes[:, 0] - left) / line_height / 3), np.tanh((right - boxes[:, 2]) / line_height / 8)], 1
    )
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
