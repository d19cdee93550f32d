"""Bullets and item numbers that the detector leaves out: a lone mark in the white space before a line, which
is widened to take it in.

The detector was trained on words and passes over single dots, dashes and the like of "(i)"; without them a
list is a row of paragraphs. What the mark is, the recogniser says, as of any other character.
"""

import numpy as np

from ocr_app.models.embedded.ink import INK_SHARE

REACH = 3.2  # line heights to the left in which a mark may stand
BOX_OVERLAP = 0.4  # line heights by which the boxes of two lines of one row may overlap
MIN_GAP = 0.25  # line heights of white between mark and text
MARK_HEIGHTS = (0.025, 0.85)  # line heights
MARK_WIDTHS = (0.12, 1.1)
CENTRE_ROWS = (0.25, 0.8)  # of the line's height, between which the middle of a mark lies
OVERLAP = 0.15  # line heights of the line itself that are looked at too: the detector draws its boxes wide
MARGIN = 0.3  # line heights of white kept before the mark
MIN_CONTRAST = 40  # grey levels
MIN_CONTRAST_SHARE = 0.48  # of the contrast of the text behind the mark: dust and stains are paler
MIN_OUTLINE_SHARE = 0.25  # the same for outlines as large as letters: their lines are thin
OUTLINE_SIZE = 0.35  # line heights, across and down
OUTLINE_FILL = 0.6  # of the box of an outline is inked, at most
TEXT_SEEN = 6.0  # line heights of that text
MAX_STRAY_BLOTS = 2  # specks and pieces of other lines that may stand beside a mark
NUMBER_HEIGHTS = (0.4, 1.0)  # line heights
MAX_NUMBER_WIDTH = 2.2  # line heights
MAX_NUMBER_BLOTS = 6  # pieces of ink
MAX_LETTER_GAP = 0.35  # line heights between them
MIN_ROWS = 6
MIN_PIXELS = 3


def take_in_bullets(pixels: np.ndarray, quads: np.ndarray) -> np.ndarray:
    """Corners (L, 4, 2) of lines, clockwise from the top left, in pixels (H, W, 3); lines with a mark before
    them now begin with it.
    """
    if not len(quads):
        return quads
    widened = quads.copy()
    left, right = quads[:, :, 0].min(1), quads[:, :, 0].max(1)
    top, bottom = quads[:, :, 1].min(1), quads[:, :, 1].max(1)
    for index in range(len(quads)):
        x0, y0, y1 = left[index], top[index], bottom[index]
        height = y1 - y0
        is_beside = (
            (left < x0)
            & (right <= x0 + BOX_OVERLAP * height)
            & (np.minimum(bottom, y1) - np.maximum(top, y0) > 0.3 * height)
        )
        start = max(0.0, x0 - REACH * height, right[is_beside].max() if is_beside.any() else 0.0)
        rows = pixels[int(y0) : int(y1) + 1]
        text_from, contrast = _first_ink(
            rows[:, int(x0) : int(min(right[index], x0 + TEXT_SEEN * height))].mean(2)
        )
        text_from += int(x0) - int(start)
        mark = _lone_mark(rows[:, int(start) : int(x0 + OVERLAP * height)], height, text_from, contrast)
        if mark is None:
            continue
        at = int(start) + mark + 1
        is_found = (
            (left <= at) & (right > at) & (top < y1) & (bottom > y0)
        )  # a line of its own, a little higher or lower
        if not is_found.any():
            widened[index, [0, 3], 0] = max(0.0, int(start) + mark - MARGIN * height)
    return widened


def _first_ink(text: np.ndarray) -> tuple[int, float]:
    """The first column with ink in a grey line (H, W), and how far the darkest ink lies from the paper; (0,
    0) for an empty one.
    """
    if not text.size:
        return 0, 0.0
    paper = float(np.median(text))
    contrast = paper - float(text.min())
    return int((text < paper - INK_SHARE * contrast).any(0).argmax()) if contrast else 0, contrast


def _lone_mark(margin: np.ndarray, height: float, text_from: int, text_contrast: float) -> int | None:
    """Left edge of the only ink in the white space before a line, where that is small, in the middle, and
    apart from the text.
    """
    import cv2

    rows, columns = margin.shape[:2]
    if rows < MIN_ROWS or columns < 2 * MIN_GAP * height:
        return None
    grey = margin.mean(2)
    paper, darkest = np.median(grey), grey.min()
    contrast = paper - darkest
    if contrast < max(MIN_CONTRAST, MIN_OUTLINE_SHARE * text_contrast):
        return None
    stats = cv2.connectedComponentsWithStats((grey < paper - INK_SHARE * contrast).astype(np.uint8))[2][1:]
    blots = [blot for blot in stats.tolist() if blot[4] >= MIN_PIXELS]  # left, top, width, height, pixels
    # ink that enters from above, below or the right belongs to the lines there; from the left comes a rule or
    # a word
    inner = [
        blot for blot in blots if blot[1] > 0 and blot[1] + blot[3] < rows and blot[0] + blot[2] < columns
    ]
    if any(blot[0] == 0 for blot in blots) or len(blots) > len(inner) + MAX_STRAY_BLOTS:
        return None
    is_dark = contrast >= MIN_CONTRAST_SHARE * text_contrast
    if len(inner) != 1:
        return _number(inner, height, text_from) if is_dark else None
    left, top, width, tall, num_pixels = inner[0]
    is_small = (
        MARK_HEIGHTS[0] * height <= tall <= MARK_HEIGHTS[1] * height
        and MARK_WIDTHS[0] * height <= width <= MARK_WIDTHS[1] * height
    )
    is_central = CENTRE_ROWS[0] * height <= top + tall / 2 <= CENTRE_ROWS[1] * height
    is_outline = min(tall, width) >= OUTLINE_SIZE * height and num_pixels < OUTLINE_FILL * tall * width
    is_apart = text_from - (left + width) >= MIN_GAP * height
    return left if is_small and is_central and is_apart and (is_dark or is_outline) else None


def _number(blots: list[list[int]], height: float, text_from: int) -> int | None:
    """Left edge of an item's number of a few characters: close to each other, as high as text, and apart from
    it.
    """
    if not 1 < len(blots) <= MAX_NUMBER_BLOTS:
        return None
    ordered = sorted(blots)
    lefts, rights = (
        [blot[0] for blot in ordered],
        np.maximum.accumulate([blot[0] + blot[2] for blot in ordered]).tolist(),
    )
    tall = max(blot[1] + blot[3] for blot in blots) - min(blot[1] for blot in blots)
    is_text = (
        NUMBER_HEIGHTS[0] * height <= tall <= NUMBER_HEIGHTS[1] * height
        and rights[-1] - lefts[0] <= MAX_NUMBER_WIDTH * height
    )
    is_close = all(
        left - right <= MAX_LETTER_GAP * height for right, left in zip(rights, lefts[1:], strict=False)
    )
    return lefts[0] if is_text and is_close and text_from - rights[-1] >= MIN_GAP * height else None
