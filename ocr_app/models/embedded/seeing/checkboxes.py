"""Boxes to tick in front of lines: small printed squares, and whether something is drawn inside.

The recogniser reads them as letters, as a square or not at all; ticked and empty ones look alike to it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ocr_app.models.embedded.seeing.tight import darkest
from ocr_app.types import Box, Run

EMPTY, TICKED = "[ ]", "[x]"
SQUARES = "\u25a1\u2610\u2611\u2612\u25a0\u25ab\u53e3\u30ed\u56d7"  # how recognisers read them
LETTERS = "[]|OoD0QxXV\u00d7\u2713\u221a"  # and, where nothing stands beside them, so
SIZES = (0.35, 1.1)  # line heights, both sides
SQUARE = 1.3  # longer side over shorter
MAX_BORDER = 0.28  # of the side, on each side: thicker is no outline
MIN_STRAIGHT = 0.85  # of each side of the square is inked
INNER = 0.22  # of the side left out on each side when looking inside
TICK_INK = 0.06  # of the inside: more is a tick
REACH = 2.0  # line heights between a box and its text
INK = 60  # grey levels from the paper


@dataclass(frozen=True, slots=True)
class CheckBox:
    """A printed square in pixels of the page."""

    box: Box
    is_ticked: bool


def find_check_boxes(pixels: np.ndarray, line_height: float) -> list[CheckBox]:
    """Squares on an RGB page (H, W, 3), given the usual height of its lines."""
    import cv2

    grey = darkest(pixels)
    paper = float(np.median(grey))
    is_ink = (np.abs(grey.astype(np.int16) - paper) > INK).astype(np.uint8)
    contours, hierarchy = cv2.findContours(is_ink, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE)
    found = []
    for contour, (_, _, child, parent) in zip(
        contours, hierarchy[0] if hierarchy is not None else (), strict=True
    ):
        if parent >= 0 or child < 0:
            continue
        x, y, width, height = cv2.boundingRect(contour)
        if not _is_square(width, height, line_height) or not _has_outline(
            is_ink[y : y + height, x : x + width]
        ):
            continue
        found.append(
            CheckBox(
                (float(x), float(y), float(x + width), float(y + height)),
                _is_ticked(is_ink[y : y + height, x : x + width]),
            )
        )
    return found


def with_check_boxes(
    lines: Sequence[list[Run]], boxes: Sequence[Box], marks: Sequence[CheckBox]
) -> list[list[Run]]:
    """The runs of each line with the box in front of it as a run, in the place of what was read there."""
    mended = [list(runs) for runs in lines]
    for mark in marks:
        index = _line_behind(mark.box, lines, boxes)
        if index is None:
            continue
        runs = mended[index]
        if runs[0].text in (EMPTY, TICKED) or _is_word_in(mark.box, runs[0]):
            continue
        rest = _without_likeness(runs, mark.box)
        if rest:
            mended[index] = [
                replace(
                    runs[0], text=TICKED if mark.is_ticked else EMPTY, box=mark.box, has_space_after=True
                ),
                *rest,
            ]
    return mended


def _is_square(width: float, height: float, line_height: float) -> bool:
    low, high = SIZES[0] * line_height, SIZES[1] * line_height
    return (
        low <= min(width, height)
        and max(width, height) <= high
        and max(width, height) <= SQUARE * min(width, height)
    )


def _has_outline(ink: np.ndarray) -> bool:
    """Whether all four sides are drawn and are thin."""
    height, width = ink.shape
    border = max(2, round(0.2 * min(height, width)))
    sides = (
        ink[:border].any(axis=0),
        ink[-border:].any(axis=0),
        ink[:, :border].any(axis=1),
        ink[:, -border:].any(axis=1),
    )
    middle_row, middle_column = ink[height // 2], ink[:, width // 2]
    edges = (middle_row, middle_row[::-1], middle_column, middle_column[::-1])
    is_thin = all(_first_run(edge) <= MAX_BORDER * len(edge) for edge in edges)
    return is_thin and all(side.mean() >= MIN_STRAIGHT for side in sides) and _has_corners(ink, border)


def _has_corners(ink: np.ndarray, border: int) -> bool:
    """Round letters have no ink in their corners."""
    corners = (ink[:border, :border], ink[:border, -border:], ink[-border:, :border], ink[-border:, -border:])
    return all(corner.any() for corner in corners)


def _first_run(edge: np.ndarray) -> int:
    """How thick the first ink is, from the outside."""
    inked = np.flatnonzero(edge)
    if not len(inked):
        return len(edge)
    gaps = np.flatnonzero(edge[inked[0] :] == 0)
    return int(gaps[0]) if len(gaps) else len(edge)


def _is_ticked(ink: np.ndarray) -> bool:
    top, left = (max(2, round(INNER * side)) for side in ink.shape)
    inside = ink[top:-top, left:-left]
    return bool(inside.size and inside.mean() > TICK_INK)


def _line_behind(box: Box, lines: Sequence[list[Run]], boxes: Sequence[Box]) -> int | None:
    """The line that a box stands at the beginning of, or right before."""
    height = box[3] - box[1]
    middle = (box[1] + box[3]) / 2
    best, distance = None, REACH * height
    for index, line in enumerate(boxes):
        if line[1] <= middle <= line[3] and lines[index]:
            gap = line[0] - box[2]
            if -1.5 * height <= gap < distance:
                best, distance = index, gap
    return best


def _is_word_in(box: Box, run: Run) -> bool:
    """Whether a square frames a word, as keys and buttons do."""
    middle = (run.box[0] + run.box[2]) / 2
    is_inside = box[0] <= middle <= box[2] and run.box[2] <= box[2] + 0.3 * (box[2] - box[0])
    return is_inside and run.text not in (*SQUARES, *LETTERS)


def _without_likeness(runs: list[Run], box: Box) -> list[Run]:
    """The runs behind a box: without what was read at its place."""
    first = runs[0]
    if first.box[0] > box[2] - 0.3 * (box[2] - box[0]):
        return runs
    if first.text[0] in SQUARES and len(first.text) > 1:
        return [replace(first, text=first.text[1:], box=(box[2], *first.box[1:])), *runs[1:]]
    return runs[1:] if first.text in (*SQUARES, *LETTERS) else runs
