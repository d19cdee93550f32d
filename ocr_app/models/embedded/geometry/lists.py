"""Blocks that look like tables and are lists: contents with page numbers, and items with their marks in a
column.
"""

import re
from itertools import pairwise

from ocr_app.models.embedded.geometry.blocks import Block
from ocr_app.models.embedded.geometry.marks import OPTION, read_mark
from ocr_app.models.embedded.geometry.seen import SeenLine, rows_of

PAGE_NUMBER = re.compile(r"(?:^|[\s.…·_])(\d{1,4}|[ivxlc]{1,6})\.?$")
LEADERS = re.compile(r"[.…·_ ]{4,}|…")
MIN_ENTRIES = 4
BOLD = 1.2  # times the usual stroke
MOST = 0.7  # of the rows

Row = list[SeenLine]


def list_rows(block: Block) -> list[tuple[Row, bool]] | None:
    """The rows of a block as entries of a list, and whether each is a heading between them; None where it is
    no such list.
    """
    rows = rows_of(block.lines)
    if _is_contents(rows):
        return [(row, _page_number(row) is None and min(line.stroke for line in row) > BOLD) for row in rows]
    return [(row, False) for row in rows] if _has_mark_column(rows) else None


def _is_contents(rows: list[Row]) -> bool:
    """Whether most rows end with a page number that does not fall, behind text or dots."""
    if len(rows) < MIN_ENTRIES or any(len(row) > 3 for row in rows):
        return False
    numbers = [number for row in rows if (number := _page_number(row)) is not None]
    if len(numbers) < MOST * len(rows):
        return False
    falls = sum(after < before for before, after in pairwise(numbers))
    return falls <= 0.1 * len(numbers)


def _page_number(row: Row) -> int | None:
    """The page number a row ends with; roman ones count as 0."""
    text = " ".join(line.text for line in row)
    found = PAGE_NUMBER.search(text)
    if not found or not any(character.isalpha() for character in text[: found.start()]):
        return None
    if len(row) == 1 and not LEADERS.search(text):
        return None
    return int(found[1]) if found[1].isdigit() else 0


def _has_mark_column(rows: list[Row]) -> bool:
    """Whether most rows are a mark or an option in a column of its own and text beside it."""
    if len(rows) < 2 or any(len(row) > 2 for row in rows):
        return False
    marked = [row for row in rows if len(row) == 2 and (OPTION.match(row[0].text) or _is_mark(row[0].text))]
    return len(marked) >= MOST * len(rows)


def _is_mark(text: str) -> bool:
    return len(text) <= 5 and read_mark(text) is not None
