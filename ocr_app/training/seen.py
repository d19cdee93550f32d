"""What the encoder sees of a page whose truth is known: by really encoding its picture, or by simulating that
from the truth.

The simulation is for volume: it cuts the true characters into lines and runs as the detector and the
recogniser do, with their usual slips, and takes each run's features from frames of really encoded characters
(`FrameBank`). It costs a hundredth of encoding.
"""

import itertools
import random
from dataclasses import dataclass

import numpy as np

from ocr_app.models.embedded.letters import HYPHENS
from ocr_app.models.embedded.runs import split_runs
from ocr_app.models.embedded.visual import lay_out, visual_page
from ocr_app.training.targets import SeenRuns, legal_structure, page_tokens
from ocr_app.training.truth import PageTruth
from ocr_app.types import EncodedPage

FRAME_SIZE = 80


@dataclass(frozen=True, slots=True, eq=False)
class PageSample:
    """One page to learn from; V runs, T tokens."""

    features: np.ndarray  # (V, 3 * FRAME_SIZE) float16
    geometry: np.ndarray  # (V, G) float16
    positions: np.ndarray  # (V, NUM_AXES) float32
    tokens: np.ndarray  # (T,) int16, END_PAGE last
    legal: np.ndarray  # (T, NUM_STRUCTURE_TOKENS + 1) bool


class FrameBank:
    """Recogniser frames by character, grouped by the page they were read on, so that a line can be dressed in
    one page's manner.
    """

    def __init__(self, most_per_character: int = 200):
        self._frames: dict[str, list[np.ndarray]] = {}
        self._by_page: list[dict[str, list[np.ndarray]]] = []
        self._most = most_per_character

    @property
    def num_characters(self) -> int:
        return len(self._frames)

    def add(self, page: EncodedPage, rng: random.Random) -> None:
        """Take the first and last frame of every run."""
        own: dict[str, list[np.ndarray]] = {}
        for run, features in zip(page.runs, page.features.astype(np.float16), strict=True):
            own.setdefault(run.text[0], []).append(features[FRAME_SIZE : 2 * FRAME_SIZE])
            own.setdefault(run.text[-1], []).append(features[2 * FRAME_SIZE :])
        self._by_page.append(own)
        for character, frames in own.items():
            known = self._frames.setdefault(character, [])
            known.extend(frames)
            if len(known) > self._most:
                self._frames[character] = rng.sample(known, self._most)

    def dress(self, text: str, page: int | None, rng: random.Random) -> np.ndarray:
        """Features (3 * FRAME_SIZE,) of a run, its frames taken from one page where that page has the
        character.
        """
        own = self._by_page[page] if page is not None else {}
        frames = np.stack([self._frame(character, own, rng) for character in text]).astype(np.float32)
        return np.concatenate([frames.mean(0), frames[0], frames[-1]])

    def pick_page(self, rng: random.Random) -> int | None:
        return rng.randrange(len(self._by_page)) if self._by_page else None

    def _frame(self, character: str, own: dict[str, list[np.ndarray]], rng: random.Random) -> np.ndarray:
        frames = own.get(character) or self._frames.get(character)
        if not frames:  # a rare character looks like any other rare one
            frames = self._frames[rng.choice(list(self._frames))]
        return rng.choice(frames)


def seen_by_encoding(
    page: EncodedPage, truth: PageTruth, to_pixels: np.ndarray
) -> tuple[SeenRuns, PageSample]:
    """Match runs to units through the true characters that lie inside them. `to_pixels` (2, 3) maps points to
    page pixels.
    """
    boxes = np.array([run.box for run in page.runs], np.float32).reshape(-1, 4)
    centres = (truth.boxes[:, :2] + truth.boxes[:, 2:]) / 2 @ to_pixels[:, :2].T + to_pixels[:, 2]
    unit_of = np.full(len(boxes), -1)
    order = np.zeros(len(boxes))
    soft, kept = np.zeros(len(boxes), bool), np.zeros(len(boxes), bool)
    for i, (x0, y0, x1, y1) in enumerate(boxes):
        inside = np.flatnonzero(
            (centres[:, 0] >= x0) & (centres[:, 0] <= x1) & (centres[:, 1] >= y0) & (centres[:, 1] <= y1)
        )
        if len(inside):
            values, counts = np.unique(truth.unit_of[inside], return_counts=True)
            unit_of[i] = values[counts.argmax()]
            mine = inside[truth.unit_of[inside] == unit_of[i]]
            order[i] = np.median(mine)
            last = mine[centres[mine, 0].argmax()]
            soft[i], kept[i] = truth.soft_hyphen[last], truth.line_end[last]
    line_of = np.array([run.line_index for run in page.runs], np.int64)
    runs = SeenRuns([run.text for run in page.runs], boxes, line_of, unit_of, order, soft, kept)
    visual = visual_page(page)
    return runs, _sample(truth, runs, visual.features, visual.geometry, visual.positions)


