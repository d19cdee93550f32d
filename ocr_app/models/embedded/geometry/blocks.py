"""Blocks: lines that the layout network puts together, mended where white space says otherwise."""

from dataclasses import dataclass, field
from statistics import median

import numpy as np

from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage
from ocr_app.models.embedded.rows import group_rows
from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import Box

LARGE = 1.25  # times the size of the running text: type of a heading
FAR = 1.5  # sizes of type of empty paper: lines of one block stand nearer
MIN_COLUMN_LINES = 3
PROSE = 7.0  # sizes of type: the width of lines of running text
LINKED = 0.55  # probability from which two lines belong to one block: upstream's own threshold


@dataclass(slots=True)
class Block:
    """Some lines of a page and the class of most of them."""

    lines: list[SeenLine]
    kind: str
    box: Box = (0.0, 0.0, 0.0, 0.0)
    scores: np.ndarray = field(default_factory=lambda: np.zeros(len(CLASSES)))

    def __post_init__(self) -> None:
        self.box = bounds([line.box for line in self.lines])

    @property
    def height(self) -> float:
        return self.box[3] - self.box[1]

    @property
    def width(self) -> float:
        return self.box[2] - self.box[0]

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


def bounds(boxes: list[Box]) -> Box:
    """The box around boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def overlap(a0: float, a1: float, b0: float, b1: float) -> float:
    """Length of what two intervals share; negative: the gap between them."""
    return min(a1, b1) - max(a0, b0)


def find_blocks(page: SeenPage) -> list[Block]:
    """The network's blocks; every line is in exactly one."""
    parent = list(range(len(page.lines)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for (first, second), probability in zip(
        page.layout.links.tolist(), page.layout.link_probabilities, strict=True
    ):
        if probability > LINKED:
            parent[root(first)] = root(second)
    groups: dict[int, list[SeenLine]] = {}
    for line in page.lines:
        groups.setdefault(root(line.index), []).append(line)
    return [block for lines in groups.values() for block in _split(page, lines)]


def _split(page: SeenPage, lines: list[SeenLine]) -> list[Block]:
    """A group of the network as blocks: lines outside of a picture are none of it, and much larger type is a heading."""
    block = make_block(lines)
    if block.kind == "picture":
        inside = [line for line in lines if any(_holds(box, line.box) for box in page.layout.pictures)]
        outside = [line for line in lines if line not in inside]
        blocks = [make_block(inside, "picture")] if inside else []
        return [*blocks, *_without_picture(outside)]
    if block.kind not in ("text", "list-item"):
        return [block]
    columns = _columns(page, lines)
    if len(columns) > 1:
        return [part for column in columns for part in _split(page, column)]
    parts: list[list[SeenLine]] = []
    for row in rows_of(lines):
        is_large = min(line.size for line in row) > LARGE * page.body_size
        if (
            parts
            and is_large == (min(line.size for line in parts[-1]) > LARGE * page.body_size)
            and _is_near(page, parts[-1], row)
        ):
            parts[-1] += row
        else:
            parts.append([*row])
    return [
        make_block(part, "section-header" if len(parts) > 1 and _is_large(page, part) else None)
        for part in parts
    ]


def _columns(page: SeenPage, lines: list[SeenLine]) -> list[list[SeenLine]]:
    """Lines of running text parted at a gutter that none of them crosses."""
    ordered = sorted(lines, key=lambda line: line.box[0])
    right = ordered[0].box[2]
    for place, line in enumerate(ordered):
        sides = ordered[:place], ordered[place:]
        if line.box[0] > right and all(_is_prose(page, side) for side in sides):
            return list(sides)
        right = max(right, line.box[2])
    return [lines]


def _is_prose(page: SeenPage, lines: list[SeenLine]) -> bool:
    """Whether lines are a column of running text: several, and wide."""
    return (
        len(lines) >= MIN_COLUMN_LINES
        and median(line.box[2] - line.box[0] for line in lines) > PROSE * page.body_size
    )


def _is_large(page: SeenPage, lines: list[SeenLine]) -> bool:
    return min(line.size for line in lines) > LARGE * page.body_size


def _is_near(page: SeenPage, part: list[SeenLine], row: list[SeenLine]) -> bool:
    """Whether a row is as near to the rows above as lines of one block are."""
    gap = min(line.box[1] for line in row) - max(line.box[3] for line in part)
    return gap < FAR * max(page.body_size, row[0].size)


def _without_picture(lines: list[SeenLine]) -> list[Block]:
    """Lines said to be a picture where the picture network sees none, as what is next most probable."""
    if not lines:
        return []
    scores = np.mean([line.scores for line in lines], axis=0)
    scores[CLASSES.index("picture")] = 0
    return [make_block(lines, CLASSES[int(scores.argmax())])]


def _holds(outer: Box, inner: Box) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def make_block(lines: list[SeenLine], kind: str | None = None) -> Block:
    """A block of these lines, of the kind most probable for them together."""
    scores = np.mean([line.scores for line in lines], axis=0)
    block = Block(sorted(lines, key=lambda line: line.middle), kind or CLASSES[int(scores.argmax())])
    block.scores = scores
    return block


def rows_of(lines: list[SeenLine]) -> list[list[SeenLine]]:
    """Lines that stand beside each other as rows, from top to bottom, each from left to right."""
    return [[lines[index] for index in row] for row in group_rows([line.box for line in lines])]
