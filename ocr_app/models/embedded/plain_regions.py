"""Typed regions of a page from the places and heights of its lines: paragraphs, headings and list items. No model.

Every run of the page is in exactly one region.
"""

import re
from dataclasses import dataclass
from statistics import median

from ocr_app.models.embedded.reading_order import Block, reading_blocks
from ocr_app.types import EncodedPage, Line, RegionKind

HEADING_HEIGHTS = ((1.9, 1), (1.5, 2), (1.25, 3))  # times the usual line height, and the level
MAX_HEADING_ROWS = 3
INDENT = 0.8  # line heights: a first line set in by this much opens a paragraph
SHORT_LINE = 0.75  # of its block: a line that ends before this ends a paragraph
LIST_MARK = re.compile(r"^(?:[•·▪■●○◦‣*–—-]\s|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)]\s)")


@dataclass(frozen=True, slots=True)
class PlainRegion:
    """A region as lines of the page in reading order."""

    kind: RegionKind
    level: int
    line_indices: tuple[int, ...]


def plain_regions(page: EncodedPage) -> list[PlainRegion]:
    """Regions in reading order."""
    if not page.lines:
        return []
    line_height = median(_height(line) for line in page.lines)
    blocks = reading_blocks([line.box for line in page.lines], line_height)
    return [region for block in blocks for rows in _paragraphs(page, block, line_height) for region in [_region(page, rows, line_height)]]


def _paragraphs(page: EncodedPage, block: Block, line_height: float) -> list[Block]:
    """The rows of a block, parted where a paragraph ends. Rows of several cells stand alone."""
    left = min(page.lines[row[0]].box[0] for row in block)
    right = max(page.lines[row[-1]].box[2] for row in block)
    paragraphs: list[Block] = []
    for row in block:
        if not paragraphs or _opens_paragraph(page, paragraphs[-1], row, (left, right), line_height):
            paragraphs.append([])
        paragraphs[-1].append(row)
    return paragraphs


def _opens_paragraph(page: EncodedPage, paragraph: Block, row: list[int], sides: tuple[float, float], line_height: float) -> bool:
    if _is_marked(page, row):
        return True
    left, right = sides
    before = paragraph[-1]
    start, last = page.lines[row[0]].box[0], page.lines[before[-1]]
    if last.box[2] - left < SHORT_LINE * (right - left):  # the line before ends early
        return True
    if _level(_height(page.lines[row[0]]), line_height) != _level(_height(last), line_height):
        return True
    if _is_marked(page, paragraph[0]):  # an item goes on set in, and ends where a line starts below its mark
        return start - page.lines[paragraph[0][0]].box[0] < INDENT * line_height / 2
    has_cells = len(row) > 1 or len(before) > 1
    return has_cells or start - max(left, page.lines[before[0]].box[0]) > INDENT * line_height


def _region(page: EncodedPage, rows: Block, line_height: float) -> PlainRegion:
    line_indices = tuple(index for row in rows for index in row)
    level = _level(median(_height(page.lines[index]) for index in line_indices), line_height)
    if _is_marked(page, rows[0]):
        return PlainRegion(RegionKind.LIST_ITEM, 1, line_indices)
    if level and len(rows) <= MAX_HEADING_ROWS:
        return PlainRegion(RegionKind.HEADING, level, line_indices)
    return PlainRegion(RegionKind.PARAGRAPH, 0, line_indices)


def _is_marked(page: EncodedPage, row: list[int]) -> bool:
    """Whether the row begins with a bullet or an item number and goes on behind it."""
    text = " ".join(page.line_text(page.lines[index]) for index in row[:2])
    return LIST_MARK.match(text) is not None


def _level(height: float, line_height: float) -> int:
    """Heading level of lines of this height, 0 for body text."""
    return next((level for factor, level in HEADING_HEIGHTS if height >= factor * line_height), 0)


def _height(line: Line) -> float:
    return line.box[3] - line.box[1]
