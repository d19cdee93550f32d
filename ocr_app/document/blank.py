"""Whether a page is blank, judged from its pixels. Knows nothing of text: when in doubt, a page is not blank.

Ink is what differs from the paper (the median colour) by more than print showing through from the back does. A page with no spot of ink
larger than a speck is blank. Runs in the renderer.
"""

import numpy as np

_MIN_CONTRAST = 32  # of 255: show-through and scanner noise lie well below, pale grey print above
_CELL_INCH = 0.1
_SPECK_INK = 18.0 / 150**2  # square inches of ink within two cells: a small "1" has more, a speck less
_ROWS_OF_CELLS = 16  # looked at together, so that a page with text is known after its first lines


def is_blank(pixels: np.ndarray, dpi: float) -> bool:
    """Whether nothing but specks stands out from the paper. pixels: (H, W, 3) uint8."""
    cell = max(2, round(dpi * _CELL_INCH))
    min_ink = max(1.0, _SPECK_INK * dpi * dpi)
    paper = _paper_colour(pixels)
    step = cell * _ROWS_OF_CELLS
    # strips overlap by one cell, so that a spot on their border is seen whole
    return all(_most_ink(pixels[top : top + step + cell], paper, cell) <= min_ink for top in range(0, pixels.shape[0], step))


def is_dark(pixels: np.ndarray) -> bool:
    """Whether the paper itself is nearly black."""
    return bool(_paper_colour(pixels).mean() < 64)


def _paper_colour(pixels: np.ndarray) -> np.ndarray:
    step = max(1, int((pixels.shape[0] * pixels.shape[1] / 20_000) ** 0.5))
    return np.median(pixels[::step, ::step].reshape(-1, 3), axis=0)  # (3,)


def _most_ink(strip: np.ndarray, paper: np.ndarray, cell: int) -> float:
    """The largest number of ink pixels in any square of two by two cells."""
    difference = np.abs(strip.astype(np.int16) - paper.astype(np.int16)).max(axis=2)
    ink = (difference > _MIN_CONTRAST).astype(np.int32)
    counts = np.add.reduceat(np.add.reduceat(ink, range(0, ink.shape[0], cell), axis=0), range(0, ink.shape[1], cell), axis=1)
    padded = np.pad(counts, ((0, 1), (0, 1)))
    return float((padded[:-1, :-1] + padded[1:, :-1] + padded[:-1, 1:] + padded[1:, 1:]).max())
