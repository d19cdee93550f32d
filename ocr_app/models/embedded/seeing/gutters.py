"""Boxes of lines that the detector drew across a gutter, cut where white space goes down through several
rows.

LaTeX sets columns 10 points apart, which is less than the height of a line: the detector joins what stands
beside each other, and what stands a little higher or lower. Spaces between words never lie below each other
over many rows, gutters do. Looks at ink only, before anything is read.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ocr_app.models.embedded.seeing.tight import line_ink

MIN_GAP = 0.45  # of the usual height of lines: the narrowest empty stretch that may be a gutter
WIDE_GAP = 1.0  # and between short pieces, which may be an item and its mark, or a day and its month
WORD_GAP = 0.3  # what parts two stretches of ink
MIN_SIDE = 7.0  # pieces at least so wide are lines of a column
MIN_END = 3.0  # a shorter piece is no end of a paragraph
MIN_ROWS = 4  # rows above each other with the same empty stretch
MIN_CROSSING = 2  # a single line across is a title, or stands below
MAX_DISTANCE = 3.0  # between two rows of one column
TALL = 1.6  # a box so high holds lines of two rows, joined across the gutter
MARGIN = 0.15  # of white around a piece of such a box

Span = tuple[float, float]


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Ink of one line without a gap, in pixels of the page."""

    line: int
    left: float
    right: float


@dataclass(frozen=True, slots=True)
class _Row:
    """Lines beside each other."""

    top: float
    stretches: list[_Stretch]  # from left to right


def cut_at_gutters(pixels: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Corners (N, 4, 2) of lines, clockwise from the top left, on an RGB page (H, W, 3); lines across a
    gutter become two.
    """
    if len(quads) < MIN_ROWS:
        return quads
    boxes = np.concatenate([quads.min(axis=1), quads.max(axis=1)], axis=1)  # (N, 4)
    height = float(np.median(boxes[:, 3] - boxes[:, 1]))
    rows = _rows(pixels, boxes, height)
    cuts: dict[int, list[float]] = {}
    for place, row in enumerate(rows):
        for left, right in _gaps(row):
            if _is_gutter(place, (left.right, right.left), rows, height):
                cuts.setdefault(left.line, []).append((left.right + right.left) / 2)
    pieces = []
    for index, quad in enumerate(quads):
        if index in cuts:
            edges = [boxes[index, 0], *sorted(cuts[index]), boxes[index, 2]]
            others = np.delete(boxes, index, axis=0)
            pieces += [_piece(pixels, boxes[index], span, others, height) for span in pairwise(edges)]
        else:
            pieces.append(quad)
    return np.stack(pieces).astype(quads.dtype)


def _gaps(row: _Row) -> list[tuple[_Stretch, _Stretch]]:
    """Neighbouring stretches of each line."""
    by_line: dict[int, list[_Stretch]] = {}
    for stretch in row.stretches:
        by_line.setdefault(stretch.line, []).append(stretch)
    return [pair for stretches in by_line.values() for pair in pairwise(stretches)]


def _rows(pixels: np.ndarray, boxes: np.ndarray, height: float) -> list[_Row]:
    rows: list[list[int]] = []
    for index in np.argsort(boxes[:, 1] + boxes[:, 3]):
        middle = (boxes[index, 1] + boxes[index, 3]) / 2
        if rows and boxes[rows[-1][0], 1] < middle < boxes[rows[-1][0], 3]:
            rows[-1].append(int(index))
        else:
            rows.append([int(index)])
    return [
        _Row(
            float(boxes[row[0], 1]),
            sorted(
                (stretch for line in row for stretch in _stretches(pixels, boxes[line], line, height)),
                key=lambda stretch: stretch.left,
            ),
        )
        for row in rows
    ]


def _stretches(pixels: np.ndarray, box: np.ndarray, line: int, height: float) -> list[_Stretch]:
    """The stretches of ink of a line, parted by gaps wider than most spaces between words."""
    ink = line_ink(pixels, tuple(box)).any(axis=0)
    left = float(int(box[0]))
    columns = np.flatnonzero(ink)
    if not len(columns):
        return []
    breaks = np.flatnonzero(np.diff(columns) > WORD_GAP * height)
    starts = columns[np.concatenate([[0], breaks + 1])]
    ends = columns[np.concatenate([breaks, [len(columns) - 1]])] + 1
    return [_Stretch(line, left + start, left + end) for start, end in zip(starts, ends, strict=True)]


def _is_gutter(place: int, span: Span, rows: list[_Row], height: float) -> bool:
    """Whether the paper at a gap is empty in enough rows, and pieces are long or the gap is wide."""
    if span[1] - span[0] < MIN_GAP * height:
        return False
    middle = (span[0] + span[1]) / 2
    sides, num_crossing = [_side(rows[place], middle)], 1
    for step in (-1, 1):
        current, last = place + step, place
        while 0 <= current < len(rows) and abs(rows[current].top - rows[last].top) < MAX_DISTANCE * height:
            opening = _opening(rows[current], middle)
            if opening is not None:  # None: the row ends before the gap or begins behind it
                if opening < MIN_GAP * height:
                    break
                last = current
                sides.append(_side(rows[current], middle))
                num_crossing += _is_crossed(rows[current], middle)
            current += step
    if len(sides) < MIN_ROWS or num_crossing < MIN_CROSSING:
        return False
    if span[1] - span[0] >= WIDE_GAP * height:
        return min(sides) > 1.5 * height
    return sorted(sides)[len(sides) // 2] >= MIN_SIDE * height and sides[0] >= MIN_END * height


def _opening(row: _Row, middle: float) -> float | None:
    """How wide the paper of a row is empty at a place; None where nothing stands on one of its sides."""
    if any(stretch.left < middle < stretch.right for stretch in row.stretches):
        return 0.0
    left = max((stretch.right for stretch in row.stretches if stretch.right <= middle), default=None)
    right = min((stretch.left for stretch in row.stretches if stretch.left >= middle), default=None)
    return None if left is None or right is None else right - left


def _side(row: _Row, middle: float) -> float:
    """The width of the shorter piece beside a place."""
    return min(middle - row.stretches[0].left, row.stretches[-1].right - middle)


def _is_crossed(row: _Row, middle: float) -> bool:
    """Whether one line of a row reaches over a place."""
    lefts = {stretch.line for stretch in row.stretches if stretch.right <= middle}
    return any(stretch.line in lefts for stretch in row.stretches if stretch.left >= middle)


def _piece(pixels: np.ndarray, box: np.ndarray, span: Span, others: np.ndarray, height: float) -> np.ndarray:
    """The corners of a part of a box; of one too high for a line, around the ink that no other box holds."""
    top, bottom = float(box[1]), float(box[3])
    left, right = span
    if bottom - top > TALL * height:
        has_ink = line_ink(pixels, (left, top, right, bottom)).sum(axis=1) > 2
        shared = np.minimum(others[:, 2], right) - np.maximum(others[:, 0], left)
        for other in others[shared > 0.1 * (right - left)]:
            first, last = other[1] + MARGIN * height - top, other[3] - MARGIN * height - top
            has_ink[max(0, int(first)) : max(0, int(last))] = False
        rows = np.flatnonzero(has_ink)
        if len(rows):
            margin = MARGIN * height
            top, bottom = max(top, int(top) + rows[0] - margin), min(bottom, int(top) + rows[-1] + 1 + margin)
    return np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
