"""Tables: which blocks are one, and which run stands in which of the grid's cells."""

from dataclasses import dataclass, replace
from itertools import pairwise

from ocr_app.models.embedded.geometry.blocks import Block, bounds, find_blocks, make_block, overlap
from ocr_app.models.embedded.geometry.marks import read_mark
from ocr_app.models.embedded.geometry.ruled import ruled_grid
from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage, monospaced_pitch, rows_of
from ocr_app.models.embedded.grammar import MAX_TABLE_COLUMNS
from ocr_app.types import Box, TableGrid

FREE = ("page-header", "page-footer", "caption")  # never part of a table
INSIDE = 0.6  # of a block's area inside a table makes it part of the table
TOUCHING = 0.3  # of a table's area inside another makes them one
MIN_ROWS, MIN_COLUMNS = 2, 2
MIN_FULL_ROWS = {
    "text": 3,
    "picture": 6,
}  # rows of three pieces or more that make a table of what is called otherwise
MAX_CELL_ROWS = 12  # cells with more rows of text than this are columns of the page in a ruled frame
MANY_ROWS = 30  # of text: the network sees a table at 300 by 360 pixels
MIN_SHARED, FULL_ROW = (
    3,
    0.75,
)  # columns that two rows of text share, and of all they fill: both are rows of the table
CROWDED = 0.4  # of a column's cells with pieces side by side: the column is two
PAD_PX = 2.0  # around a table for the grid network

Cells = list[list[list[int]]]  # rows of cells of run indices


@dataclass(frozen=True, slots=True)
class Word:
    """Runs of one line that belong to one cell."""

    runs: tuple[int, ...]
    box: Box


def page_blocks(page: SeenPage) -> list[Block]:
    """The blocks of a page, each table in one, unordered."""
    return [part for block in _merge_tables(find_blocks(page)) for part in _unframed(page, block)]


def table_boxes(page: SeenPage) -> list[Box]:
    """Where the grid network is to look: what may be a table and shows no whole grid of its own."""
    blocks = [block for block in page_blocks(page) if may_be_table(page, block)]
    return [_padded(block.box, page) for block in blocks if not _is_whole(_drawn(page, block), block)]


def may_be_table(page: SeenPage, block: Block) -> bool:
    """Whether a block is worth a look of the grid network."""
    return (block.kind == "table" and _has_pieces(page, block)) or _looks_tabular(page, block)


def table_grids(page: SeenPage) -> list[TableGrid]:
    """The grids of all tables of a page."""
    grids = [_grid(page, block) for block in page_blocks(page) if may_be_table(page, block)]
    return [grid for grid in grids if grid]


def cells_of(page: SeenPage, block: Block) -> Cells | None:
    """The runs of a table by row and column, empty rows and columns left out; None where it is none."""
    grid = _grid(page, block) if may_be_table(page, block) else None
    return _filled(grid, block, page) if grid else None


def _grid(page: SeenPage, block: Block) -> TableGrid | None:
    """The grid that rules draw, the one that the network sees, or both."""
    drawn = _drawn(page, block)
    if drawn is not None and _is_whole(drawn, block):
        return drawn
    box = _padded(block.box, page)
    told = next((grid for grid in page.layout.grids if _share_inside(box, grid.box) > 0.98), None)
    if told is not None:
        told = _with_text_rows(told, block)
    if drawn is None or told is None:
        return drawn or told
    return _subdivided(drawn, told, page)


def _with_text_rows(grid: TableGrid, block: Block) -> TableGrid:
    """The grid that the network sees, with an edge between rows of text that both are rows of the table: in
    tables of many rows it overlooks some.
    """
    rows = rows_of(block.lines)
    if len(rows) < MANY_ROWS:
        return grid
    by_row: dict[int, list[list[SeenLine]]] = {}
    for row in rows:
        by_row.setdefault(_row_of(bounds(line.box for line in row), grid), []).append(row)
    more = []
    for rows in by_row.values():
        for above, below in pairwise(rows):
            upper, lower = ({_first_column(line.box, grid) for line in row} for row in (above, below))
            if len(upper & lower) >= max(MIN_SHARED, FULL_ROW * len(upper | lower)):
                more.append((max(line.box[3] for line in above) + min(line.box[1] for line in below)) / 2)
    return replace(grid, row_edges=tuple(sorted([*grid.row_edges, *more])))


def _merge_tables(blocks: list[Block]) -> list[Block]:
    """Blocks with each table in one: what lies inside a table belongs to it."""
    tables: list[Block] = []
    for block in (block for block in blocks if block.kind == "table"):
        touching = [table for table in tables if _touch(table.box, block.box)]
        tables = [table for table in tables if table not in touching]
        tables.append(
            make_block([*block.lines, *(line for table in touching for line in table.lines)], "table")
        )
    others = [block for block in blocks if block.kind != "table"]
    for i, table in enumerate(tables):
        inside = [b for b in others if b.kind not in FREE and _share_inside(b.box, table.box) > INSIDE]
        if inside:
            others = [block for block in others if block not in inside]
            tables[i] = make_block([*table.lines, *(line for b in inside for line in b.lines)], "table")
    return [*tables, *others]


