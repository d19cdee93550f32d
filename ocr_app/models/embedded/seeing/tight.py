"""Tight boxes of lines: the detector's boxes stand off the letters by a third of their height."""

import numpy as np

from ocr_app.types import Box

INK = 0.35  # of the strongest difference from the paper: what counts as ink
MIN_ROW_SHARE = (
    0.02  # of a line's width must hold ink in a row of pixels, so that specks and ends of rules do not count
)


def darkest(pixels: np.ndarray) -> np.ndarray:
    """The lowest of the three colours of each pixel (H, W, 3), as (H, W) uint8: ink of any colour is dark in
    it.
    """
    import cv2

    red, green, blue = cv2.split(pixels)
    return cv2.min(cv2.min(red, green), blue)


def line_ink(pixels: np.ndarray, box: Box) -> np.ndarray:
    """Which pixels inside a box on an RGB page (H, W, 3) are ink, (h, w) bool; light letters on dark paper
    too.
    """
    left, top, right, bottom = int(box[0]), int(box[1]), int(np.ceil(box[2])), int(np.ceil(box[3]))
    part = pixels[max(0, top) : bottom, max(0, left) : right]
    if part.size == 0:
        return np.zeros((0, 0), bool)
    grey = darkest(part).astype(np.int16)
    contrast = np.abs(grey - np.median(np.concatenate([grey[0], grey[-1]])))
    return contrast > INK * max(1, contrast.max())


def ink_box(pixels: np.ndarray, box: Box) -> Box:
    """The box around the ink of one line, inside its box on an RGB page (H, W, 3), and a pixel around it."""
    is_ink = line_ink(pixels, box)
    rows = np.flatnonzero(is_ink.sum(axis=1) > max(1, MIN_ROW_SHARE * is_ink.shape[1]))
    columns = np.flatnonzero(is_ink.any(axis=0))
    if not len(rows) or not len(columns):
        return box
    left, top = int(box[0]), int(box[1])
    height, width = pixels.shape[:2]
    return (
        float(max(0, left + columns[0] - 1)),
        float(max(0, top + rows[0] - 1)),
        float(min(width, left + columns[-1] + 2)),
        float(min(height, top + rows[-1] + 2)),
    )
