"""Cuts a line out of a page along its corners and scales it to the recogniser's height. Geometry only."""

from math import ceil

import cv2
import numpy as np

from ocr_app.models.embedded.recogniser import LINE_HEIGHT_PX

TALL = 1.5  # a crop this many times higher than wide holds text that runs down the page


def cut_line(pixels: np.ndarray, quad: np.ndarray) -> np.ndarray:
    """The line inside a quad (4, 2), from the top left clockwise, as (48, W, 3) uint8 with W at least 1."""
    quad = reading_quad(quad)
    width, height = quad_size(quad)
    if _is_upright(quad):
        left, top = quad[0].astype(int)
        crop = pixels[top : top + height, left : left + width]
    else:
        corners = np.float32([[0, 0], [width, 0], [width, height], [0, height]])
        transform = cv2.getPerspectiveTransform(quad.astype(np.float32), corners)
        crop = cv2.warpPerspective(
            pixels, transform, (width, height), flags=cv2.INTER_CUBIC, borderMode=cv2.BORDER_REPLICATE
        )
    scaled_width = ceil(
        width * LINE_HEIGHT_PX / height
    )  # rounded up as when the network learned; a pixel less changes punctuation
    method = cv2.INTER_AREA if height > LINE_HEIGHT_PX * 1.5 else cv2.INTER_LINEAR
    return cv2.resize(crop, (scaled_width, LINE_HEIGHT_PX), interpolation=method)


def reading_quad(quad: np.ndarray) -> np.ndarray:
    """The corners in the order in which text is read: a tall quad is read from its foot upwards."""
    width, height = quad_size(quad)
    return np.roll(quad, 1, axis=0) if height >= width * TALL else quad


def quad_size(quad: np.ndarray) -> tuple[int, int]:
    """Width and height in whole pixels, at least 1."""
    width = max(np.linalg.norm(quad[0] - quad[1]), np.linalg.norm(quad[2] - quad[3]))
    height = max(np.linalg.norm(quad[0] - quad[3]), np.linalg.norm(quad[1] - quad[2]))
    return max(1, int(width)), max(1, int(height))


def quad_part(quad: np.ndarray, start: float, end: float) -> np.ndarray:
    """The part of a quad between two shares of its width, along its own edges."""
    top_left, top_right, bottom_right, bottom_left = reading_quad(quad)
    top, bottom = top_right - top_left, bottom_right - bottom_left
    return np.stack(
        [
            top_left + top * start,
            top_left + top * end,
            bottom_left + bottom * end,
            bottom_left + bottom * start,
        ]
    )


def _is_upright(quad: np.ndarray) -> bool:
    return (
        quad[0, 1] == quad[1, 1]
        and quad[2, 1] == quad[3, 1]
        and quad[0, 0] == quad[3, 0]
        and quad[1, 0] == quad[2, 0]
    )