@dataclass(frozen=True, slots=True)
class Slips:
    """How the simulated encoder errs on one page."""

    line_gap: float  # gaps wider than this, in line heights, divide a line
    row_gap: float  # pieces of one row nearer than this are one line, whatever unit they belong to
    growth: float  # height of a detected line over that of its characters' boxes
    jitter: float  # of line boxes, in line heights
    lost_bullet: float  # chance that a lone mark is not seen
    lost_space: float
    wrong_character: float
    bold: float  # strokes of bold type over those of usual type
    uneven_strokes: float  # how far the strokes of lines of one type differ, as a share

    @staticmethod
    def draw(rng: random.Random) -> "Slips":
        is_clean = rng.random() < 0.5
        return Slips(
            line_gap=rng.uniform(0.7, 1.8),
            row_gap=rng.uniform(0.5, 1.3),
            growth=rng.uniform(0.95, 1.5),
            jitter=rng.uniform(0.0, 0.05) if is_clean else rng.uniform(0.03, 0.12),
            lost_bullet=rng.choice([0.0, 0.0, 0.1, 0.4]),
            lost_space=rng.uniform(0, 0.01) if is_clean else rng.uniform(0, 0.05),
            wrong_character=0.0 if is_clean else rng.uniform(0, 0.03),
            bold=rng.uniform(1.25, 1.75),
            uneven_strokes=rng.choice([0.05, 0.05, 0.1, 0.2]),
        )


def seen_by_simulation(truth: PageTruth, bank: FrameBank, rng: random.Random) -> PageSample | None:
    """A sample made from the truth alone; None for a page without text."""
    slips = Slips.draw(rng)
    lines = [line for line in _true_lines(truth, slips) if not _is_lost(line, truth, slips, rng)]
    if not lines:
        return None
    page = bank.pick_page(rng)
    texts, features, boxes, line_boxes, strokes = [], [], [], [], []
    line_of, place, space, unit_of, order, soft, kept = [], [], [], [], [], [], []
    for members in sorted(
        lines, key=lambda line: (round(float(truth.boxes[line, 1].mean()), 1), float(truth.boxes[line[0], 0]))
    ):
        line_box = _line_box(truth.boxes[members], slips, rng)
        characters, sources = _spell(members, truth, slips, rng)
        for spot, span in enumerate(split_runs(characters)):
            mine = [source for source in sources[span.first : span.last + 1] if source is not None]
            text = "".join(
                _misread(character, slips, rng) for character in characters[span.first : span.last + 1]
            )
            values, counts = np.unique(truth.unit_of[mine], return_counts=True)
            texts.append(text)
            features.append(bank.dress(text, page, rng))
            boxes.append([truth.boxes[mine[0], 0], line_box[1], truth.boxes[mine[-1], 2], line_box[3]])
            line_of.append(len(line_boxes))
            place.append(spot)
            space.append(span.has_space_after)
            unit_of.append(values[counts.argmax()])
            order.append(float(np.median(mine)))
            soft.append(truth.soft_hyphen[mine[-1]])
            kept.append(truth.line_end[mine[-1]])
        line_boxes.append(line_box)
        strokes.append(_stroke(members, truth, slips, rng))
    arrays = SeenRuns(
        texts,
        np.array(boxes, np.float32),
        np.array(line_of),
        np.array(unit_of),
        np.array(order),
        np.array(soft),
        np.array(kept),
    )
    geometry, positions, _, _ = lay_out(
        np.array(line_boxes, np.float32),
        arrays.boxes,
        arrays.line_of,
        np.array(place),
        np.array(space),
        texts,
        np.array(strokes, np.float32),
        (truth.width_pt, truth.height_pt),
    )
    return _sample(truth, arrays, np.array(features), geometry, positions)


def _sample(
    truth: PageTruth, runs: SeenRuns, features: np.ndarray, geometry: np.ndarray, positions: np.ndarray
) -> PageSample:
    is_continuation = truth.is_continuation and truth.page_index > 0
    tokens = page_tokens(truth.units, is_continuation, runs)
    legal = legal_structure(tokens, len(runs.texts), runs.texts, may_continue=truth.page_index > 0)
    return PageSample(
        features.astype(np.float16), geometry.astype(np.float16), positions, np.array(tokens, np.int16), legal
    )


