"""Tables: which blocks are one, and which run stands in which of the grid's cells."""

from dataclasses import dataclass

from ocr_app.models.embedded.geometry.blocks import Block, bounds, find_blocks, make_block, overlap, rows_of
from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage, monospaced_pitch
from ocr_app.types import Box, TableGrid

INSIDE = 0.6  # of a block's area inside a table makes it part of the table
MIN_ROWS, MIN_COLUMNS = 2, 2

Cells = list[list[list[int]]]  # rows of cells of run indices


@dataclass(frozen=True, slots=True)
class Word:
    """Runs of one line that belong to one cell."""

    runs: tuple[int, ...]
    box: Box


def merge_tables(page: SeenPage, blocks: list[Block]) -> list[Block]:
    """Blocks with each table in one: what lies inside a table belongs to it."""
    tables = [block for block in blocks if block.kind == "table"]
    others = [block for block in blocks if block.kind != "table"]
    merged = True
    while merged:
        merged = False
        for i, table in enumerate(tables):
            for j in range(i + 1, len(tables)):
                if (
                    _share_inside(tables[j].box, table.box) > 0.3
                    or _share_inside(table.box, tables[j].box) > 0.3
                ):
                    tables[i] = make_block([*table.lines, *tables.pop(j).lines], "table")
                    merged = True
                    break
            if merged:
                break
    for i, table in enumerate(tables):
        inside = [b for b in others if b.kind not in FREE and _share_inside(b.box, table.box) > INSIDE]
        if inside:
            others = [block for block in others if block not in inside]
            tables[i] = make_block([*table.lines, *(line for b in inside for line in b.lines)], "table")
    return [*tables, *others]


FREE = ("page-header", "page-footer", "caption")  # never part of a table


def table_boxes(page: SeenPage) -> list[Box]:
    """Where the grid network is to look."""
    blocks = merge_tables(page, find_blocks(page))
    return [_padded(block.box, page) for block in blocks if may_be_table(page, block)]


def may_be_table(page: SeenPage, block: Block) -> bool:
    """Whether a block is worth a look of the grid network."""
    return (block.kind == "table" and is_table(page, block)) or looks_tabular(page, block)


def grid_of(page: SeenPage, block: Block) -> TableGrid | None:
    """The grid that was seen for a block, if any."""
    box = _padded(block.box, page)
    return next((grid for grid in page.layout.grids if _share_inside(box, grid.box) > 0.98), None)


def _padded(box: Box, page: SeenPage) -> Box:
    pad = 2.0
    return (
        max(0, box[0] - pad),
        max(0, box[1] - pad),
        min(page.width, box[2] + pad),
        min(page.height, box[3] + pad),
    )


def is_table(page: SeenPage, block: Block) -> bool:
    """Whether a block that the network calls a table may be one: it has rows of several pieces and is no code."""
    rows = rows_of(block.lines)
    if len(rows) < MIN_ROWS or max(map(len, rows)) < MIN_COLUMNS:
        return False
    return not monospaced_pitch(block.lines, page.runs) or sum(len(row) > 1 for row in rows) > 0.5 * len(rows)


def looks_tabular(page: SeenPage, block: Block) -> bool:
    """Whether every row of a block that is not called a table has several pieces with one gutter through all rows."""
    rows = rows_of(block.lines)
    if (
        len(rows) < MIN_ROWS
        or block.kind not in ("text", "formula", "picture")
        or any(len(row) < 3 for row in rows)
    ):
        return False
    gutters = [(row[0].box[2], row[1].box[0]) for row in rows]
    return min(right for _, right in gutters) - max(left for left, _ in gutters) > page.body_size


def fill(grid: TableGrid, block: Block, page: SeenPage) -> Cells | None:
    """Runs of a table by row and column; None where the grid has no two of each that hold anything."""
    words = [word for line in block.lines for word in _words(line, page, grid.column_edges)]
    placed: dict[tuple[int, int], list[Word]] = {}
    for word in words:
        row = sum(edge < (word.box[1] + word.box[3]) / 2 for edge in grid.row_edges)
        column = _first_column(word.box, grid)
        placed.setdefault((row, column), []).append(word)
    rows = sorted({row for row, _ in placed})
    columns = sorted({column for _, column in placed})
    if len(rows) < MIN_ROWS or len(columns) < MIN_COLUMNS:
        return None
    return [[_in_order(placed.get((row, column), [])) for column in columns] for row in rows]


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
    parts: list[list[int]] = []
    for place, run in enumerate(line.runs):
        box = line.run_boxes[place]
        before = line.run_boxes[place - 1] if place else box
        has_gap = place and page.runs[line.runs[place - 1]].has_space_after
        is_cut = has_gap and any(
            before[2] - 0.15 * line.size <= edge <= box[0] + 0.15 * line.size for edge in edges
        )
        if parts and not is_cut:
            parts[-1].append(run)
        else:
            parts.append([run])
    return [Word(tuple(runs), bounds([page.runs[run].box for run in runs])) for runs in parts]


def _in_order(words: list[Word]) -> list[int]:
    """The runs of one cell as they are read."""
    rows: list[list[Word]] = []
    for word in sorted(words, key=lambda word: word.box[1] + word.box[3]):
        last = rows[-1][-1] if rows else None
        if last and overlap(last.box[1], last.box[3], word.box[1], word.box[3]) > 0.5 * (
            word.box[3] - word.box[1]
        ):
            rows[-1].append(word)
        else:
            rows.append([word])
    return [run for row in rows for word in sorted(row, key=lambda word: word.box[0]) for run in word.runs]


def _share_inside(inner: Box, outer: Box) -> float:
    """Which part of a box's area lies inside another."""
    width = max(0.0, overlap(inner[0], inner[2], outer[0], outer[2]))
    height = max(0.0, overlap(inner[1], inner[3], outer[1], outer[3]))
    return width * height / max((inner[2] - inner[0]) * (inner[3] - inner[1]), 1e-6)
