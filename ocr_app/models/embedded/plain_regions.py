"""Typed regions of a page from the places and heights of its lines: paragraphs, headings and list items. No
model.

Every line of the page is in exactly one region.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from ocr_app.models.embedded.letters import opens_item
from ocr_app.models.embedded.reading_order import Block, reading_blocks
from ocr_app.types import Box, RegionKind

HEADING_HEIGHTS = ((1.9, 1), (1.5, 2), (1.25, 3))  # times the usual line height, and the level
MAX_HEADING_ROWS = 3
INDENT = 0.8  # line heights: a first line set in by this much opens a paragraph
SHORT_LINE = 0.75  # of its block: a line that ends before this ends a paragraph


@dataclass(frozen=True, slots=True)
class PlainRegion:
    """A region as lines of the page in reading order."""

    kind: RegionKind
    level: int
    line_indices: tuple[int, ...]


class PlainLines:
    """The lines of one page as boxes and texts."""

    def __init__(self, boxes: Sequence[Box], texts: Sequence[str]):
        self._boxes, self._texts = boxes, texts
        self.line_height = median(box[3] - box[1] for box in boxes) if boxes else 0.0

    def blocks(self) -> list[Block]:
        """Blocks of rows of lines in reading order."""
        return reading_blocks(self._boxes, self.line_height)

    def regions(self, block: Block) -> list[PlainRegion]:
        """The rows of a block as paragraphs, headings and list items. Rows of several cells stand alone."""
        left = min(self._boxes[row[0]][0] for row in block)
        right = max(self._boxes[row[-1]][2] for row in block)
        paragraphs: list[Block] = []
        for row in block:
            if not paragraphs or self._opens_paragraph(paragraphs[-1], row, (left, right)):
                paragraphs.append([])
            paragraphs[-1].append(row)
        return [self._region(rows) for rows in paragraphs]

    def _is_marked(self, row: list[int]) -> bool:
        return opens_item(" ".join(self._texts[index] for index in row[:2]))

    def _opens_paragraph(self, paragraph: Block, row: list[int], sides: tuple[float, float]) -> bool:
        if self._is_marked(row):
            return True
        left, right = sides
        before = paragraph[-1]
        start, last = self._boxes[row[0]][0], self._boxes[before[-1]]
        if last[2] - left < SHORT_LINE * (right - left):  # the line before ends early
            return True
        if self._level(row[0]) != self._level(before[-1]):
            return True
        if self._is_marked(
            paragraph[0]
        ):  # an item goes on set in, and ends where a line starts below its mark
            return start - self._boxes[paragraph[0][0]][0] < INDENT * self.line_height / 2
        has_cells = len(row) > 1 or len(before) > 1
        return has_cells or start - max(left, self._boxes[before[0]][0]) > INDENT * self.line_height

    def _region(self, rows: Block) -> PlainRegion:
        line_indices = tuple(index for row in rows for index in row)
        level = _heading_level(median(map(self._height, line_indices)), self.line_height)
        if self._is_marked(rows[0]):
            return PlainRegion(RegionKind.LIST_ITEM, 1, line_indices)
        if level and len(rows) <= MAX_HEADING_ROWS:
            return PlainRegion(RegionKind.HEADING, level, line_indices)
        return PlainRegion(RegionKind.PARAGRAPH, 0, line_indices)

    def _level(self, index: int) -> int:
        return _heading_level(self._height(index), self.line_height)

    def _height(self, index: int) -> float:
        return self._boxes[index][3] - self._boxes[index][1]


def _heading_level(height: float, line_height: float) -> int:
    """Heading level of lines of this height, 0 for body text."""
    return next((level for factor, level in HEADING_HEIGHTS if height >= factor * line_height), 0)
