"""A page as geometry sees it: lines with tight boxes, type sizes, and what the layout network says."""

from dataclasses import dataclass
from functools import cached_property
from statistics import median

import numpy as np

from ocr_app.models.embedded.geometry.marks import Mark, read_mark
from ocr_app.models.embedded.letters import is_wide
from ocr_app.models.embedded.rows import group_rows
from ocr_app.models.embedded.seeing.layout import CLASSES, NO_LAYOUT
from ocr_app.types import Box, EncodedPage, Line, Run

MONOSPACED = 0.02  # relative deviation of the advances of characters, in type of one width
MIN_PITCH_CHARACTERS = 4  # shorter runs say little of the advance
MIN_PITCH_RUNS = 7
MIN_CODE_LETTERS = 32  # a few words may happen to advance alike
MIN_CODE_LINES = 4
MIN_LETTERS = 3  # a line of fewer says nothing of its size
# widths of letters in multiples of the type size, as usual text faces have them
ADVANCES = {
    **dict.fromkeys("iljI.,:;'|!‘’", 0.26),
    **dict.fromkeys('tfr()[]{}-"`/\\“”', 0.34),
    **dict.fromkeys("sczJ*", 0.46),
    **dict.fromkeys("mwMW@%&—", 0.82),
}
LOWER, UPPER, OTHER, WIDE = 0.52, 0.66, 0.53, 1.0


@dataclass(frozen=True, slots=True)
class SeenLine:
    """One detected line. Boxes in pixels of the page."""

    index: int
    box: Box  # of its ink
    text: str
    runs: tuple[int, ...]
    run_boxes: tuple[Box, ...]
    size: float  # of its type, estimated from the ink and the letters
    stroke: float  # mean width of its strokes over the page's median; 1 where unknown
    scores: np.ndarray  # (len(CLASSES),) probabilities

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]

    @property
    def middle(self) -> float:
        return (self.box[1] + self.box[3]) / 2

    def score(self, *names: str) -> float:
        return float(sum(self.scores[CLASSES.index(name)] for name in names))


class SeenPage:
    """All lines of one page."""

    def __init__(self, page: EncodedPage):
        self.width, self.height = page.image.width_px, page.image.height_px
        self.runs = page.runs
        self.layout = page.layout or NO_LAYOUT
        known = [line.stroke_px for line in page.lines if line.stroke_px > 0]
        usual = median(known) if known else 1.0
        is_known = len(self.layout.classes) == len(page.lines)
        unknown = np.full(len(CLASSES), 1 / len(CLASSES), np.float32)
        self.lines = [
            _seen_line(index, line, page.runs, usual, self.layout.classes[index] if is_known else unknown)
            for index, line in enumerate(page.lines)
        ]

    @cached_property
    def marks(self) -> list[Mark]:
        """The marks that lines of the page begin with."""
        return [mark for line in self.lines if (mark := read_mark(line.text))]

    @cached_property
    def code_pitch(self) -> float | None:
        """The advance of characters in the page's code, where several lines share one."""
        found = []
        for line in self.lines:
            advances = pitches([line], self.runs)
            if len(advances) > 1 and max(advances) < (1 + 2 * MONOSPACED) * min(advances):
                found.append(median(advances))
        for pitch in found:
            alike = [other for other in found if abs(other - pitch) < MONOSPACED * pitch]
            if len(alike) >= MIN_CODE_LINES:
                return median(alike)
        return None

    @cached_property
    def body_size(self) -> float:
        """The type size of most characters; no less than a pixel, for it is divided by."""
        sizes = np.array([line.size for line in self.lines for _ in line.text])
        return max(1.0, float(np.median(sizes))) if len(sizes) else 1.0


def _seen_line(
    index: int, line: Line, runs: tuple[Run, ...], usual_stroke: float, scores: np.ndarray
) -> SeenLine:
    places = tuple(range(line.first_run, line.first_run + line.num_runs))
    mine = runs[line.first_run : line.first_run + line.num_runs]
    box = line.ink or line.box
    return SeenLine(
        index,
        box,
        "".join(run.text + " " * run.has_space_after for run in mine).rstrip(),
        places,
        tuple(run.box for run in mine),
        type_size(mine) or box[3] - box[1],
        line.stroke_px / usual_stroke if line.stroke_px else 1.0,
        scores,
    )


def type_size(runs: tuple[Run, ...]) -> float | None:
    """The type size of a line in pixels, from the widths of its runs: box heights vary with what rises and
    hangs.

    None where there are too few letters to say.
    """
    usual = sum(advance(character) for run in runs for character in run.text)
    if sum(len(run.text) for run in runs) < MIN_LETTERS:
        return None
    return sum(run.box[2] - run.box[0] for run in runs) / usual


def advance(character: str) -> float:
    """Usual width of a character, in multiples of its type size."""
    if character in ADVANCES:
        return ADVANCES[character]
    if is_wide(character):
        return WIDE
    return UPPER if character.isupper() else LOWER if character.islower() else OTHER


def pitches(lines: list[SeenLine], runs: tuple[Run, ...]) -> list[float]:
    """The advance of a character in each run that says something of it: figures advance alike in all type."""
    return [
        (box[2] - box[0]) / (len(runs[index].text) - 0.15)
        for line in lines
        for index, box in zip(line.runs, line.run_boxes, strict=True)
        if len(text := runs[index].text) >= MIN_PITCH_CHARACTERS
        and not any(map(is_wide, text))
        and sum(map(str.isalpha, text)) > len(text) / 2
    ]


def monospaced_pitch(lines: list[SeenLine], runs: tuple[Run, ...]) -> float | None:
    """The advance of all characters of these lines in pixels, where it is one, as in code and on screens."""
    advances = pitches(lines, runs)
    if len(advances) < MIN_PITCH_RUNS or sum(len(line.text) for line in lines) < MIN_CODE_LETTERS:
        return None
    centre = median(advances)
    deviations = sorted(abs(value - centre) for value in advances)
    usual, largest = deviations[len(deviations) // 2], deviations[int(0.85 * (len(deviations) - 1))]
    return centre if usual < MONOSPACED * centre and largest < 2.5 * MONOSPACED * centre else None


def is_code(page: SeenPage, lines: list[SeenLine]) -> bool:
    """Whether lines are code: type of one width, or for few letters the very width of the page's code."""
    if monospaced_pitch(lines, page.runs) is not None:
        return True
    advances = pitches(lines, page.runs)
    if page.code_pitch is None or len(advances) < 2:
        return False
    return all(abs(value - page.code_pitch) < 1.5 * MONOSPACED * page.code_pitch for value in advances)


def rows_of(lines: list[SeenLine]) -> list[list[SeenLine]]:
    """Lines that stand beside each other as rows, from top to bottom, each from left to right."""
    return [[lines[index] for index in row] for row in group_rows([line.box for line in lines])]
