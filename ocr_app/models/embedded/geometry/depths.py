"""How deep list items lie in each other, by their left edges, from one region to the next."""

from ocr_app.models.embedded.geometry.text import Part
from ocr_app.types import RegionKind

SAME_INDENT = 0.6  # sizes of type: left edges nearer than this are one
OTHER_COLUMN = 8.0  # sizes of type: no item is set in as far from the one it belongs to
MAX_LEVEL = 3


def set_depths(parts: list[Part], body_size: float) -> None:
    """Give every list item of a page its level, from 1."""
    lefts: list[float] = []  # of the open items, from the outermost
    slack = SAME_INDENT * body_size
    for part in parts:
        left = part.left
        if lefts and abs(left - lefts[-1]) > OTHER_COLUMN * body_size:
            lefts.clear()
        if part.kind is not RegionKind.LIST_ITEM:
            while lefts and left <= lefts[-1] + slack:  # what is not set in from an item ends it
                lefts.pop()
            continue
        while lefts and left < lefts[-1] - slack:
            lefts.pop()
        if not lefts or left > lefts[-1] + slack:
            lefts.append(left)
        part.level = min(len(lefts), MAX_LEVEL)