def _touch(a: Box, b: Box) -> bool:
    return _share_inside(a, b) > TOUCHING or _share_inside(b, a) > TOUCHING


def _unframed(page: SeenPage, block: Block) -> list[Block]:
    """A table as it is, or the columns that stand in a ruled frame, each a block of its own."""
    grid = _ruled(page, block) if block.kind == "table" else None
    if grid is None:
        return [block]
    cells: dict[tuple[int, int], list[SeenLine]] = {}
    first_of = _firsts(grid)
    for line in block.lines:
        place = _row_of(line.box, grid), _first_column(line.box, grid)
        cells.setdefault(first_of.get(place, place), []).append(line)
    if sum(len(rows_of(lines)) > MAX_CELL_ROWS for lines in cells.values()) < MIN_COLUMNS:
        return [block]
    return [make_block(lines) for lines in cells.values()]


def _has_pieces(page: SeenPage, block: Block) -> bool:
    """Whether what the network calls a table has rows of several pieces, and is no code."""
    rows = rows_of(block.lines)
    if len(rows) < MIN_ROWS or max(map(len, rows)) < MIN_COLUMNS:
        return False
    return not monospaced_pitch(block.lines, page.runs) or sum(len(row) > 1 for row in rows) > 0.5 * len(rows)


def _looks_tabular(page: SeenPage, block: Block) -> bool:
    """Whether rows of a block that is not called a table have three pieces or more with one gutter through
    all.
    """
    if block.kind not in MIN_FULL_ROWS:
        return False
    rows = rows_of(block.lines)
    if _has_figures(page, rows):
        return True
    full = [row for row in rows if len(row) > 2]
    if len(full) < MIN_FULL_ROWS[block.kind] or len(full) < 0.7 * len(rows):
        return False
    return min(row[1].box[0] for row in full) - max(row[0].box[2] for row in full) > page.body_size


def _has_figures(page: SeenPage, rows: list[list[SeenLine]]) -> bool:
    """Whether every row is words and, apart from them, a figure; the first row may be a head."""
    if len(rows) < MIN_ROWS + 1 or any(len(row) != 2 for row in rows):
        return False
    gap = min(row[1].box[0] for row in rows) - max(row[0].box[2] for row in rows)
    are_figures = all(sum(map(str.isdigit, row[1].text)) >= len(row[1].text) / 3 for row in rows[1:])
    return gap > page.body_size and are_figures and not any(read_mark(row[0].text) for row in rows)


def _drawn(page: SeenPage, block: Block) -> TableGrid | None:
    """The grid that rules draw around the cells of a block."""
    grid = _ruled(page, block)
    return grid if grid and not _has_crowded_columns(grid, block) else None


def _ruled(page: SeenPage, block: Block) -> TableGrid | None:
    return ruled_grid(block.box, page.layout.level_rules, page.layout.upright_rules, 1.2 * page.body_size)


def _has_crowded_columns(grid: TableGrid, block: Block) -> bool:
    """Whether rules leave out columns: cells of one column hold pieces side by side in several rows."""
    first_of = _firsts(grid)
    cells: dict[tuple[int, int], list[SeenLine]] = {}
    for line in block.lines:
        place = _row_of(line.box, grid), _first_column(line.box, grid)
        cells.setdefault(first_of.get(place, place), []).append(line)
    crowded = [column for (_, column), lines in cells.items() if any(len(row) > 1 for row in rows_of(lines))]
    filled = [column for _, column in cells]
    return any(crowded.count(column) > max(1, CROWDED * filled.count(column)) for column in set(crowded))


def _is_whole(grid: TableGrid | None, block: Block) -> bool:
    """Whether every row of text has a row of the grid to itself: no two lines of one row lie below two of the
    next.
    """
    if grid is None:
        return False
    rows: dict[int, list[list[SeenLine]]] = {}
    for row in rows_of(block.lines):
        rows.setdefault(_row_of(row[0].box, grid), []).append(row)
    return not any(sum(len(row) > 1 for row in group) > 1 for group in rows.values())


def _subdivided(drawn: TableGrid, told: TableGrid, page: SeenPage) -> TableGrid:
    """A ruled grid with the rows that the network sees between its rules."""
    more = [
        edge
        for edge in told.row_edges
        if all(abs(edge - other) > 0.6 * page.body_size for other in drawn.row_edges)
    ]
    edges = sorted([*drawn.row_edges, *more])
    borders = [drawn.box[1], *drawn.row_edges, drawn.box[3]]

    def new_row(border: float) -> int:
        return sum(edge <= border for edge in edges)

    spans = tuple(
        (new_row(borders[top]), new_row(borders[bottom + 1] - 1e-3), left, right)
        for top, bottom, left, right in drawn.spans
        if bottom > top or right > left
    )
    return replace(drawn, row_edges=tuple(edges), spans=spans)


