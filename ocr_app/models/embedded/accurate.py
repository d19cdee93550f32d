"""The accurate recogniser: text by PP-OCRv6 small, features by the tiny network, so that a decoder trained on
tiny reads both alike.

The small weights lie in the installed rapidocr package. Small and tiny share one grid of frames, so a
character that small reads takes the features of the nearest frame in which tiny reads one.
"""

from pathlib import Path

import numpy as np

from ocr_app.models.embedded.recogniser import (
    Frames,
    LineRecogniser,
    ReadLine,
    character_frames,
    network_input,
    num_frames,
    read_lines,
)
from ocr_app.models.embedded.weights import open_network


class AccurateRecogniser:
    """Text of line crops by the small network, features by the tiny one."""

    def __init__(self, network: Path, tiny: LineRecogniser, threads: int) -> None:
        self._network = open_network(network, threads)
        self._tiny = tiny
        entries = self._network.get_modelmeta().custom_metadata_map["character"].split("\n")
        num_classes = self._network.get_outputs()[0].shape[-1]
        self._characters = ["", *entries[: num_classes - 2], " "]
        assert len(self._characters) == num_classes, "dictionary and classifier differ in length"

    def read(self, crops: list[np.ndarray]) -> list[ReadLine]:
        """Read RGB crops (48, W, 3), any width; the answer is in the order given."""
        return read_lines(crops, self._characters, self._read_batch)

    def _read_batch(self, crops: list[np.ndarray]) -> list[Frames]:
        probabilities = self._network.run(None, {"x": network_input(crops)})[0]  # (B, T, classes)
        features = self._tiny.batch_features(crops)  # (B, T, D)
        lines = zip(probabilities, features, self._tiny.classify_batch(features, crops), crops, strict=True)
        return [
            _align(scores[: num_frames(crop)], vectors, tiny.places) for scores, vectors, tiny, crop in lines
        ]


def _align(scores: np.ndarray, vectors: np.ndarray, tiny_places: np.ndarray) -> Frames:
    """Characters of the small network with the features of the nearest frame in which the tiny one reads a
    character.
    """
    classes = scores.argmax(axis=1)
    places = character_frames(classes)
    if len(tiny_places):
        nearest = np.abs(places[:, None] - tiny_places[None]).argmin(axis=1)
        vectors = vectors[tiny_places[nearest]]
    else:
        vectors = vectors[places]
    return Frames(classes[places], places, scores[places, classes[places]], vectors)
