"""The visual encoder: a page image in, lines and visual tokens out. It detects, cuts and reads lines and
knows no reading order beyond rows from top to bottom.
"""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median

import numpy as np

from ocr_app.config import EncoderConfig
from ocr_app.models.embedded.accurate import AccurateRecogniser
from ocr_app.models.embedded.bullets import take_in_bullets
from ocr_app.models.embedded.crops import cut_line, quad_part, quad_size
from ocr_app.models.embedded.detector import LineDetector
from ocr_app.models.embedded.figures import find_figures
from ocr_app.models.embedded.geometry.blocks import holds
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.tables import table_boxes, table_grids
from ocr_app.models.embedded.recogniser import LineRecogniser, ReadLine
from ocr_app.models.embedded.reuse import read_reusing, shared_store
from ocr_app.models.embedded.rows import row_order
from ocr_app.models.embedded.runs import RunSpan
from ocr_app.models.embedded.seeing.checkboxes import find_check_boxes, with_check_boxes
from ocr_app.models.embedded.seeing.gutters import cut_at_gutters
from ocr_app.models.embedded.seeing.layout import LayoutNetwork
from ocr_app.models.embedded.seeing.leaders import without_leaders
from ocr_app.models.embedded.seeing.missed import CellMark, cell_marks, leader_ends
from ocr_app.models.embedded.seeing.rules import find_rules
from ocr_app.models.embedded.seeing.tables import GridNetwork
from ocr_app.models.embedded.seeing.tight import ink_box
from ocr_app.models.embedded.upright import (
    is_sideways,
    is_skewed,
    sample_lines,
    skew_degrees,
    straighten_page,
    turn_page,
)
from ocr_app.models.embedded.weights import asset, small_asset
from ocr_app.types import Box, EncodedPage, Line, PageImage, PageLayout, Run

FEATURE_SIZE = 240
DARK = 96  # grey level: pages that are darker than this at most places are read inverted
MIN_CONFIDENCE = (
    0.5  # lines read worse than this are specks and stamps: on 22 sample pages 3 lines, none of them text
)
DOUBTFUL = (
    0.8  # upright pages of the samples read at 0.93 and above, the same pages upside down at 0.69 and below
)


