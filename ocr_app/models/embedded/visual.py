"""From an encoded page to the reader's visual tokens: what it is told of each run's place, neighbours and
letters.

Lengths are measured in the page's median line height or in page widths, so that resolution and print size do
not matter.
"""

from dataclasses import dataclass

import numpy as np

from ocr_app.models.embedded.grids import Span
from ocr_app.models.embedded.hints import (
    NUM_COLUMN_FEATURES,
    NUM_HINT_FEATURES,
    PageHints,
    column_features,
    column_steps,
    hint_features,
    page_hints,
)
from ocr_app.models.embedded.letters import (
    BULLETS,
    CAPTION_WORD,
    HYPHENS,
    ITEM_NUMBER,
    SECTION_NUMBER,
    SENTENCE_ENDS,
    is_wide,
)
from ocr_app.models.embedded.page_context import NUM_CONTEXT_FEATURES, context_features
from ocr_app.types import EncodedPage

NUM_GEOMETRY_FEATURES = 45 + NUM_HINT_FEATURES + NUM_CONTEXT_FEATURES + NUM_COLUMN_FEATURES
NUM_AXES = (
    5  # of the rotary positions: page, y, place in line, x, line in the order that white space suggests
)
PLACE_AXIS, ORDER_AXIS = 2, 4


@dataclass(frozen=True, slots=True, eq=False)
class VisualPage:
    """One page as the reader sees it; V visual tokens, in the order of the encoder's runs."""

    features: np.ndarray  # (V, 3 * D) float32
    geometry: np.ndarray  # (V, NUM_GEOMETRY_FEATURES) float32
    positions: np.ndarray  # (V, NUM_AXES) float32, the page axis 0
    hints: PageHints  # of its lines
    column_steps: np.ndarray  # (V,) int, columns of its grid from the run before it in its line to a run

    @property
    def num_runs(self) -> int:
        return len(self.positions)


def visual_page(page: EncodedPage) -> VisualPage:
    """Lay out what the encoder saw for the reader."""
    line_boxes = np.array([line.box for line in page.lines], np.float32).reshape(-1, 4)
    run_boxes = np.array([run.box for run in page.runs], np.float32).reshape(-1, 4)
    line_of = np.array([run.line_index for run in page.runs], np.int64)
    place = np.array([run.place_in_line for run in page.runs], np.int64)
    space = np.array([run.has_space_after for run in page.runs], bool)
    texts = [run.text for run in page.runs]
    strokes = np.array([line.stroke_px for line in page.lines], np.float32)
    size = (page.image.width_px, page.image.height_px)
    geometry, positions, hints, steps = lay_out(
        line_boxes, run_boxes, line_of, place, space, texts, strokes, size
    )
    return VisualPage(page.features.astype(np.float32), geometry, positions, hints, steps)


def lay_out(
    line_boxes: np.ndarray,  # (L, 4)
    run_boxes: np.ndarray,  # (V, 4)
    line_of: np.ndarray,  # (V,) index of each run's line
    place: np.ndarray,  # (V,) index of each run in its line
    space: np.ndarray,  # (V,) bool, a space follows
    texts: list[str],
    strokes: np.ndarray,  # (L,) width of each line's strokes, 0 where unknown
    page_size: tuple[float, float],
) -> tuple[np.ndarray, np.ndarray, PageHints, np.ndarray]:
    """Geometry (V, NUM_GEOMETRY_FEATURES), positions (V, NUM_AXES), the hints of the lines, and the column
    steps (V,) of the runs.
    """
    if not texts:
        return (
            np.zeros((0, NUM_GEOMETRY_FEATURES), np.float32),
            np.zeros((0, NUM_AXES), np.float32),
            PageHints(),
            np.zeros(0, np.int64),
        )
    width, height = page_size
    line_height = float(np.median(line_boxes[:, 3] - line_boxes[:, 1])) or 1.0
    line_texts = _line_texts(texts, line_of, space, len(line_boxes))
    hints = page_hints(line_boxes.tolist(), line_texts, _words(run_boxes, line_of, space, len(line_boxes)))
    lines = np.concatenate(
        [
            _line_features(line_boxes, line_height, width, height),
            hint_features(hints, line_boxes, strokes, line_height),
        ],
        1,
    )[line_of]
    runs = _run_features(run_boxes, line_boxes, line_of, place, space, texts, line_height, width)
    letters = np.array([_letter_features(text) for text in texts], np.float32)
    context = context_features(line_boxes, run_boxes, line_of, texts, hints.order, line_height)[line_of]
    steps = column_steps(hints, run_boxes, line_of, space)
    geometry = np.concatenate([lines, runs, letters, context, column_features(hints, steps, line_of)], 1)
    y = (line_boxes[:, 1] + line_boxes[:, 3])[line_of] / 2 / line_height
    x = (run_boxes[:, 0] + run_boxes[:, 2]) / 2 / line_height
    rank = np.array([line.rank for line in hints.lines], np.float32)[line_of]
    positions = np.stack([np.zeros_like(y), y, place.astype(np.float32), x, rank], 1)
    return geometry.astype(np.float32), positions.astype(np.float32), hints, steps


def _line_texts(texts: list[str], line_of: np.ndarray, space: np.ndarray, num_lines: int) -> list[str]:
    lines = [""] * num_lines
    for text, line, has_space_after in zip(texts, line_of.tolist(), space.tolist(), strict=True):
        lines[line] += text + " " * has_space_after
    return lines


