"""What the ink of a line crop says beside its characters: where its columns hold any, and how thick its
strokes are.
"""

import numpy as np

EDGE_ROWS = 6  # other lines reach in here
# of the contrast of a mark, from which on a pixel is ink: less than half, so that thin outlines hold together
INK_SHARE = 0.35
MIN_CONTRAST = 24  # grey levels between ink and paper; less is an empty crop


def column_ink(crop: np.ndarray) -> np.ndarray:
    """How far the pixels of each column of an RGB crop differ among themselves, (W,); the outer rows are left
    out.
    """
    inner = crop[EDGE_ROWS:-EDGE_ROWS].min(axis=2)
    return np.ptp(inner.astype(np.int16), axis=0)


def stroke_width(crop: np.ndarray) -> float:
    """Mean thickness of the strokes in a crop as a share of its height; 0 where there is no ink. Bold type
    has about 1.5 times the usual.

    A stroke of width w has two edges along its length, so twice the ink's area over the number of edges
    crossed is w.
    """
    grey = crop.mean(axis=2)
    low, high = np.percentile(grey, (2, 98))
    if high - low < MIN_CONTRAST:
        return 0.0
    ink = grey < (low + high) / 2
    if ink.mean() > 0.5:  # light letters on dark paper
        ink = ~ink
    num_edges = np.count_nonzero(ink[:, 1:] != ink[:, :-1]) + np.count_nonzero(ink[1:] != ink[:-1])
    return float(2 * np.count_nonzero(ink) / max(1, num_edges) / len(crop))
