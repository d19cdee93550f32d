"""What a line is against its whole page: the size of its type, and the white space between it and the page's
other lines.

Box heights vary with ascenders and with the detector; widths of letters tell sizes apart that differ by a
tenth. Pure geometry and letters.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from ocr_app.models.embedded.geometry.seen import MIN_LETTERS, advance

NUM_CONTEXT_FEATURES = 8
MAX_COUNTED = 6  # lines above or below


def context_features(
    line_boxes: np.ndarray,
    run_boxes: np.ndarray,
    line_of: np.ndarray,
    texts: Sequence[str],
    order: Sequence[int],
    line_height: float,
) -> np.ndarray:
    """(L, NUM_CONTEXT_FEATURES) float32 from boxes of lines (L, 4) and runs (V, 4); `order` holds the lines
    as they are read.
    """
    sizes = type_sizes(run_boxes, line_of, texts, len(line_boxes))
    known = sizes > 0
    usual = np.median(sizes[known]) if known.any() else 1.0
    size = np.where(known, np.log(np.where(known, sizes, 1.0) / usual), 0.0).clip(-1, 1)
    following, preceding = np.zeros_like(size), np.zeros_like(size)
    for before, after in pairwise(order):
        following[before], preceding[after] = size[after], size[before]
    top, bottom = line_boxes[:, 1], line_boxes[:, 3]
    slack = 0.3 * (bottom - top)
    is_above = bottom <= top[:, None] + slack[:, None]  # [i, j]: line j lies above line i
    is_below = top >= bottom[:, None] - slack[:, None]
    gap_above = top - np.where(is_above, bottom, -np.inf).max(1)
    gap_below = np.where(is_below, top, np.inf).min(1) - bottom
    columns = [
        size,
        following,
        preceding,
        known,
        np.minimum(is_above.sum(1), MAX_COUNTED) / 3,
        np.minimum(is_below.sum(1), MAX_COUNTED) / 3,
        np.tanh(gap_above / line_height / 3),  # 1 where nothing lies above
        np.tanh(gap_below / line_height / 3),
    ]
    return np.stack(columns, 1).astype(np.float32)


def type_sizes(
    run_boxes: np.ndarray, line_of: np.ndarray, texts: Sequence[str], num_lines: int
) -> np.ndarray:
    """(L,) size of each line's type in pixels: the width of its runs over what their letters usually take; 0
    where too short to say.
    """
    usual = np.array([sum(map(advance, text)) for text in texts])
    widths = np.bincount(line_of, run_boxes[:, 2] - run_boxes[:, 0], num_lines)
    letters = np.bincount(line_of, [len(text) for text in texts], num_lines)
    return np.where(
        letters >= MIN_LETTERS, widths / np.maximum(np.bincount(line_of, usual, num_lines), 0.1), 0.0
    )
