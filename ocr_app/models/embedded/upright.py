"""Puts a page the right way up: which way its lines run, how far they lean, and the turned image. Knows boxes
and pixels, no text.
"""

from dataclasses import replace

import cv2
import numpy as np

from ocr_app.models.embedded.crops import TALL, quad_size
from ocr_app.types import PageImage

SIDEWAYS_SHARE = 0.6  # of the length of all lines
LONG_LINE = 4  # times its height: shorter lines say little about the skew
MIN_SKEW_DEGREES = 0.3  # below this the lines are cut out as they lie
MAX_SKEW_DEGREES = 15.0  # above this the lines are slanted by design
NUM_SAMPLE_LINES = 6
PROFILE_WIDTH_PX = 800
SHARPER = 1.05  # times as uneven, at least


def is_sideways(quads: np.ndarray) -> bool:
    """Whether most of the text, by length, runs up or down the page."""
    sizes = [quad_size(quad) for quad in quads]
    tall = sum(height for width, height in sizes if height >= TALL * width)
    wide = sum(width for width, height in sizes if width >= TALL * height)
    return tall > SIDEWAYS_SHARE * (tall + wide)


def skew_degrees(quads: np.ndarray) -> float:
    """How far the lines lean, clockwise positive: the median angle of long lines, weighted by their lengths.
    0 when there is none.
    """
    angles, lengths = [], []
    for quad in quads:
        width, height = quad_size(quad)
        if width >= LONG_LINE * height:
            across = (quad[1] - quad[0]) + (quad[2] - quad[3])  # top and bottom edge together
            angles.append(np.degrees(np.arctan2(across[1], across[0])))
            lengths.append(width)
    return _weighted_median(np.array(angles), np.array(lengths)) if angles else 0.0


def is_skewed(image: PageImage, degrees: float) -> bool:
    """Whether the page leans by this much, in a range that can be mended: its rows of ink must part better
    once it is turned back. Boxes of lines alone deceive: one around words and dot leaders leans on a straight
    page.
    """
    if not MIN_SKEW_DEGREES <= abs(degrees) <= MAX_SKEW_DEGREES:
        return False
    return _sharpness(image.pixels, degrees) > SHARPER * _sharpness(image.pixels, 0.0)


def _sharpness(pixels: np.ndarray, degrees: float) -> float:
    """How unevenly ink lies over the rows of a page that is turned back by a skew."""
    scale = PROFILE_WIDTH_PX / pixels.shape[1]
    grey = cv2.resize(pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA).min(axis=2)
    height, width = grey.shape
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    paper = int(np.median(grey))
    turned = cv2.warpAffine(grey, matrix, (width, height), flags=cv2.INTER_LINEAR, borderValue=paper)
    rows = np.abs(paper - turned.astype(np.int16)).sum(axis=1, dtype=np.float64)
    return float(np.var(np.diff(rows)))


def sample_lines(quads: np.ndarray) -> np.ndarray:
    """The longest few lines: enough to tell which way up a page is."""
    lengths = [max(quad_size(quad)) for quad in quads]
    return quads[np.argsort(lengths)[::-1][:NUM_SAMPLE_LINES]]


def turn_page(image: PageImage, degrees: int) -> PageImage:
    """Turn the page clockwise by 90, 180 or 270 degrees; no pixel changes its value."""
    pixels = np.ascontiguousarray(np.rot90(image.pixels, -degrees // 90))
    width_pt, height_pt = (
        (image.width_pt, image.height_pt) if degrees == 180 else (image.height_pt, image.width_pt)
    )
    return replace(
        image, pixels=pixels, width_pt=width_pt, height_pt=height_pt, turn=(image.turn + degrees) % 360
    )


def straighten_page(image: PageImage, degrees: float) -> PageImage:
    """Turn the page back by a small clockwise skew; the sheet grows so that no corner is lost."""
    height, width = image.pixels.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    cosine, sine = abs(matrix[0, 0]), abs(matrix[0, 1])
    new_width, new_height = round(width * cosine + height * sine), round(width * sine + height * cosine)
    matrix[:, 2] += ((new_width - width) / 2, (new_height - height) / 2)
    paper = np.median(image.pixels[::16, ::16], axis=(0, 1)).tolist()
    pixels = cv2.warpAffine(
        image.pixels, matrix, (new_width, new_height), flags=cv2.INTER_CUBIC, borderValue=paper
    )
    return replace(
        image,
        pixels=pixels,
        width_pt=image.width_pt * new_width / width,
        height_pt=image.height_pt * new_height / height,
        skew=image.skew + degrees,
    )


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values)
    summed = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(summed, summed[-1] / 2)])
