"""Pages drawn in black on white: lines of ink where tests say."""

import numpy as np

from ocr_app.types import Box


def paper(height: int = 600, width: int = 800) -> np.ndarray:
    return np.full((height, width, 3), 255, np.uint8)


def draw_words(pixels: np.ndarray, box: Box, word_px: int = 40, space_px: int = 4) -> None:
    """Strokes in a box, in words apart by less than a gutter."""
    left, top, right, bottom = map(int, box)
    for start in range(left, right, word_px + space_px):
        for x in range(start, min(start + word_px, right), 4):
            pixels[top:bottom, x : x + 2] = 0


def quad(box: Box) -> np.ndarray:
    x0, y0, x1, y1 = box
    return np.array([[x0, y0], [x1, y0], [x1, y1], [x0, y1]], np.float32)
