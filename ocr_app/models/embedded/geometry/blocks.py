"""Blocks: lines that the layout network puts together, mended where white space and type say otherwise."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage, rows_of
from ocr_app.models.embedded.geometry.splits import (
    by_type,
    columns_of,
    is_bold_number,
    is_large,
    margin_stacks,
    marked_pieces,
    side_headed,
    table_zones,
)
from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import Box

LINKED = 0.55  # probability from which two lines belong to one block: upstream's own threshold
MIN_TITLE_LETTERS = 4
BOLD_TITLE = 1.3  # times the stroke that type of this size has
EDGE = 0.1  # of the page's height, above and below: where page numbers stand
HEADER, SURE = CLASSES.index("page-header"), 0.9
PAGE_NUMBER = re.compile(r"(?:page|seite|p\.)?\s*[-–—]?\s*\d{1,4}\s*[-–—]?|第\s*\d+\s*页", re.IGNORECASE)


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
    groups = [part for lines in _groups(page) for part in _without_page_number(page, lines)]
    margin = _margin_of(page, groups)
    blocks = [make_block(stack, "section-header") for stack in margin]
    in_margin = {line.index for stack in margin for line in stack}
    for group in groups:
        lines = [line for line in group if line.index not in in_margin]
        blocks += _split(page, lines) if lines else []
    for block in blocks:
        if block.kind == "page-header" and _is_title(page, block, blocks):
            block.kind = "section-header"
        elif block.kind not in ("page-header", "page-footer") and _is_page_number(page, block):
            block.kind = "page-header"
    return blocks


def _margin_of(page: SeenPage, groups: list[list[SeenLine]]) -> list[list[SeenLine]]:
    """Side headings beside the body of a page, below what stands over all of it."""
    blocks = [make_block(group) for group in groups]
    outside = ("page-header", "page-footer", "title")
    body = [block.lines for block in blocks if block.kind not in outside and not _is_page_number(page, block)]
    across = _across(page, body)
    lines = [line for group in body for line in group if line.index not in across]
    return margin_stacks(page, lines)[0] if lines else []


def _across(page: SeenPage, groups: list[list[SeenLine]]) -> set[int]:
    """Lines of single rows above everything else: a title over margin and text."""
    ordered = sorted(groups, key=lambda lines: min(line.box[1] for line in lines))
    over = ordered[0] if len(ordered) > 1 and len(rows_of(ordered[0])) == 1 else []
    return {line.index for line in over if is_large(page, over)}


def _without_page_number(page: SeenPage, lines: list[SeenLine]) -> list[list[SeenLine]]:
    """A group of one row at the page's edge, its page number apart."""
    numbers = [line for line in lines if PAGE_NUMBER.fullmatch(line.text)]
    rest = [line for line in lines if line not in numbers]
    if not numbers or not rest or len(rows_of(lines)) > 1 or not _is_at_edge(page, lines):
        return [lines]
    return [rest, numbers]


def _is_page_number(page: SeenPage, block: Block) -> bool:
    return PAGE_NUMBER.fullmatch(block.text) is not None and _is_at_edge(page, block.lines)


def _is_at_edge(page: SeenPage, lines: list[SeenLine]) -> bool:
    middle = lines[0].middle / page.height
    return middle < EDGE or middle > 1 - EDGE


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
    if len(zones := table_zones(lines)) > 1:
        parts = [[make_block(zone, "table")] if is_table else _split(page, zone) for is_table, zone in zones]
        return [block for part in parts for block in part]
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
    """A picture, and lines said to belong to it where the picture network sees none, as what is next most
    probable.
    """
    inside = [line for line in lines if any(holds(box, line.box) for box in page.layout.pictures)]
    outside = [line for line in lines if line not in inside]
    blocks = [make_block(inside, "picture")] if inside else []
    if outside:
        scores = np.mean([line.scores for line in outside], axis=0)
        scores[CLASSES.index("picture")] = 0
        blocks.append(make_block(outside, CLASSES[int(scores.argmax())]))
    return blocks


def holds(outer: Box, inner: Box) -> bool:
    """Whether the middle of a box lies in another."""
    x, y = (inner[0] + inner[2]) / 2, (inner[1] + inner[3]) / 2
    return outer[0] <= x <= outer[2] and outer[1] <= y <= outer[3]


def _is_title(page: SeenPage, block: Block, blocks: list[Block]) -> bool:
    """Whether what is called a running head is a title: large words with nothing beside them, where running
    heads come in several pieces.
    """
    is_words = sum(map(str.isalpha, block.text)) >= MIN_TITLE_LETTERS
    if not is_words or not is_large(page, block.lines):
        return False
    if (
        all(line.stroke > BOLD_TITLE * line.size / page.body_size for line in block.lines)
        and block.scores[HEADER] < SURE
    ):
        return True
    top, bottom = block.box[1], block.box[3]
    return not any(b is not block and overlap(top, bottom, b.box[1], b.box[3]) > 0 for b in blocks)
