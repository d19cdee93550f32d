"""What PyMuPDF's layout network says of a page: the class of each line, which lines belong together, and
pictures.

The network (`pymupdf.layout`, BoxRFDGNN) classifies boxes of text by their places, their letters and a coarse
picture of the page. It is given our own lines, never those that MuPDF would join over a narrow gutter: the
lines are set as text on an empty page of the same size, whose structured text its geometric features are
taken from, and the picture is the page image itself. Nothing here decides anything: probabilities go out.
"""

from pathlib import Path

import numpy as np

from ocr_app.models.embedded.weights import open_network
from ocr_app.types import Box, PageLayout

CLASSES = (  # in the order of the network's outputs
    "text",
    "title",
    "picture",
    "table",
    "list-item",
    "page-header",
    "page-footer",
    "section-header",
    "footnote",
    "caption",
    "formula",
)
POINTS_PER_INCH = 72.0
MAX_LINES = 1500  # time grows with the square: beyond this the page is told to have no layout
FIRST_CJK = 0x2E80
LETTER_SIZE = {
    "helv": 0.8,
    "china-s": 1.0,
}  # of a line's height, which reaches from its ascenders to its descenders
MIN_SIDE = 0.5  # points: the network takes logarithms of the sides of boxes
DESCENT = 0.22  # of a line's height, below its base line


NO_LAYOUT = PageLayout(
    np.zeros((0, len(CLASSES)), np.float32), np.zeros((0, 2), np.int64), np.zeros(0, np.float32)
)


class LayoutNetwork:
    """The layout network of the installed pymupdf. One page at a time."""

    def __init__(self, threads: int) -> None:
        import yaml
        from pymupdf import layout
        from pymupdf.layout.onnx.ImageFeatureExtractorV1 import ImageFeatureExtractorV1

        folder = Path(layout.__file__).parent / "resources" / "onnx"
        self._picture = ImageFeatureExtractorV1(open_network(folder / "feature_imf1.onnx", threads))
        self._network = open_network(folder / "layout_rf2.4.1+imf1.onnx", threads)
        self._settings = yaml.safe_load((folder / "layout_rf2.4.1+imf1.yaml").read_text(encoding="utf-8"))
        assert tuple(self._settings["data"]["class_list"]) == CLASSES, "pymupdf.layout has other classes"

    def see(self, pixels: np.ndarray, dpi: float, boxes: list[Box], texts: list[str]) -> PageLayout:
        """Classify lines of an RGB page (H, W, 3), given their boxes in its pixels and their texts."""
        scale = POINTS_PER_INCH / dpi
        picture = _at_72_dpi(pixels, scale)
        self._picture.predict(picture)
        pictures = tuple(_scaled(box, 1 / scale) for box in self._picture.get_picture_detections())
        if not boxes or len(boxes) > MAX_LINES:
            return PageLayout(NO_LAYOUT.classes, NO_LAYOUT.links, NO_LAYOUT.link_probabilities, pictures)
        data = self._describe(picture, [_with_area(_scaled(box, scale)) for box in boxes], texts)
        nodes, edges, links = self._run(data)
        return PageLayout(
            _softmax(nodes), links, _softmax(edges)[:, 1] if len(links) else np.zeros(0), pictures
        )

    def _describe(self, picture: np.ndarray, boxes: list[Box], texts: list[str]) -> dict:
        """The dictionary that `pymupdf.layout` builds from a PDF page, from our lines."""
        from pymupdf.layout.pymupdf_util_base import make_custom_feature
        from pymupdf.layout.pymupdf_util_rf import extract_rf_features

        height, width = picture.shape[:2]
        data = {
            "bboxes": [list(box) for box in boxes],
            "text": texts,
            "box_type": ["text"] * len(boxes),
            "custom_features": [make_custom_feature("text", text) for text in texts],
            "page_width": width,
            "page_height": height,
            "image": picture,
            "feature_map": self._picture.get_feature_map(),
            "class_logits": self._picture.get_class_logits(),
        }
        document, stext = _typeset(boxes, texts, width, height)
        with document:
            extract_rf_features(data, stext)
        return data

    def _run(self, data: dict) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from pymupdf.layout.onnx.BoxRFDGNN import get_nn_input_from_datadict

        x, edge_index, edge_attr, _, _, geometric, letters, pooled, _ = get_nn_input_from_datadict(
            data, self._settings
        )
        num_lines = len(data["bboxes"])
        inputs = {
            "x": x,
            "edge_index": edge_index,
            "edge_attr": edge_attr,
            "rf_features": geometric,
            "k": np.array(min(num_lines, 20), np.int64),
            "text_patterns": letters,
            "image_features": pooled,
            "batch": np.zeros(num_lines, np.int64),
        }
        wanted = {value.name for value in self._network.get_inputs()}
        nodes, edges = self._network.run(None, {name: inputs[name] for name in wanted})
        return nodes, edges, edge_index.T


def _at_72_dpi(pixels: np.ndarray, scale: float) -> np.ndarray:
    """The page image in points, as the network learned to see it."""
    import cv2

    height, width = pixels.shape[:2]
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    return cv2.resize(pixels, size, interpolation=cv2.INTER_AREA)


def _typeset(boxes: list[Box], texts: list[str], width: int, height: int):
    """An empty page with each line set in its box, and its structured text.

    Each line is stretched to the width of its box: the network's geometric features are worked out from the
    places of letters, and with lines that end early its classes are wrong for more than half of the lines (of
    16 real pages 0.45 agree with the classes of the page's own text layer; stretched 0.98).
    """
    import pymupdf

    document = pymupdf.open()
    page = document.new_page(width=width, height=height)
    shape = page.new_shape()  # written once, not line by line
    fonts = {"helv": pymupdf.Font("helv"), "china-s": pymupdf.Font("china-s")}
    for (x0, y0, x1, y1), text in zip(boxes, texts, strict=True):
        name = "china-s" if any(ord(character) >= FIRST_CJK for character in text) else "helv"
        size = max(1.0, LETTER_SIZE[name] * (y1 - y0))
        start = pymupdf.Point(x0, y1 - DESCENT * (y1 - y0))
        stretch = (x1 - x0) / max(size * fonts[name].text_length(text, fontsize=1), 1e-3)
        morph = (start, pymupdf.Matrix(max(stretch, 0.01), 1))
        shape.insert_text(start, text, fontsize=size, fontname=name, morph=morph)
    shape.commit()
    flags = (
        pymupdf.TEXT_PRESERVE_WHITESPACE
        | pymupdf.TEXT_PRESERVE_LIGATURES
        | pymupdf.TEXT_ACCURATE_BBOXES
        | pymupdf.TEXT_COLLECT_STYLES
        | pymupdf.TEXT_PARAGRAPH_BREAK
        | pymupdf.TEXT_COLLECT_STRUCTURE
        | pymupdf.TEXT_CLIP
    )
    return document, page.get_textpage(flags=flags)


def _scaled(box: Box, scale: float) -> Box:
    x0, y0, x1, y1 = box
    return x0 * scale, y0 * scale, x1 * scale, y1 * scale


def _with_area(box: Box) -> Box:
    x0, y0, x1, y1 = box
    return x0, y0, max(x1, x0 + MIN_SIDE), max(y1, y0 + MIN_SIDE)


def _softmax(logits: np.ndarray) -> np.ndarray:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return (powers / powers.sum(axis=1, keepdims=True)).astype(np.float32)
