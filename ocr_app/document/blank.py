"""Whether a page is blank, judged from its pixels. Knows nothing of text: when in doubt, a page is not blank.

Ink is what differs from the paper (the median colour) by more than print showing through from the back does.
A page with no spot of ink larger than a speck is blank. Runs in the renderer.
"""

from collections.abc import Sequence

import numpy as np

from ocr_app.types import Box

_MIN_CONTRAST = 32  # of 255: show-through and scanner noise lie well below, pale grey print above
_STROKE_INCH = (
    0.033  # a straight run of ink this long is a stroke: the stem of a small "1" is longer, a speck shorter
)
_CELL_INCH = 0.1
_MASS_INK = (
    40.0 / 150**2
)  # square inches of ink within two by two cells: curved or broken print, or a picture
_ROWS_OF_CELLS = 16  # looked at together, so that a page with text is known after its first lines


def is_blank(pixels: np.ndarray, dpi: float) -> bool:
    """Whether nothing but specks stands out from the paper. pixels: (H, W, 3) uint8."""
    cell = max(2, round(dpi * _CELL_INCH))
    paper = _paper_colour(pixels)
    step = cell * _ROWS_OF_CELLS
    # strips overlap by one cell, so that a spot on their border is seen whole
    strips = (pixels[top : top + step + cell] for top in range(0, pixels.shape[0], step))
    return not any(_has_print(_ink(strip, paper), dpi, cell) for strip in strips)


def is_dark(pixels: np.ndarray) -> bool:
    """Whether the paper itself is nearly black."""
    return bool(_paper_colour(pixels).mean() < 64)


def _paper_colour(pixels: np.ndarray) -> np.ndarray:
    step = max(1, int((pixels.shape[0] * pixels.shape[1] / 20_000) ** 0.5))
    return np.median(pixels[::step, ::step].reshape(-1, 3), axis=0)  # (3,)


def _ink(strip: np.ndarray, paper: np.ndarray) -> np.ndarray:
    return np.abs(strip.astype(np.int16) - paper.astype(np.int16)).max(axis=2) > _MIN_CONTRAST  # (H, W) bool


def _has_print(ink: np.ndarray, dpi: float, cell: int) -> bool:
    if not ink.any():
        return False
    stroke = max(3, round(dpi * _STROKE_INCH))
    return (
        _has_run(ink, stroke) or _has_run(ink.T, stroke) or _largest_mass(ink, cell) > _MASS_INK * dpi * dpi
    )


def _has_run(ink: np.ndarray, length: int) -> bool:
    """Whether `length` ink pixels stand in a row, down a column."""
    num_starts = ink.shape[0] - length + 1
    if num_starts < 1:
        return False
    runs = ink[:num_starts].copy()
    for offset in range(1, length):
        runs &= ink[offset : offset + num_starts]
    return bool(runs.any())


def _largest_mass(ink: np.ndarray, cell: int) -> int:
    """The largest number of ink pixels in any square of two by two cells."""
    rows = np.add.reduceat(ink.astype(np.int32), range(0, ink.shape[0], cell), axis=0)
    counts = np.pad(np.add.reduceat(rows, range(0, ink.shape[1], cell), axis=1), ((0, 1), (0, 1)))
    return int((counts[:-1, :-1] + counts[1:, :-1] + counts[:-1, 1:] + counts[1:, 1:]).max())


def ink_share(pixels: np.ndarray, left_out: Sequence[Box] = ()) -> float:
    """Share of the page that is ink, outside of the boxes left out. pixels: (H, W, 3) uint8."""
    ink = _ink(pixels, _paper_colour(pixels))
    for left, top, right, bottom in left_out:
        ink[max(0, int(top)) : int(bottom) + 1, max(0, int(left)) : int(right) + 1] = False
    return float(ink.mean())