class VisualEncoder:
    """Lines and visual tokens of page images. One page at a time; not for use by two threads at once."""

    def __init__(self, config: EncoderConfig) -> None:
        self._detector = LineDetector(_detector_weights(config.quality), config.threads)
        self._recogniser = _open_recogniser(config)
        self._straighten = config.straighten
        self._store = shared_store(config.quality, config.reuse_entries) if config.reuse else None
        self._layout = LayoutNetwork(config.threads)
        self._grids = GridNetwork(config.threads)

    def encode(self, image: PageImage) -> EncodedPage:
        """Put a page upright, find its lines and read them. Boxes lie in the upright image,
        `EncodedPage.image`.
        """
        started = time.perf_counter()
        is_dark = float(np.median(image.pixels)) < DARK
        if is_dark:  # light letters: every network and rule here knows dark ones better
            image = replace(image, pixels=255 - image.pixels)
        image, quads = self._detect_upright(image)
        seen = self._read_lines(_mended(image, quads), image)
        if self._straighten and _confidence(seen.read) < DOUBTFUL and self._is_upside_down(image, seen.quads):
            image = turn_page(image, 180)
            seen = self._read_lines(_mended(image, self._detector.detect(image.pixels, image.dpi)), image)
        seen = self._with(
            seen, leader_ends(image.pixels, seen.quads, [line.characters for line in seen.read]), image
        )
        page = self._with_layout(_lay_out(seen, image))
        if marks := _marks_in_cells(page):
            seen = self._with_cells(seen, marks, image)
            page = self._with_layout(_lay_out(seen, image))
        return replace(
            page,
            image=replace(image, pixels=255 - image.pixels) if is_dark else image,
            encode_s=time.perf_counter() - started,
            num_reuse_hits=seen.num_hits,
            num_reuse_lookups=len(seen.quads) if self._store is not None else 0,
            figures=find_figures(image, [line.box for line in page.lines]),
        )

    def _read_lines(self, quads: np.ndarray, image: PageImage) -> "_Seen":
        return _Seen(quads, *self._read(_cut(image, quads)))

    def _with(self, seen: "_Seen", quads: np.ndarray, image: PageImage) -> "_Seen":
        """What was seen, and further lines at these corners."""
        if not len(quads):
            return seen
        more = self._read_lines(quads, image)
        return _Seen(
            np.concatenate([seen.quads, quads]), seen.read + more.read, seen.num_hits + more.num_hits
        )

    def _with_cells(self, seen: "_Seen", marks: list[CellMark], image: PageImage) -> "_Seen":
        """What was seen, and what stands in cells that were empty: dashes by their shape, the rest as it
        reads.
        """
        quads = _corners([mark for mark in marks if not mark.is_dash])
        found = self._read_lines(quads, image)
        kept = [place for place, line in enumerate(found.read) if any(map(str.isalnum, line.characters))]
        seen = _Seen(
            np.concatenate([seen.quads, found.quads[kept]]),
            seen.read + [found.read[place] for place in kept],
            seen.num_hits + found.num_hits,
        )
        dashes = _corners([mark for mark in marks if mark.is_dash])
        read = [_dash(cut_line(image.pixels, quad)) for quad in dashes]
        return _Seen(np.concatenate([seen.quads, dashes]), seen.read + read, seen.num_hits)

    def _with_layout(self, page: EncodedPage) -> EncodedPage:
        return replace(page, layout=self._see_layout(page))

    def _see_layout(self, page: EncodedPage) -> PageLayout:
        """What the layout network says of the page, and the grids of what it takes for tables."""
        boxes = [line.ink or line.box for line in page.lines]
        texts = [page.line_text(line) for line in page.lines]
        layout = self._layout.see(page.image.pixels, page.image.dpi, boxes, texts)
        height = median(line.box[3] - line.box[1] for line in page.lines) if page.lines else 0.0
        level, upright = find_rules(page.image.pixels, height) if page.lines else ((), ())
        layout = replace(layout, level_rules=level, upright_rules=upright)
        seen = SeenPage(replace(page, layout=layout))
        grids = tuple(self._grids.see(page.image.pixels, box) for box in table_boxes(seen))
        return replace(layout, grids=grids)

    def _detect_upright(self, image: PageImage) -> tuple[PageImage, np.ndarray]:
        """The page with its lines level, and their corners. A page that lies right is looked at once and
        costs nothing more.
        """
        quads = self._detector.detect(image.pixels, image.dpi)
        if not self._straighten:
            return image, quads
        if is_sideways(quads):
            image = turn_page(image, 90)
            quads = self._detector.detect(image.pixels, image.dpi)
            if self._is_upside_down(image, quads):
                image = turn_page(image, 180)
                quads = self._detector.detect(image.pixels, image.dpi)
        if is_skewed(image, skew := skew_degrees(quads)):
            image = straighten_page(image, skew)
            quads = self._detector.detect(image.pixels, image.dpi)
        return image, quads

    def _is_upside_down(self, image: PageImage, quads: np.ndarray) -> bool:
        """Whether the longest lines read better turned by half a circle."""
        crops = _cut(image, sample_lines(quads))
        turned = [np.ascontiguousarray(crop[::-1, ::-1]) for crop in crops]
        return _confidence(self._recogniser.read(turned)) > _confidence(self._recogniser.read(crops))

    def _read(self, crops: list[np.ndarray]) -> tuple[list[ReadLine], int]:
        if self._store is None:
            return self._recogniser.read(crops), 0
        return read_reusing(self._store, self._recogniser.read, crops)


def _detector_weights(quality: str) -> Path:
    return small_asset("PP-OCRv6_det_small.onnx") if quality == "small" else asset("det.onnx")


def _open_recogniser(config: EncoderConfig) -> LineRecogniser | AccurateRecogniser:
    tiny = LineRecogniser(asset("rec.onnx"), asset("classifier.npz"), asset("characters.txt"), config.threads)
    if config.quality == "tiny":
        return tiny
    return AccurateRecogniser(small_asset("PP-OCRv6_rec_small.onnx"), tiny, config.threads)


def _cut(image: PageImage, quads: np.ndarray) -> list[np.ndarray]:
    return [cut_line(image.pixels, quad) for quad in quads]


def _confidence(read: list[ReadLine]) -> float:
    """Mean probability of the characters read; 1 when there are none, since nothing is then in doubt."""
    probabilities = [probability for line in read for probability in line.probabilities]
    return sum(probabilities) / len(probabilities) if probabilities else 1.0