def _true_lines(truth: PageTruth, slips: Slips) -> list[list[int]]:
    """Characters of the page as lines: rows by vertical overlap, cut at wide gaps; indices from left to
    right.
    """
    if not truth.chars:
        return []
    pieces = _pieces(truth)
    pieces.sort(key=lambda piece: truth.boxes[piece[0], 0])
    lines: list[list[int]] = []
    for piece in pieces:
        box = truth.boxes[piece[0]]
        height = box[3] - box[1]
        joined = None
        for line in reversed(lines[-60:]):
            last = truth.boxes[line[-1]]
            overlap = min(last[3], box[3]) - max(last[1], box[1])
            gap = box[0] - last[2]
            similar = 0.6 < height / max(last[3] - last[1], 0.1) < 1.7
            if (
                overlap > 0.6 * min(height, last[3] - last[1])
                and -height < gap < slips.row_gap * height
                and similar
            ):
                joined = line
                break
        if joined is None:
            lines.append(list(piece))
        else:
            joined.extend(piece)
    return [part for line in lines for part in _cut_at_gaps(line, truth, slips)]


def _pieces(truth: PageTruth) -> list[list[int]]:
    """Stretches of the character stream that stand side by side."""
    pieces = [[0]]
    boxes = truth.boxes
    for i in range(1, len(truth.chars)):
        before, now = boxes[i - 1], boxes[i]
        height = now[3] - now[1]
        is_beside = (
            abs((before[1] + before[3]) - (now[1] + now[3])) < 0.7 * height
            and -0.5 * height < now[0] - before[2] < 0.6 * height
        )
        if is_beside:
            pieces[-1].append(i)
        else:
            pieces.append([i])
    return pieces


def _cut_at_gaps(line: list[int], truth: PageTruth, slips: Slips) -> list[list[int]]:
    parts = [[line[0]]]
    for before, now in itertools.pairwise(line):
        gap = truth.boxes[now, 0] - truth.boxes[before, 2]
        height = truth.boxes[now, 3] - truth.boxes[now, 1]
        if gap > slips.line_gap * height:
            parts.append([])
        parts[-1].append(now)
    return parts


def _is_lost(line: list[int], truth: PageTruth, slips: Slips, rng: random.Random) -> bool:
    if len(line) > 2:
        return False
    text = "".join(truth.chars[i] for i in line)
    return rng.random() < (0.03 if text.isalnum() else slips.lost_bullet)


def _line_box(boxes: np.ndarray, slips: Slips, rng: random.Random) -> list[float]:
    """Around the characters, a little off, as a detector draws it."""
    x0, y0 = boxes[:, :2].min(0)
    x1, y1 = boxes[:, 2:].max(0)
    height = np.median(boxes[:, 3] - boxes[:, 1])
    margin = (slips.growth - 1) / 2 * (y1 - y0)

    def off() -> float:
        return rng.gauss(0, slips.jitter) * height

    return [
        x0 - 0.1 * height + off(),
        y0 - margin + off() / 2,
        x1 + 0.1 * height + off(),
        y1 + margin + off() / 2,
    ]


def _stroke(line: list[int], truth: PageTruth, slips: Slips, rng: random.Random) -> float:
    """Width of the line's strokes in points: about a twelfth of its size, more where most of it is bold."""
    usual = 0.08 * float(np.median(truth.boxes[line, 3] - truth.boxes[line, 1]))
    return (
        usual
        * (slips.bold if truth.is_bold[line].mean() > 0.5 else 1.0)
        * float(np.exp(rng.gauss(0, slips.uneven_strokes)))
    )


def _spell(
    line: list[int], truth: PageTruth, slips: Slips, rng: random.Random
) -> tuple[list[str], list[int | None]]:
    """Characters with the spaces between words, and the index of each (None for a space)."""
    characters, sources = [truth.chars[line[0]]], [line[0]]
    for before, now in itertools.pairwise(line):
        gap = truth.boxes[now, 0] - truth.boxes[before, 2]
        if gap > 0.13 * (truth.boxes[now, 3] - truth.boxes[now, 1]) and rng.random() >= slips.lost_space:
            characters.append(" ")
            sources.append(None)
        characters.append(truth.chars[now])
        sources.append(now)
    return characters, sources


def _misread(character: str, slips: Slips, rng: random.Random) -> str:
    if character in HYPHENS or rng.random() >= slips.wrong_character:
        return character
    return rng.choice("eaoilcrnt01.,")
