"""Printed rules: level and upright lines of a page."""

import numpy as np

from ocr_app.models.embedded.seeing.tight import darkest
from ocr_app.types import Rule

INK = 40  # grey levels from the paper around
MIN_LENGTH = 1.3  # line heights
MAX_THICKNESS = 0.35  # line heights: thicker is a bar or a letter


def find_rules(pixels: np.ndarray, line_height: float) -> tuple[tuple[Rule, ...], tuple[Rule, ...]]:
    """Level and upright rules on an RGB page (H, W, 3), given the usual height of its lines in pixels."""
    import cv2

    grey = darkest(pixels)
    window = 2 * int(line_height) + 1
    paper = cv2.blur(cv2.dilate(grey, np.ones((5, 5), np.uint8)), (window, window)).astype(np.int16)
    is_ink = (np.abs(paper - grey.astype(np.int16)) > INK).astype(np.uint8)
    length = max(8, int(MIN_LENGTH * line_height))
    level = _straight(is_ink, (1, length), line_height, axis=1)
    upright = _straight(is_ink, (length, 1), line_height, axis=0)
    return level, upright


def _straight(is_ink: np.ndarray, kernel: tuple[int, int], line_height: float, axis: int) -> tuple[Rule, ...]:
    """Long thin pieces of ink; `axis` is 1 for level ones."""
    import cv2

    opened = cv2.morphologyEx(is_ink, cv2.MORPH_OPEN, np.ones(kernel, np.uint8))
    joined = cv2.dilate(opened, np.ones((1, 5) if axis == 1 else (5, 1), np.uint8))
    count, _, stats, _ = cv2.connectedComponentsWithStats(joined)
    found = []
    for x, y, width, height, _ in stats[1:count]:
        thickness, start, extent, place = (height, x, width, y) if axis == 1 else (width, y, height, x)
        if thickness <= max(3, MAX_THICKNESS * line_height):
            found.append(Rule(float(place + thickness / 2), float(start), float(start + extent)))
    return tuple(found)