def _mended(image: PageImage, quads: np.ndarray) -> np.ndarray:
    """Detected lines, cut where they cross a gutter, each with its bullet."""
    return take_in_bullets(image.pixels, cut_at_gutters(image.pixels, quads))


@dataclass(frozen=True, slots=True, eq=False)
class _Seen:
    """Detected lines and what they say."""

    quads: np.ndarray  # (N, 4, 2)
    read: list[ReadLine]
    num_hits: int


def _marks_in_cells(page: EncodedPage) -> list[CellMark]:
    """Small text in cells of the page's tables that nobody detected."""
    height = median(line.box[3] - line.box[1] for line in page.lines) if page.lines else 0.0
    marks = []
    for grid in table_grids(SeenPage(page)):
        inside = [run.box for run in page.runs if holds(grid.box, run.box)]
        marks += cell_marks(page.image.pixels, grid, inside, height)
    return marks


def _corners(marks: list[CellMark]) -> np.ndarray:
    return np.array([mark.corners for mark in marks], np.float32).reshape(-1, 4, 2)


def _dash(crop: np.ndarray) -> ReadLine:
    """A crop that holds a dash and nothing else."""
    width = crop.shape[1]
    nothing = np.zeros((1, FEATURE_SIZE), np.float32)
    return ReadLine("-", (1.0,), (RunSpan(0, 0, False),), ((0.0, float(width)),), nothing, width, 0.0)


def _lay_out(seen: _Seen, image: PageImage) -> EncodedPage:
    """Lines in row order with their runs, boxes in page pixels; lines that say nothing and marks that are no
    text are left out.
    """
    quads, read = seen.quads, seen.read
    size = (image.width_px, image.height_px)
    kept = [index for index, line in enumerate(read) if line.spans and _confidence([line]) >= MIN_CONFIDENCE]
    boxes = [_bounds(quads[index], size) for index in kept]
    order = row_order(boxes)
    boxes = [boxes[place] for place in order]
    kept = [kept[place] for place in order]
    runs_of = [_line_runs(read[index], quads[index], size) for index in kept]
    runs_of = without_leaders(runs_of, boxes)
    height = median(box[3] - box[1] for box in boxes) if boxes else 0.0
    runs_of = with_check_boxes(runs_of, boxes, find_check_boxes(image.pixels, height) if boxes else [])
    lines: list[Line] = []
    runs: list[Run] = []
    features = [np.zeros((0, FEATURE_SIZE), np.float32)]
    for index, box, line_runs in zip(kept, boxes, runs_of, strict=True):
        features.append(read[index].features[[run.place_in_line for run in line_runs]])
        box = _around(box, line_runs)
        confidence = float(np.mean([run.confidence for run in line_runs]))
        stroke, ink = _stroke_px(read[index], quads[index]), ink_box(image.pixels, box)
        runs += [
            replace(run, line_index=len(lines), place_in_line=place) for place, run in enumerate(line_runs)
        ]
        lines.append(Line(box, len(runs) - len(line_runs), len(line_runs), confidence, stroke, ink))
    return EncodedPage(image, tuple(lines), tuple(runs), np.concatenate(features))


def _around(box: Box, runs: list[Run]) -> Box:
    """A line's box, reaching to its first run: a box to tick may stand before what was detected."""
    return min(box[0], runs[0].box[0]), *box[1:]


def _line_runs(line: ReadLine, quad: np.ndarray, size: tuple[int, int]) -> list[Run]:
    """The runs of one line, its index not known yet."""
    runs = []
    for place, (span, (left, right)) in enumerate(zip(line.spans, line.edges, strict=True)):
        box = _bounds(quad_part(quad, left / line.width_px, right / line.width_px), size)
        is_last = place == len(line.spans) - 1
        has_space_after = span.has_space_after and not is_last
        runs.append(Run(line.text_of(span), box, line.confidence_of(span), has_space_after, 0, place))
    return runs


def _stroke_px(line: ReadLine, quad: np.ndarray) -> float:
    return line.stroke * min(quad_size(quad))


def _bounds(quad: np.ndarray, size: tuple[int, int]) -> Box:
    """The upright box around four corners, inside the page."""
    (left, top), (right, bottom) = quad.min(axis=0), quad.max(axis=0)
    width, height = size
    return float(max(0, left)), float(max(0, top)), float(min(width, right)), float(min(height, bottom))
