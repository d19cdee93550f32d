"""Finds lines of text on a page: a DB network and rapidocr's box post-processing. Knows nothing of
characters.
"""

from pathlib import Path

import numpy as np

from ocr_app.models.embedded.weights import open_network

SIDE_STEP_PX = 32  # the network wants multiples of this
# What the network sees of a page. On 26 pages at 150 dpi, 960 pixels lost lines, and 1280 read as well as
# 1440 and 1760 in less time.
DETECTOR_DPI = 110
MIN_LONG_SIDE_PX = 1280  # where the page has as many: dpi may be a guess
MAX_LONG_SIDE_PX = 2048
MAX_LINES = 3000


class LineDetector:
    """Line boxes of a page image."""

    def __init__(self, path: Path, threads: int) -> None:
        from rapidocr.ch_ppocr_det.utils import DBPostProcess

        self._network = open_network(path, threads)
        self._find_boxes = DBPostProcess(
            thresh=0.3, box_thresh=0.5, max_candidates=MAX_LINES, unclip_ratio=1.6, use_dilation=True
        )

    def detect(self, pixels: np.ndarray, dpi: float) -> np.ndarray:
        """Corners of each line of an RGB page, (N, 4, 2) float32, from the top left clockwise; N may be 0."""
        height, width = pixels.shape[:2]
        probabilities = self._network.run(None, {"x": _to_input(pixels, dpi)})[0]  # (1, 1, h, w)
        boxes, _ = self._find_boxes(probabilities, (height, width))
        return np.asarray(boxes, np.float32).reshape(-1, 4, 2)


def _to_input(pixels: np.ndarray, dpi: float) -> np.ndarray:
    """The page as the network wants it, (1, 3, h, w) float32 between -1 and 1, shrunk where it is larger than
    needed.
    """
    import cv2

    height, width = pixels.shape[:2]
    long_side = max(height, width)
    scale = min(1.0, np.clip(long_side * DETECTOR_DPI / dpi, MIN_LONG_SIDE_PX, MAX_LONG_SIDE_PX) / long_side)
    size = (_network_side(width * scale), _network_side(height * scale))
    scaled = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR)
    return (
        np.ascontiguousarray(scaled[:, :, ::-1].transpose(2, 0, 1)[None], np.float32) * np.float32(2 / 255)
        - 1
    )  # learned on BGR


def _network_side(side_px: float) -> int:
    return max(SIDE_STEP_PX, round(side_px / SIDE_STEP_PX) * SIDE_STEP_PX)
