"""Where a page has pictures: ink that belongs to no line of text and is more than rules. Plain image
processing, no model.

Pictures are cut out for the person to keep; they are not read. Frames and the rules of tables are no
pictures, nor is a tint behind text.
"""

from collections.abc import Sequence

import numpy as np

from ocr_app.types import Box, PageImage

WORK_DPI = 75
MIN_INK = 60  # grey levels from the paper
MERGE_IN = 0.14  # inches: ink nearer than this is one picture
MIN_SIDE_IN = 0.45
MIN_INK_SHARE = 0.015  # of the box
MAX_TEXT_SHARE = 0.35  # of the box covered by lines of text: beyond, it is a frame or a tint
RULE_IN = 0.4  # inches: straight ink of this length is a rule
MAX_RULE_SHARE = 0.8  # of the ink
EDGE_SHARE = 0.05  # of the page: thinner ink along its edge is the scanner's shadow
MAX_FIGURES = 20


def find_figures(image: PageImage, lines: Sequence[Box]) -> tuple[Box, ...]:
    """Boxes of the pictures on a page, in its pixels, from top to bottom; `lines` are boxes of its text."""
    import cv2

    scale = min(1.0, WORK_DPI / image.dpi)
    dpi = image.dpi * scale
    if min(image.width_px, image.height_px) < MIN_SIDE_IN * image.dpi:
        return ()
    pixels = (
        cv2.resize(image.pixels, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        if scale < 1
        else image.pixels
    )
    lines = [tuple(side * scale for side in line) for line in lines]
    ink = _ink_beside_text(pixels, lines)
    found = [box for box in _clusters(ink, round(MERGE_IN * dpi)) if _is_picture(ink, box, lines, dpi)]
    outer = [box for box in found if not any(_contains(other, box) for other in found if other != box)]
    largest = sorted(outer, key=_area, reverse=True)[:MAX_FIGURES]
    size = (image.width_px, image.height_px, image.width_px, image.height_px)
    boxes = [
        tuple(min(side / scale, limit) for side, limit in zip(box, size, strict=True)) for box in largest
    ]
    return tuple(sorted(boxes, key=lambda box: (box[1], box[0])))


def _ink_beside_text(pixels: np.ndarray, lines: Sequence[Box]) -> np.ndarray:
    """(H, W) uint8: 1 where the page is not paper and no line of text lies."""
    paper = _paper_colour(pixels.reshape(-1, 3)[::7])
    ink = (np.abs(pixels.astype(np.int16) - paper.astype(np.int16)).max(2) > MIN_INK).astype(np.uint8)
    for x0, y0, x1, y1 in lines:
        margin = 0.2 * (y1 - y0)
        ink[
            max(0, int(y0 - margin)) : int(y1 + margin) + 1, max(0, int(x0 - margin)) : int(x1 + margin) + 1
        ] = 0
    return ink


def _paper_colour(sample: np.ndarray) -> np.ndarray:
    """The commonest colour: paper is even where pictures vary, though they may cover most of the page."""
    shade = sample.mean(1).astype(np.int64) // 16
    return np.median(sample[shade == np.bincount(shade).argmax()], axis=0)


def _clusters(ink: np.ndarray, reach: int) -> list[tuple[int, int, int, int]]:
    """Boxes around ink that lies together."""
    import cv2

    joined = cv2.morphologyEx(np.pad(ink, reach), cv2.MORPH_CLOSE, np.ones((reach, reach), np.uint8))[
        reach:-reach, reach:-reach
    ]
    stats = cv2.connectedComponentsWithStats(np.ascontiguousarray(joined))[2][1:]
    return [(int(x), int(y), int(x + width), int(y + height)) for x, y, width, height, _ in stats]


def _is_picture(ink: np.ndarray, box: tuple[int, int, int, int], lines: Sequence[Box], dpi: float) -> bool:
    x0, y0, x1, y1 = box
    if min(x1 - x0, y1 - y0) < MIN_SIDE_IN * dpi or _is_edge_shadow(box, ink.shape):
        return False
    part = ink[y0:y1, x0:x1]
    if part.mean() < MIN_INK_SHARE:
        return False
    covered = sum(_overlap(box, line) for line in lines)
    return covered < MAX_TEXT_SHARE * _area(box) and _rule_share(part, round(RULE_IN * dpi)) < MAX_RULE_SHARE


def _is_edge_shadow(box: tuple[int, int, int, int], shape: tuple[int, ...]) -> bool:
    (x0, y0, x1, y1), (height, width) = box, shape
    along_side = (x0 <= 1 or x1 >= width - 1) and x1 - x0 < EDGE_SHARE * width
    along_end = (y0 <= 1 or y1 >= height - 1) and y1 - y0 < EDGE_SHARE * height
    return along_side or along_end


def _rule_share(ink: np.ndarray, length: int) -> float:
    """Share of the ink that lies in straight thin rules along or across the page. A filled area is none."""
    import cv2

    is_solid = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((5, 5), np.uint8)) > 0
    along = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((1, length), np.uint8)) > 0
    across = cv2.morphologyEx(ink, cv2.MORPH_OPEN, np.ones((length, 1), np.uint8)) > 0
    return float(((along | across) & ~is_solid).sum() / max(1, ink.sum()))


def _contains(outer: Box, inner: Box) -> bool:
    return _overlap(outer, inner) > 0.9 * _area(inner)


def _area(box: Box) -> float:
    return (box[2] - box[0]) * (box[3] - box[1])


def _overlap(first: Box, second: Box) -> float:
    width = min(first[2], second[2]) - max(first[0], second[0])
    height = min(first[3], second[3]) - max(first[1], second[1])
    return max(0.0, width) * max(0.0, height)
