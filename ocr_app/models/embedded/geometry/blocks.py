"""Blocks: lines that the layout network puts together, mended where white space and type say otherwise."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage
from ocr_app.models.embedded.geometry.splits import (
    by_type,
    columns_of,
    is_bold_number,
    is_large,
    marked_pieces,
    side_headed,
)
from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import Box

LINKED = 0.55  # probability from which two lines belong to one block: upstream's own threshold
MIN_TITLE_LETTERS = 4


@dataclass(slots=True)
class Block:
    """Some lines of a page and the class of most of them."""

    lines: list[SeenLine]
    kind: str
    box: Box = (0.0, 0.0, 0.0, 0.0)
    scores: np.ndarray = field(default_factory=lambda: np.zeros(len(CLASSES)))

    def __post_init__(self) -> None:
        self.box = bounds(line.box for line in self.lines)

    @property
    def text(self) -> str:
        return " ".join(line.text for line in self.lines)


def bounds(boxes: Iterable[Box]) -> Box:
    """The box around boxes."""
    x0, y0, x1, y1 = zip(*boxes, strict=True)
    return min(x0), min(y0), max(x1), max(y1)


def overlap(a0: float, a1: float, b0: float, b1: float) -> float:
    """Length of what two intervals share; negative: the gap between them."""
    return min(a1, b1) - max(a0, b0)


def find_blocks(page: SeenPage) -> list[Block]:
    """The blocks of a page; every line is in exactly one."""
    blocks = [block for lines in _groups(page) for block in _split(page, lines)]
    for block in blocks:
        if block.kind == "page-header" and _is_title(page, block, blocks):
            block.kind = "section-header"
    return blocks


def make_block(lines: list[SeenLine], kind: str | None = None) -> Block:
    """A block of these lines, of the kind most probable for them together."""
    scores = np.mean([line.scores for line in lines], axis=0)
    block = Block(sorted(lines, key=lambda line: line.middle), kind or CLASSES[int(scores.argmax())])
    block.scores = scores
    return block


def _groups(page: SeenPage) -> list[list[SeenLine]]:
    """Lines that the network links, directly or through others."""
    parent = list(range(len(page.lines)))

    def root(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    links = page.layout.links.tolist()
    for (first, second), probability in zip(links, page.layout.link_probabilities, strict=True):
        if probability > LINKED:
            parent[root(first)] = root(second)
    groups: dict[int, list[SeenLine]] = {}
    for line in page.lines:
        groups.setdefault(root(line.index), []).append(line)
    return list(groups.values())


def _split(page: SeenPage, lines: list[SeenLine]) -> list[Block]:
    """A group of the network as blocks."""
    block = make_block(lines)
    if block.kind == "picture":
        return _without_stray_lines(page, lines)
    if block.kind not in ("text", "list-item", "table"):
        return [block]
    if sections := side_headed(page, lines):
        heads_and_texts = [(make_block(head, "section-header"), text) for head, text in sections]
        return [
            part
            for head, text in heads_and_texts
            for part in (head, *([make_block(text, "text")] if text else []))
        ]
    if block.kind == "table":
        return [block]
    if is_bold_number(lines):
        return [make_block(lines, "section-header")]
    for parts in (columns_of(page, lines), marked_pieces(page, lines)):
        if len(parts) > 1:
            return [part for column in parts for part in _split(page, column)]
    return [
        make_block(part, "section-header" if is_head else None)
        for part, is_head in by_type(page, lines, bold=block.kind == "text")
    ]


def _without_stray_lines(page: SeenPage, lines: list[SeenLine]) -> list[Block]:
    """A picture, and lines said to belong to it where the picture network sees none, as what is next most probable."""
    inside = [line for line in lines if any(_holds(box, line.box) for box in page.layout.pictures)]
    outside = [line for line in lines if line not in inside]
    blocks = [make_block(inside, "picture")] if inside else []
    if outside:
        scores = np.mean([line.scores for line in outside], axis=0)
        scores[CLASSES.index("picture")] = 0
        blocks.append(make_block(outside, CLASSES[int(scores.argmax())]))
    return blocks


def _holds(outer: Box, inner: Box) -> bool:
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _is_title(page: SeenPage, block: Block, blocks: list[Block]) -> bool:
    """Whether what is called a running head is a title: large words with nothing beside them, where running
    heads come in several pieces.
    """
    is_words = sum(map(str.isalpha, block.text)) >= MIN_TITLE_LETTERS
    if not is_words or not is_large(page, block.lines):
        return False
    beside = [
        b for b in blocks if b is not block and overlap(block.box[1], block.box[3], b.box[1], b.box[3]) > 0
    ]
    return not beside