def _words(run_boxes: np.ndarray, line_of: np.ndarray, space: np.ndarray, num_lines: int) -> list[list[Span]]:
    """The stretches of ink of each line, parted by spaces."""
    words: list[list[Span]] = [[] for _ in range(num_lines)]
    is_open = False
    for (left, _, right, _), line, has_space_after in zip(
        run_boxes.tolist(), line_of.tolist(), space.tolist(), strict=True
    ):
        if is_open and words[line]:
            words[line][-1] = words[line][-1][0], right
        else:
            words[line].append((left, right))
        is_open = not has_space_after
    return words


def _line_features(boxes: np.ndarray, line_height: float, width: float, height: float) -> np.ndarray:
    """(L, 20): where each line stands, and how it stands to its neighbours above, below, left and right."""
    x0, y0, x1, y1 = boxes.T
    heights = y1 - y0
    y = (y0 + y1) / 2
    same_row = np.minimum(y1[:, None], y1) - np.maximum(y0[:, None], y0) > 0.5 * np.minimum(
        heights[:, None], heights
    )
    over = np.minimum(x1[:, None], x1) - np.maximum(x0[:, None], x0) > 0  # share some columns of pixels
    np.fill_diagonal(same_row, False)
    above = _nearest(y[:, None] - y, over & ~same_row & (y < y[:, None]))
    below = _nearest(y - y[:, None], over & ~same_row & (y > y[:, None]))
    left = _nearest(x0[:, None] - x1, same_row & (x0 < x0[:, None]))
    right = _nearest(x0 - x1[:, None], same_row & (x0 > x0[:, None]))
    em = line_height
    columns = [
        2 * x0 / width - 1,
        2 * x1 / width - 1,
        2 * y / height - 1,
        (x1 - x0) / width,
        np.log(np.maximum(heights, 1) / em),
        *_neighbour(above, lambda j: [y - y[j], x0 - x0[j], x1 - x1[j]], em, boxes, heights),
        *_neighbour(below, lambda j: [y[j] - y, x0 - x0[j], x1 - x1[j]], em, boxes, heights),
        *_neighbour(left, lambda j: [x0 - x1[j]], em, boxes, heights),
        *_neighbour(right, lambda j: [x0[j] - x1], em, boxes, heights),
        same_row.sum(1) / 4,
        np.full(len(boxes), width / height),
        np.full(len(boxes), width / em / 60),
    ]
    return np.stack(columns, 1)


def _nearest(distance: np.ndarray, is_candidate: np.ndarray) -> np.ndarray:
    """(L,) index of the nearest candidate of each row, or -1; used only to build features here."""
    distance = np.where(is_candidate, distance, np.inf)
    return np.where(is_candidate.any(1), distance.argmin(1), -1)


def _neighbour(
    index: np.ndarray, measure, em: float, boxes: np.ndarray, heights: np.ndarray
) -> list[np.ndarray]:
    """Squashed distances to a neighbour, its presence, and where there are three its relative height."""
    exists = index >= 0
    j = np.where(exists, index, 0)
    distances = [np.where(exists, np.tanh(d / em / 3), 1.0) for d in measure(j)]
    if len(distances) == 1:
        return distances
    ratio = np.where(exists, np.log(np.maximum(heights, 1) / np.maximum(heights[j], 1)), 0.0)
    return [*distances, ratio, exists.astype(np.float32)]


def _run_features(
    run_boxes: np.ndarray,
    line_boxes: np.ndarray,
    line_of: np.ndarray,
    place: np.ndarray,
    space: np.ndarray,
    texts: list[str],
    line_height: float,
    width: float,
) -> np.ndarray:
    """(V, 12): where each run stands in its line."""
    num_in_line = np.bincount(line_of, minlength=len(line_boxes))[line_of]
    num_characters = np.array([len(text) for text in texts], np.float32)
    x0, x1 = run_boxes[:, 0], run_boxes[:, 2]
    columns = [
        2 * x0 / width - 1,
        2 * x1 / width - 1,
        (place == 0).astype(np.float32),
        (place == num_in_line - 1).astype(np.float32),
        space.astype(np.float32),
        num_characters / 8,
        num_in_line / 12,
        np.minimum(place / 12, 2),
        np.tanh((x1 - x0) / num_characters / line_height),
        np.tanh((x0 - line_boxes[line_of, 0]) / line_height / 8),
        np.tanh((line_boxes[line_of, 2] - x1) / line_height / 8),
        np.ones(len(texts)),
    ]
    return np.stack(columns, 1)


def _letter_features(text: str) -> list[float]:
    """What the recognised letters say at a glance."""
    first, last = text[0], text[-1]
    num_digits = sum(character.isdigit() for character in text)
    return [
        float(first in BULLETS),
        float(first.isupper()),
        float(first.islower()),
        float(text.isupper() and len(text) > 1),
        num_digits / len(text),
        float(last in HYPHENS),
        float(last in SENTENCE_ENDS),
        float(last in ":："),
        float(is_wide(first)),
        float(first in "(（["),
        float(CAPTION_WORD.match(text) is not None),
        float(ITEM_NUMBER.match(text) is not None),
        float(SECTION_NUMBER.match(text) is not None),
    ]
