"""Reads line crops: a CTC network cut before its classifier gives a feature vector per frame, the classifier
its character.

Knows crops 48 pixels high and nothing of pages. What a crop gives depends on its own pixels alone: crops are
padded to a width that follows from their own width, never from the batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ocr_app.models.embedded.ink import column_ink, stroke_width
from ocr_app.models.embedded.marks import bullet_for, leading_mark
from ocr_app.models.embedded.open_once import open_once
from ocr_app.models.embedded.runs import RunSpan, find_wide_gaps, run_edges, split_runs
from ocr_app.models.embedded.weights import open_network

LINE_HEIGHT_PX = 48
FRAME_PX = 8  # one feature vector per this many pixels
MAX_WIDTH_PX = 3200  # the widest the network was trained for
WIDTH_STEP_PX = 32
MAX_BATCH_PX = 8 * 1024  # summed widths of a batch: keeps memory flat, wide crops go alone
CLASSIFIER_FRAMES = 256  # rows per matrix product, so that its result stays in the cache
BLANK = 0


@dataclass(frozen=True, slots=True, eq=False)
class ReadLine:
    """What one crop says."""

    characters: str
    probabilities: tuple[float, ...]
    spans: tuple[RunSpan, ...]
    edges: tuple[tuple[float, float], ...]  # left and right of each run, in pixels of the crop
    features: np.ndarray  # (num_runs, 3 * D) float32: mean, first and last of each run's character frames
    width_px: int
    stroke: float  # mean thickness of its strokes, as a share of the crop's height

    def text_of(self, span: RunSpan) -> str:
        return self.characters[span.first : span.last + 1]

    def confidence_of(self, span: RunSpan) -> float:
        probabilities = self.probabilities[span.first : span.last + 1]
        return sum(probabilities) / len(probabilities)


@dataclass(frozen=True, slots=True, eq=False)
class Frames:
    """The frames of a crop, or of a piece of it, that begin a character."""

    classes: np.ndarray  # (n,) int, indices into the dictionary
    places: np.ndarray  # (n,) frame numbers
    probabilities: np.ndarray  # (n,)
    features: np.ndarray  # (n, D)


ReadBatch = Callable[[list[np.ndarray]], list[Frames]]


class LineRecogniser:
    """Text and features of line crops, by the tiny network."""

    def __init__(self, network: Path, classifier: Path, characters: Path, threads: int) -> None:
        self._network = open_network(network, threads)
        self._weight, self._bias = _open_classifier(classifier)
        # Not splitlines(): some entries are themselves unusual line separators.
        entries = [entry for entry in characters.read_text(encoding="utf-8").split("\n") if entry]
        self._characters = ["", *entries, " "]
        assert len(self._characters) == len(self._bias), "dictionary and classifier differ in length"

    def read(self, crops: list[np.ndarray]) -> list[ReadLine]:
        """Read RGB crops (48, W, 3), any width; the answer is in the order given."""
        return read_lines(crops, self._characters, self.read_batch)

    def read_batch(self, crops: list[np.ndarray]) -> list[Frames]:
        """Read crops that share a padded width."""
        return self.classify_batch(self.batch_features(crops), crops)

    def batch_features(self, crops: list[np.ndarray]) -> np.ndarray:
        """Features (B, T, D) of crops that share a padded width."""
        return self._network.run(None, {"x": network_input(crops)})[0]

    def classify_batch(self, features: np.ndarray, crops: list[np.ndarray]) -> list[Frames]:
        """The characters in features of those crops."""
        return [self._classify(line[: num_frames(crop)]) for line, crop in zip(features, crops, strict=True)]

    def _classify(self, features: np.ndarray) -> Frames:
        starts = range(0, len(features), CLASSIFIER_FRAMES)
        logits = (
            np.concatenate([features[start : start + CLASSIFIER_FRAMES] @ self._weight for start in starts])
            + self._bias
        )
        classes = logits.argmax(axis=1)
        places = character_frames(classes)
        return Frames(classes[places], places, _top_probability(logits[places]), features[places])


@open_once
def _open_classifier(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Weight (D, classes) and bias (classes,) of the last layer."""
    with np.load(path) as arrays:
        return arrays["weight"], arrays["bias"]


def read_lines(crops: list[np.ndarray], characters: list[str], read_batch: ReadBatch) -> list[ReadLine]:
    """Read crops of any width in batches of equal padded width; a crop too wide for the network is read in
    pieces and joined.
    """
    pieces = [
        (index, start, piece) for index, crop in enumerate(crops) for start, piece in cut_wide_crop(crop)
    ]
    parts: list[dict[int, Frames]] = [{} for _ in crops]  # of each crop, by the left edge of the piece
    for batch in make_batches([piece.shape[1] for _, _, piece in pieces]):
        for place, frames in zip(batch, read_batch([pieces[place][2] for place in batch]), strict=True):
            index, start, _ = pieces[place]
            parts[index][start] = frames
    return [_read_line(of_crop, characters, crop) for of_crop, crop in zip(parts, crops, strict=True)]


