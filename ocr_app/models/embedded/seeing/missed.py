"""Small text that the detector passes over and whose place is known: page numbers behind dot leaders, and
single marks and figures in the cells of a table.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ocr_app.models.embedded.seeing.tight import darkest, line_ink
from ocr_app.types import Box, TableGrid

LEADERS = (".", "…", "·", "_", "‥")
MIN_LEADERS = 2
MIN_DOTS = 5
GAP = 0.6  # line heights between the parts of a page number, at most
MIN_CONTRAST = 60  # grey levels between ink and paper
DOT = 0.3  # line heights: what is lower is a dot of the leaders
DASH_THICKNESS, DASH_FILL = 0.2, 0.7  # line heights, and share of its box that a dash fills
RULE = 0.7  # of a row of pixels of a cell is ink: a rule
MAX_INK = 1.4  # line heights: what is higher is no text of one line
EDGE = 0.18  # line heights left out along the edges of a cell, where its rules may be
MARGIN = 0.25  # line heights around the ink


def leader_ends(pixels: np.ndarray, quads: np.ndarray, texts: Sequence[str]) -> np.ndarray:
    """Corners (N, 4, 2) of what stands at the end of the row behind lines that end with leaders."""
    if not len(quads):
        return np.zeros((0, 4, 2), np.float32)
    boxes = np.concatenate([quads.min(axis=1), quads.max(axis=1)], axis=1)
    height = float(np.median(boxes[:, 3] - boxes[:, 1]))
    right = float(boxes[:, 2].max()) + height
    ends = []
    for box, text in zip(boxes, texts, strict=True):
        if ((boxes[:, 2] > box[2] + 0.5 * height) & _beside(boxes, box)).any():
            continue
        ink = _inked(pixels, (box[2], box[1], right, box[3]))
        if not ink.size or not (_ends_with_leaders(text) or _has_dots(ink)):
            continue
        found = _last_ink(ink, height)
        if found:
            ends.append(_quad((int(box[2]) + found[0], int(box[2]) + found[1]), box[1], box[3], height))
    return np.array(ends, np.float32).reshape(-1, 4, 2)


@dataclass(frozen=True, slots=True)
class CellMark:
    """Ink in a cell of a table where nobody read anything."""

    corners: list[list[float]]  # (4, 2), from the top left clockwise
    is_dash: bool


def cell_marks(pixels: np.ndarray, grid: TableGrid, runs: Sequence[Box], height: float) -> list[CellMark]:
    """The ink in cells of a grid that hold no run; `height` is the usual one of lines."""
    rows = [grid.box[1], *grid.row_edges, grid.box[3]]
    columns = [grid.box[0], *grid.column_edges, grid.box[2]]
    taken = {(_place(box[1], box[3], rows), _place(box[0], box[2], columns)) for box in runs}
    in_span = {(r, c) for a, b, x, y in grid.spans for r in range(a, b + 1) for c in range(x, y + 1)}
    found = []
    for row in range(len(rows) - 1):
        mates = [box for box in runs if _place(box[1], box[3], rows) == row]
        if not mates:
            continue
        top, bottom = min(box[1] for box in mates), max(box[3] for box in mates)
        for column in range(len(columns) - 1):
            if (row, column) in taken or (row, column) in in_span or bottom - top > 2 * height:
                continue
            cell = (columns[column] + EDGE * height, top, columns[column + 1] - EDGE * height, bottom)
            ink = _only_ink(pixels, cell, height)
            if ink:
                found.append(CellMark(_quad(ink[:2], top, bottom, height), ink[2]))
    return found


def _ends_with_leaders(text: str) -> bool:
    tail = text.replace(" ", "")[-MIN_LEADERS:]
    return tail.endswith("…") or (
        len(tail) == MIN_LEADERS and all(character in LEADERS for character in tail)
    )


def _beside(boxes: np.ndarray, box: np.ndarray) -> np.ndarray:
    shared = np.minimum(boxes[:, 3], box[3]) - np.maximum(boxes[:, 1], box[1])
    return shared > 0.5 * np.minimum(boxes[:, 3] - boxes[:, 1], box[3] - box[1])


def _place(start: float, end: float, edges: list[float]) -> int:
    return sum(edge < (start + end) / 2 for edge in edges[1:-1])


def _inked(pixels: np.ndarray, box: Box) -> np.ndarray:
    """Ink inside a box, (h, w) bool; nothing where the contrast is that of paper."""
    left, top, right, bottom = (int(side) for side in box)
    part = pixels[max(0, top) : bottom, max(0, left) : right]
    if part.size == 0 or int(part.max()) - int(part.min()) < MIN_CONTRAST:
        return np.zeros((0, 0), bool)
    return line_ink(pixels, (left, top, right, bottom))


def _has_dots(ink: np.ndarray) -> bool:
    """Whether there are leaders: many small pieces of ink, low in the line."""
    dots = ink[ink.shape[0] // 2 :].any(axis=0) & ~ink[: ink.shape[0] // 3].any(axis=0)
    return np.count_nonzero(np.diff(dots.astype(np.int8)) == 1) >= MIN_DOTS


def _inside(pixels: np.ndarray, box: Box) -> np.ndarray:
    """Ink in a cell, (h, w) bool, against most of the cell, its rules taken out."""
    left, top, right, bottom = (int(side) for side in box)
    part = pixels[max(0, top) : bottom, max(0, left) : right]
    if part.size == 0:
        return np.zeros((0, 0), bool)
    grey = darkest(part).astype(np.int16)
    is_ink = np.abs(grey - np.median(grey)) > MIN_CONTRAST
    is_ink[is_ink.mean(axis=1) > RULE] = False
    return is_ink


def _last_ink(ink: np.ndarray, height: float) -> tuple[float, float] | None:
    """Left and right of the last piece of ink that is higher than a dot, in columns."""
    columns = np.flatnonzero(ink.any(axis=0))
    if not len(columns):
        return None
    breaks = np.flatnonzero(np.diff(columns) > GAP * height)
    first = columns[breaks[-1] + 1] if len(breaks) else columns[0]
    while first < columns[-1]:  # leaders may stand close before the number
        gaps = np.flatnonzero(~ink[:, first : columns[-1] + 1].any(axis=0))
        piece_end = first + (gaps[0] if len(gaps) else columns[-1] + 1 - first)
        rows = np.flatnonzero(ink[:, first:piece_end].any(axis=1))
        if len(rows) and rows[-1] - rows[0] >= DOT * height:
            return float(first), float(columns[-1] + 1)
        if not len(gaps):
            return None
        following = columns[columns > piece_end]
        if not len(following):
            return None
        first = following[0]
    return None


def _only_ink(pixels: np.ndarray, box: Box, height: float) -> tuple[float, float, bool] | None:
    """Left and right of the ink of a cell, where that is small enough for a mark or a few characters, and
    whether it is a dash.
    """
    ink = _inside(pixels, (box[0], box[1] + EDGE * height, box[2], box[3] - EDGE * height))
    if not ink.size:
        return None
    rows, columns = np.flatnonzero(ink.sum(axis=1) > 1), np.flatnonzero(ink.any(axis=0))
    if len(rows) < 2 or len(columns) < 2 or columns[-1] - columns[0] > 4 * height:
        return None
    touches = columns[0] == 0 or columns[-1] == ink.shape[1] - 1
    if touches or rows[-1] - rows[0] > MAX_INK * height or ink.mean() > 0.4:
        return None
    width, thickness = columns[-1] + 1 - columns[0], rows[-1] + 1 - rows[0]
    fill = ink[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1].mean()
    is_dash = thickness <= DASH_THICKNESS * height and 2 * thickness <= width <= height and fill > DASH_FILL
    return int(box[0]) + float(columns[0]), int(box[0]) + float(columns[-1] + 1), bool(is_dash)


def _quad(ink: tuple[float, ...], top: float, bottom: float, height: float) -> list[list[float]]:
    left, right = max(0.0, ink[0] - MARGIN * height), ink[1] + MARGIN * height
    return [[left, top], [right, top], [right, bottom], [left, bottom]]
