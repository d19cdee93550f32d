"""Rows and columns of a table, by the grid network of PyMuPDF (`pymupdf.layout`, table_grid_model_v4_ep)."""

from pathlib import Path

import numpy as np

from ocr_app.models.embedded.weights import open_network
from ocr_app.types import Box, TableGrid

ROW_THRESHOLD, COLUMN_THRESHOLD = 0.2, 0.25  # as upstream uses this network
MIN_DISTANCE = 0.01  # of the table's side, between two lines


class GridNetwork:
    """The table-grid network of the installed pymupdf. One table at a time."""

    def __init__(self, threads: int) -> None:
        from pymupdf import layout

        folder = Path(layout.__file__).parent / "resources" / "onnx"
        self._network = open_network(folder / "table_grid_model_v4_ep.onnx", threads)
        _, _, self._height, self._width = self._network.get_inputs()[0].shape

    def see(self, pixels: np.ndarray, box: Box) -> TableGrid:
        """The grid of the table in a box on an RGB page (H, W, 3)."""
        import cv2

        left, top, right, bottom = int(box[0]), int(box[1]), int(np.ceil(box[2])), int(np.ceil(box[3]))
        crop = cv2.resize(
            pixels[top:bottom, left:right], (self._width, self._height), interpolation=cv2.INTER_AREA
        )
        image = np.ascontiguousarray(crop.transpose(2, 0, 1)[None], np.float32) / 255
        row_logits, row_offsets, column_logits, column_offsets = self._network.run(None, {"image": image})[:4]
        rows = _line_positions(row_logits[0], row_offsets[0], ROW_THRESHOLD)
        columns = _line_positions(column_logits[0], column_offsets[0], COLUMN_THRESHOLD)
        return TableGrid(
            (float(left), float(top), float(right), float(bottom)),
            tuple(top + share * (bottom - top) for share in rows),
            tuple(left + share * (right - left) for share in columns),
        )


def _line_positions(logits: np.ndarray, offsets: np.ndarray, threshold: float) -> list[float]:
    """Places of lines as shares of the side, best first where two are too near each other; sorted."""
    anchors = np.linspace(0.0, 1.0, len(logits))
    places = anchors + offsets / (len(logits) - 1)
    probabilities = 1 / (1 + np.exp(-logits.astype(np.float64)))
    kept: list[float] = []
    for index in np.argsort(-probabilities):
        if probabilities[index] < threshold:
            break
        if all(abs(places[index] - other) >= MIN_DISTANCE for other in kept):
            kept.append(float(places[index]))
    return sorted(kept)