def network_input(crops: list[np.ndarray]) -> np.ndarray:
    """Crops that share a padded width as (B, 3, 48, W) float32 between -1 and 1, padded with 0."""
    batch = np.zeros((len(crops), 3, LINE_HEIGHT_PX, padded_width(crops[0].shape[1])), np.float32)
    for row, crop in zip(batch, crops, strict=True):
        inside = row[:, :, : crop.shape[1]]
        inside[:] = crop[:, :, ::-1].transpose(2, 0, 1)  # the network learned on BGR
        inside *= 2 / 255
        inside -= 1
    return batch


def num_frames(crop: np.ndarray) -> int:
    """Frames that see the crop and not only its padding."""
    return -(-crop.shape[1] // FRAME_PX)


def character_frames(classes: np.ndarray) -> np.ndarray:
    """Frames that begin a character: not blank and unlike the frame before."""
    begins = classes != BLANK
    begins[1:] &= classes[1:] != classes[:-1]
    return np.flatnonzero(begins)


def _read_line(parts: dict[int, Frames], characters: list[str], crop: np.ndarray) -> ReadLine:
    """Join the pieces of one crop and cut the line into runs."""
    found = [parts[start] for start in sorted(parts)]
    centres = np.concatenate([(parts[start].places + 0.5) * FRAME_PX + start for start in sorted(parts)])
    text = [characters[index] for frames in found for index in frames.classes]
    probabilities = np.concatenate([frames.probabilities for frames in found])
    vectors = np.concatenate([frames.features for frames in found])
    text, centres, probabilities, vectors = _with_bullet(text, centres, probabilities, vectors, crop)
    ink = column_ink(crop)
    spans = split_runs(text, find_wide_gaps(text, centres, ink))
    features = (
        np.stack([_run_features(vectors, span) for span in spans])
        if spans
        else np.zeros((0, 3 * vectors.shape[1]), np.float32)
    )
    edges = run_edges(spans, centres.tolist(), ink)
    return ReadLine(
        "".join(text),
        tuple(probabilities.tolist()),
        tuple(spans),
        tuple(edges),
        features,
        crop.shape[1],
        stroke_width(crop),
    )


def _with_bullet(
    text: list[str], centres: np.ndarray, probabilities: np.ndarray, vectors: np.ndarray, crop: np.ndarray
) -> tuple[list[str], np.ndarray, np.ndarray, np.ndarray]:
    """The characters with the bullet before them that was not read, or not as one; it takes over the features
    read at its place.
    """
    mark = leading_mark(crop)
    mended = mark and bullet_for(text, centres, mark, LINE_HEIGHT_PX)
    if not mark or not mended:
        return text, centres, probabilities, vectors
    num_replaced, bullet = mended
    if not text:  # nothing at all was read: there are no features to take over
        probabilities, vectors = np.ones(1, np.float32), np.zeros((1, vectors.shape[1]), np.float32)
    source = max(0, num_replaced - 1)
    places = [max(0.0, mark.right - FRAME_PX / 2), mark.right + FRAME_PX / 2]
    return (
        [bullet, " ", *text[num_replaced:]],
        np.concatenate([places, centres[num_replaced:]]),
        np.concatenate([probabilities[[source, source]], probabilities[num_replaced:]]),
        np.concatenate([vectors[[source, source]], vectors[num_replaced:]]),
    )


def padded_width(width_px: int) -> int:
    """Depends on the crop alone, so that its features do not depend on the batch."""
    return max(1, -(-width_px // WIDTH_STEP_PX)) * WIDTH_STEP_PX


def make_batches(widths: list[int]) -> list[list[int]]:
    """Indices grouped by padded width, each group cut to a bounded number of pixels."""
    by_width: dict[int, list[int]] = {}
    for index, width in enumerate(widths):
        by_width.setdefault(padded_width(width), []).append(index)
    batches = []
    for width, indices in sorted(by_width.items()):
        size = max(1, MAX_BATCH_PX // width)
        batches += [indices[start : start + size] for start in range(0, len(indices), size)]
    return batches


def cut_wide_crop(crop: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Pieces of at most MAX_WIDTH_PX with their left edge, cut where the crop is plainest near the limit."""
    pieces, start = [], 0
    while crop.shape[1] - start > MAX_WIDTH_PX:
        search_from = start + MAX_WIDTH_PX // 2
        contrast = np.ptp(crop[:, search_from : start + MAX_WIDTH_PX].astype(np.int16), axis=(0, 2))  # (W,)
        plain = np.convolve(contrast, np.ones(LINE_HEIGHT_PX // 2), mode="same")
        cut = search_from + int(plain.argmin())
        pieces.append((start, crop[:, start:cut]))
        start = cut
    return [*pieces, (start, crop[:, start:])]


def _run_features(vectors: np.ndarray, span: RunSpan) -> np.ndarray:
    mine = vectors[span.first : span.last + 1]
    return np.concatenate([mine.mean(axis=0), mine[0], mine[-1]])


def _top_probability(logits: np.ndarray) -> np.ndarray:
    """Softmax at the largest logit of each row."""
    if not len(logits):
        return np.zeros(0, np.float32)
    return 1 / np.exp(logits - logits.max(axis=1, keepdims=True)).sum(axis=1)
