"""Bullets in a line crop that the recogniser passes over or takes for something else: hollow ones for the
letter O or a nought, dashes for the Chinese number one, and squares for nothing at all. Their shape tells
what they are. Knows pixels and characters, no networks.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ocr_app.models.embedded.ink import EDGE_ROWS, INK_SHARE, MIN_CONTRAST

SEEN = 4.0  # of the crop's height: how much of its left is looked at
MIN_GAP = 0.3  # of the crop's height: white behind a mark
MIN_LETTER_GAP = 0.6  # the same where a letter was read: it may be a word
WIDTHS = (0.06, 0.85)  # of the crop's height
MAX_HEIGHT = 0.72
FLAT = 0.35  # height over width of a dash, at most
MAX_DASH = 0.62  # width of a dash; the Chinese number one is wider
ROUND = (0.84, 1.2)  # width over height; noughts are narrower
HOLLOW = 0.3  # of the middle of a mark is inked, at most
CENTRAL = (0.28, 0.72)  # of the crop's height: full stops and quotation marks lie outside
MIN_HOLLOW_PX = 6
SQUARE_EDGE = 0.8  # of the top edge of a square is inked, at least
SQUARE_FILL = 0.92  # of a square's box; a disc fills 0.79
MIN_FILL = 0.6
TAKEN_FOR_CIRCLE = "O0oQ〇。°口□"
TAKEN_FOR_DASH = "一_~ー"
READ_AS_MARK = 6  # pixels from a mark within which the place of a character lies that is the mark


@dataclass(frozen=True, slots=True)
class Mark:
    """A lone mark at the left of a crop, and the bullet it looks like."""

    right: int  # edge of its ink, in pixels
    gap: float  # pixels of white behind it; infinite where nothing follows
    bullet: str


def leading_mark(crop: np.ndarray) -> Mark | None:
    """The mark with which a crop (H, W, 3) begins, or of which it consists; None where there is none."""
    is_whole = crop.shape[1] <= SEEN * len(crop)
    grey = crop[:, : int(SEEN * len(crop))].mean(2)
    inner = grey[EDGE_ROWS:-EDGE_ROWS]
    usual, brightest = np.percentile(inner, (50, 98))
    paper = usual if 2 * usual > brightest + inner.min() else brightest  # a square may fill its crop
    contrast = paper - inner.min()
    if contrast < MIN_CONTRAST:
        return None
    ink = grey < paper - INK_SHARE * contrast
    columns = np.flatnonzero(ink[EDGE_ROWS:-EDGE_ROWS].any(0))
    breaks = np.flatnonzero(np.diff(columns) > MIN_GAP * len(crop))
    is_alone = not len(breaks)
    if is_alone and not is_whole:
        return None
    last = columns[-1] if is_alone else columns[breaks[0]]
    part = ink[:, columns[0] : last + 1] if is_alone else ink[EDGE_ROWS:-EDGE_ROWS, columns[0] : last + 1]
    rows = np.flatnonzero(part.any(1))
    part = part[rows[0] : rows[-1] + 1]
    if not is_alone and not _is_small(part.shape, EDGE_ROWS + (rows[0] + rows[-1]) / 2, len(crop)):
        return None
    bullet = _shape(part, len(crop))
    gap = float("inf") if is_alone else float(columns[breaks[0] + 1] - last)
    return Mark(int(last), gap, bullet) if bullet else None


def _is_small(size: tuple[int, ...], middle: float, height: int) -> bool:
    tall, wide = size
    is_central = CENTRAL[0] * height <= middle <= CENTRAL[1] * height
    return is_central and WIDTHS[0] * height <= wide <= WIDTHS[1] * height and tall <= MAX_HEIGHT * height


def _shape(ink: np.ndarray, height: int) -> str | None:
    """What bullet an inked box (h, w) bool looks like."""
    tall, wide = ink.shape
    if tall <= FLAT * wide:
        return "–" if wide <= MAX_DASH * height else None
    if not ROUND[0] <= wide / tall <= ROUND[1]:
        return None
    core = ink[tall // 3 : -(tall // 3) or None, wide // 3 : -(wide // 3) or None]
    if core.mean() <= HOLLOW and min(tall, wide) > MIN_HOLLOW_PX:
        return "○" if ink[0].mean() < SQUARE_EDGE else "□"
    return ("■" if ink.mean() > SQUARE_FILL else "•") if ink.mean() > MIN_FILL else None


def bullet_for(
    characters: Sequence[str], centres: np.ndarray, mark: Mark, height: int
) -> tuple[int, str] | None:
    """How many characters to replace, spaces only where the mark was not read, and the bullet; None where
    nothing is to be mended.
    """
    spoken = [index for index, character in enumerate(characters) if not character.isspace()]
    if not spoken:  # found as a line of its own; a lone dash may be a piece of a rule
        return (len(characters), mark.bullet) if mark.gap == float("inf") and mark.bullet != "–" else None
    first = spoken[0]
    if centres[first] > mark.right + READ_AS_MARK:
        return first, mark.bullet
    is_alone = len(spoken) == 1 or centres[spoken[1]] > mark.right + READ_AS_MARK
    is_circle = mark.bullet in "○□" and characters[first] in TAKEN_FOR_CIRCLE
    is_dash = mark.bullet == "–" and characters[first] in TAKEN_FOR_DASH and mark.gap < float("inf")
    if is_alone and (is_circle or is_dash) and mark.gap >= MIN_LETTER_GAP * height:
        return first + 1, mark.bullet
    return None