def _filled(grid: TableGrid, block: Block, page: SeenPage) -> Cells | None:
    """Runs by row and column; what stands in a cell over several is put into the first of them."""
    first_of = _firsts(grid)
    placed: dict[tuple[int, int], list[Word]] = {}
    for line in block.lines:
        for word in _words(line, page, grid.column_edges):
            place = _row_of(word.box, grid), _first_column(word.box, grid)
            placed.setdefault(first_of.get(place, place), []).append(word)
    placed = _without_split_columns(placed)
    rows = sorted({row for row, _ in placed})
    columns = sorted({column for _, column in placed})
    if len(rows) < MIN_ROWS or not MIN_COLUMNS <= len(columns) <= MAX_TABLE_COLUMNS:
        return None
    return [[_in_order(placed.get((row, column), [])) for column in columns] for row in rows]


def _without_split_columns(placed: dict[tuple[int, int], list[Word]]) -> dict[tuple[int, int], list[Word]]:
    """Words by row and column, with neighbouring columns put together that no row fills both of, the nearest
    first: a head and the figures beside its middle. Columns for debit and credit have a head each.
    """
    while (pair := _nearest_split_columns(placed)) is not None:
        left, right = pair
        merged: dict[tuple[int, int], list[Word]] = {}
        for (row, column), words in placed.items():
            merged.setdefault((row, left if column == right else column), []).extend(words)
        placed = merged
    return placed


def _nearest_split_columns(placed: dict[tuple[int, int], list[Word]]) -> tuple[int, int] | None:
    """The two neighbouring columns with the smallest gap of those that no row fills both of."""
    columns = sorted({column for _, column in placed})
    boxes = {
        column: bounds(word.box for (_, place), words in placed.items() if place == column for word in words)
        for column in columns
    }
    rows = {column: {row for row, place in placed if place == column} for column in columns}
    split = [(a, b) for a, b in pairwise(columns) if not rows[a] & rows[b]]
    return min(split, key=lambda pair: boxes[pair[1]][0] - boxes[pair[0]][2], default=None)


def _firsts(grid: TableGrid) -> dict[tuple[int, int], tuple[int, int]]:
    """Of each place inside a cell over several: the first one of that cell."""
    return {
        (row, column): (span[0], span[2])
        for span in grid.spans
        for row in range(span[0], span[1] + 1)
        for column in range(span[2], span[3] + 1)
    }


def _row_of(box: Box, grid: TableGrid) -> int:
    return sum(edge < (box[1] + box[3]) / 2 for edge in grid.row_edges)


def _first_column(box: Box, grid: TableGrid) -> int:
    """The column a word begins in: the first that holds enough of it."""
    edges = [grid.box[0], *grid.column_edges, grid.box[2]]
    width = box[2] - box[0]
    for column in range(len(edges) - 1):
        shared = overlap(box[0], box[2], edges[column], edges[column + 1])
        if shared > min(0.5 * width, 0.4 * (edges[column + 1] - edges[column])):
            return column
    return sum(edge < (box[0] + box[2]) / 2 for edge in grid.column_edges)


def _words(line: SeenLine, page: SeenPage, edges: tuple[float, ...]) -> list[Word]:
    """The parts of a line: cut where a column's edge lies in a gap between two of its runs."""
    slack = 0.15 * line.size
    parts: list[list[int]] = []
    for place, run in enumerate(line.runs):
        box = line.run_boxes[place]
        before = line.run_boxes[place - 1] if place else box
        has_gap = place and page.runs[line.runs[place - 1]].has_space_after
        if (has_gap and any(before[2] - slack <= edge <= box[0] + slack for edge in edges)) or not parts:
            parts.append([run])
        else:
            parts[-1].append(run)
    return [Word(tuple(runs), bounds([page.runs[run].box for run in runs])) for runs in parts]


def _in_order(words: list[Word]) -> list[int]:
    """The runs of one cell as they are read."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.box[1] + word.box[3]):
        last = rows[-1][-1].box if rows else None
        height = word.box[3] - word.box[1]
        if last and overlap(last[1], last[3], word.box[1], word.box[3]) > 0.5 * height:
            rows[-1].append(word)
        else:
            rows.append([word])
    return [run for row in rows for word in sorted(row, key=lambda word: word.box[0]) for run in word.runs]


def _padded(box: Box, page: SeenPage) -> Box:
    return (
        max(0.0, box[0] - PAD_PX),
        max(0.0, box[1] - PAD_PX),
        min(float(page.width), box[2] + PAD_PX),
        min(float(page.height), box[3] + PAD_PX),
    )


def _share_inside(inner: Box, outer: Box) -> float:
    """Which part of a box's area lies inside another."""
    width = max(0.0, overlap(inner[0], inner[2], outer[0], outer[2]))
    height = max(0.0, overlap(inner[1], inner[3], outer[1], outer[3]))
    return width * height / max((inner[2] - inner[0]) * (inner[3] - inner[1]), 1e-6)
