"""Finds lines of text on a page: a DB network and rapidocr's box post-processing. Knows nothing of characters."""

from pathlib import Path

import numpy as np

from ocr_app.models.embedded.weights import open_network

SIDE_STEP_PX = 32  # the network wants multiples of this
MAX_SIDE_PX = 1280  # the longer side of what the network sees; measured, see bench encoder
MIN_SIDE_PX = 32
MAX_LINES = 3000


class LineDetector:
    """Line boxes of a page image."""

    def __init__(self, path: Path, threads: int, max_side_px: int = MAX_SIDE_PX) -> None:
        from rapidocr.ch_ppocr_det.utils import DBPostProcess

        self._network = open_network(path, threads)
        self._max_side_px = max_side_px
        self._find_boxes = DBPostProcess(thresh=0.3, box_thresh=0.5, max_candidates=MAX_LINES, unclip_ratio=1.6, use_dilation=True)

    def detect(self, pixels: np.ndarray) -> np.ndarray:
        """Corners of each line of an RGB page, (N, 4, 2) float32, from the top left clockwise; N may be 0."""
        height, width = pixels.shape[:2]
        probabilities = self._network.run(None, {"x": self._to_input(pixels)})[0]  # (1, 1, h, w)
        boxes, _ = self._find_boxes(probabilities, (height, width))
        return np.asarray(boxes, np.float32).reshape(-1, 4, 2)

    def _to_input(self, pixels: np.ndarray) -> np.ndarray:
        import cv2

        height, width = pixels.shape[:2]
        scale = min(1.0, self._max_side_px / max(height, width))
        size = (_network_side(width * scale), _network_side(height * scale))
        method = cv2.INTER_AREA if scale < 1 else cv2.INTER_LINEAR
        scaled = cv2.resize(pixels, size, interpolation=method)[:, :, ::-1]  # the network learned on BGR
        return np.ascontiguousarray(scaled.transpose(2, 0, 1)[None], np.float32) * (2 / 255) - 1


def _network_side(side_px: float) -> int:
    return max(MIN_SIDE_PX, round(side_px / SIDE_STEP_PX) * SIDE_STEP_PX)
