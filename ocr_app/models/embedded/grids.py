"""Grids: stretches of rows whose cells stand below each other, as in a table. Pure geometry; of text it knows
only which lines are words.

A row of the table may take several rows on paper, where the text of a cell wraps; they are put together here,
so that a table is read cell by cell and not across.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ocr_app.models.embedded.reading_order import Block
from ocr_app.types import Box

GRID_GAP = 4.0  # line heights between rows of one grid, at most
MAX_SINGLE_ROWS = 4  # rows of one cell that may stand inside a grid: wrapped cells and titles
COLUMN_STEP = 0.125  # line heights: how finely the paper is divided to look for columns
VALLEY = 0.3  # of the rows with ink on either side may have some in the gap between two columns
MIN_STARTS = 0.06  # lines a row that begin in a column
START_SLACK = 3  # steps before its ink in which a line of a column may begin: the detector draws lines wide
SAME_PITCH = 0.15  # of the usual distance between rows: how far a row of one cell behind the table may be off
TIGHT = 0.85  # of the usual distance between rows, and less: rows that belong together
FAR_APART = 1.25  # ratio of wide to narrow distances from which on they are told apart
REACHES = (
    0.5,
    0.7,
    # of its column's width that a line takes at least whose text goes on below: between narrow rows, and
    # anywhere
)
TEXT_SHARE = 0.5  # of the lines of a column of text hold letters
MIN_TEXT_WIDTH = 2.5  # line heights: a column narrower than this holds nothing that wraps
MAX_WRAP_GAP = 0.6  # line heights of white between the lines of a cell

Span = tuple[float, float]  # left and right edge
Columns = list[Span]
Row = dict[int, list[int]]  # column → lines of its cell from top to bottom


@dataclass(frozen=True, slots=True)
class Grid:
    """What may be a table."""

    columns: Columns
    rows: list[Row]


@dataclass(frozen=True, slots=True)
class GridLines:
    """The lines of a page, as far as tables go."""

    boxes: Sequence[Box]
    words: Sequence[Sequence[Span]]  # the stretches of ink of each line
    has_letters: Sequence[bool]  # numbers do not wrap
    line_height: float


def find_grids(rows: Block, lines: GridLines) -> list[Grid]:
    """Grids among rows in reading order, each a list of line indices."""
    grids = []
    for stretch in _stretches(rows, lines.boxes, lines.line_height):
        end = len(stretch) - next(place for place, row in enumerate(reversed(stretch)) if len(row) > 1)
        columns = _columns(stretch[:end], lines)
        if len(columns) > 1:  # one is prose in pieces
            grids.append(Grid(columns, _table_rows(stretch, end, columns, lines)))
    return grids


def _table_rows(paper_rows: Block, end: int, columns: Columns, lines: GridLines) -> list[Row]:
    """Rows of the table; from paper row `end` on, all of one line, only those that go on with the one before
    or follow at its distance.
    """
    middles = [
        float(np.mean([(lines.boxes[index][1] + lines.boxes[index][3]) / 2 for index in row]))
        for row in paper_rows
    ]
    pitches = np.diff(middles)
    narrow, wide = np.percentile(pitches, (20, 85))
    is_told_apart = wide > FAR_APART * narrow
    usual = wide if is_told_apart else float(np.median(pitches))
    rows: list[Row] = []
    on_paper = [_cells(paper_row, columns, lines.boxes) for paper_row in paper_rows]
    wrapping = _wrapping_columns(on_paper, columns, lines)
    for place, cells in enumerate(on_paper):
        pitch = pitches[place - 1] if place else usual
        is_tight = is_told_apart and pitch < TIGHT * usual
        if rows and _goes_on(rows[-1], cells, wrapping, columns, lines, is_tight=is_tight):
            for column, cell in cells.items():
                rows[-1][column] += cell
        elif place < end or (abs(pitch - usual) < SAME_PITCH * usual and _is_inside(cells, columns, lines)):
            rows.append(cells)
        else:
            break
    return rows


def _cells(paper_row: list[int], columns: Columns, boxes: Sequence[Box]) -> Row:
    """The lines of one row on paper by column. Two lines never share a cell: the second one takes the next
    column, were there none.
    """
    cells: Row = {}
    following = 0
    for index in paper_row:
        first, last = covered(columns, (boxes[index][0], boxes[index][2]))
        column = max(first, following)
        cells[column] = [index]
        following = max(last, column) + 1
    return cells


def _wrapping_columns(on_paper: list[Row], columns: Columns, lines: GridLines) -> set[int]:
    """Columns wide enough for text, in which most lines hold letters."""
    wrapping = set()
    for column, (left, right) in enumerate(columns):
        members = [index for cells in on_paper for index in cells.get(column, ())]
        is_text = sum(lines.has_letters[index] for index in members) >= TEXT_SHARE * len(members)
        if is_text and right - left >= MIN_TEXT_WIDTH * lines.line_height:
            wrapping.add(column)
    return wrapping


def _is_inside(cells: Row, columns: Columns, lines: GridLines) -> bool:
    """Whether lines lie within the widths of their columns."""
    slack = lines.line_height
    for column, cell in cells.items():
        if column >= len(columns):
            return False
        left, right = columns[column]
        if any(
            lines.boxes[index][0] <= left - slack or lines.boxes[index][2] >= right + slack for index in cell
        ):
            return False
    return True


def _goes_on(
    row: Row, cells: Row, wrapping: set[int], columns: Columns, lines: GridLines, *, is_tight: bool
) -> bool:
    """Whether lines on paper are the wrapped ends of cells of the row above: each stands below a long line of
    its column.
    """
    boxes, line_height = lines.boxes, lines.line_height
    if (
        not cells.keys() <= row.keys() & wrapping
        or (not is_tight and len(cells) == len(row))
        or not _is_inside(cells, columns, lines)
    ):
        return False
    reach = REACHES[0] if is_tight else REACHES[1]
    for column, cell in cells.items():
        left, right = columns[column]
        above, below = boxes[row[column][-1]], boxes[cell[0]]
        if above[2] - left < reach * (right - left) or below[1] - above[3] > MAX_WRAP_GAP * line_height:
            return False
    return True


def _stretches(rows: Block, boxes: Sequence[Box], line_height: float) -> list[Block]:
    """Stretches of successive rows, two or more of several cells, that may be the rows of one table."""
    grids: list[Block] = []
    current: Block = []
    edges = (0.0, 0.0)  # of the current one
    num_single = 0
    for row in rows:
        num_single = num_single + 1 if len(row) == 1 else 0
        if current and (
            num_single > MAX_SINGLE_ROWS or not _follows(current[-1], edges, row, boxes, line_height)
        ):
            grids.append(current)
            current = []
        if current or len(row) > 1:
            left, right = _edges([row], boxes)
            edges = (min(edges[0], left), max(edges[1], right)) if current else (left, right)
            current.append(row)
    return [grid for grid in [*grids, current] if sum(len(row) > 1 for row in grid) > 1]


def _follows(
    before: list[int], edges: Span, row: list[int], boxes: Sequence[Box], line_height: float
) -> bool:
    """Whether a row may go on with the grid that ends with the row `before` and lies between these edges."""
    gap = min(boxes[index][1] for index in row) - max(boxes[index][3] for index in before)
    left, right = edges
    return (
        -line_height < gap < GRID_GAP * line_height and boxes[row[0]][0] < right and boxes[row[-1]][2] > left
    )


def _edges(rows: Block, boxes: Sequence[Box]) -> Span:
    return min(boxes[row[0]][0] for row in rows), max(boxes[index][2] for row in rows for index in row)


def _columns(grid: Block, lines: GridLines) -> Columns:
    """Left and right edges of the columns, from the number of rows with ink at each place.

    Words count, not lines, since a line may reach over two cells; but words that happen to stand below each
    other are no column: lines begin in one.
    """
    boxes, rows = lines.boxes, [row for row in grid if len(row) > 1]
    left, right = _edges(rows, boxes)
    step = COLUMN_STEP * lines.line_height
    num_rows = np.zeros(int((right - left) / step) + 2, np.int64)
    num_starts = np.zeros_like(num_rows)
    for row in rows:
        is_covered = np.zeros(len(num_rows), bool)
        for word_left, word_right in (word for index in row for word in lines.words[index]):
            is_covered[max(0, int((word_left - left) / step)) : int((word_right - left) / step) + 1] = True
        num_rows += is_covered
        np.add.at(num_starts, [int((boxes[index][0] - left) / step) for index in row], 1)
    columns: list[tuple[int, int]] = []
    for first, end in _parted_at_valleys(num_rows, 0, len(num_rows)):
        if columns and num_starts[max(0, first - START_SLACK) : end].sum() < MIN_STARTS * len(rows):
            columns[-1] = columns[-1][0], end
        else:
            columns.append((first, end))
    return [(left + first * step, left + end * step) for first, end in columns]


def _parted_at_valleys(heights: np.ndarray, first: int, end: int) -> list[tuple[int, int]]:
    """Parts of heights[first:end], each without the zeros at its edges, cut where it is much lower than on
    both sides.
    """
    inked = np.flatnonzero(heights[first:end])
    if not len(inked):
        return []
    first, end = first + int(inked[0]), first + int(inked[-1]) + 1
    part = heights[first:end]
    lower_peak = np.minimum(np.maximum.accumulate(part), np.maximum.accumulate(part[::-1])[::-1])
    share = part / lower_peak
    cut = first + int(share.argmin())
    if share.min() > VALLEY:
        return [(first, end)]
    return [*_parted_at_valleys(heights, first, cut), *_parted_at_valleys(heights, cut + 1, end)]


def covered(columns: Columns, ink: Span) -> tuple[int, int]:
    """First and last of the columns that a stretch of ink reaches into; the nearest one when it lies between
    them.
    """
    overlaps = [min(right, ink[1]) - max(left, ink[0]) for left, right in columns]
    inside = [
        i
        for i, overlap in enumerate(overlaps)
        if overlap > 0.3 * min(ink[1] - ink[0], columns[i][1] - columns[i][0])
    ]
    nearest = max(range(len(overlaps)), key=overlaps.__getitem__)
    return (inside[0], inside[-1]) if inside else (nearest, nearest)
