"""Levels of headings from the type of the page: larger type stands higher, numbers tell depth, capitals stand
above.
"""

import re

from ocr_app.models.embedded.geometry.text import Part
from ocr_app.types import RegionKind

NUMBERED = re.compile(r"^(\d{1,2}(?:\.\d{1,2})*)\.?\s")
SAME_SIZE = 1.1  # sizes that differ by less from the next are one
TITLE = 1.4  # times the running text


def set_levels(parts: list[Part], body_size: float) -> None:
    """Give every heading of a page its level, from 1."""
    headings = [part for part in parts if part.kind is RegionKind.HEADING]
    if not headings:
        return
    steps = _steps(sorted((_size(part) for part in headings), reverse=True))
    ranks = {id(part): next(i for i, low in enumerate(steps) if _size(part) >= low) for part in headings}
    keys = {id(part): _key(part, ranks[id(part)], headings, ranks) for part in headings}
    order = sorted(set(keys.values()))
    is_title = _size(headings[0]) >= steps[0] and (len(order) > 1 or _size(headings[0]) > TITLE * body_size)
    for part in headings:
        part.level = min(order.index(keys[id(part)]) + (1 if is_title else 2), 4)


def _steps(sizes: list[float]) -> list[float]:
    """The smallest size of each group of like sizes, from the largest group."""
    steps: list[float] = []
    for before, size in zip([float("inf"), *sizes], sizes, strict=False):
        if steps and size * SAME_SIZE > before:
            steps[-1] = size
        else:
            steps.append(size)
    return steps


def _key(part: Part, rank: int, headings: list[Part], ranks: dict[int, int]) -> tuple[int, int, int]:
    """What orders headings: group of sizes, capitals, depth of the number."""
    depth = _depth(part)
    mates = [other for other in headings if ranks[id(other)] == rank]
    deepest = max(_depth(other) for other in mates)
    if not depth and deepest > 1:
        depth = deepest + 1
    return (
        rank,
        int(not part.text.isupper()) if any(other.text.isupper() for other in mates) and not depth else 0,
        depth,
    )


def _depth(part: Part) -> int:
    """How many numbers stand in front of a heading; 0 for none."""
    number = NUMBERED.match(part.text)
    return number[1].count(".") + 1 if number else 0


def _size(part: Part) -> float:
    return max(line.size for row in part.rows for line in row)
