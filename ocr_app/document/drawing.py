"""What both page sources of the renderer share: the drawn page, and how far it must be reduced. Runs in the
renderer only.
"""

import math
from dataclasses import dataclass
from typing import Any, Protocol

MAX_SIDE_PX = 20_000


@dataclass(frozen=True, slots=True)
class Limits:
    """How pages are drawn. `dpi` is for pages without pixels of their own."""

    dpi: int
    max_pixels: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, eq=False)
class Drawing:
    """One page as pixels, (H, W, 3) uint8 in RGB, upright as the file asks."""

    pixels: Any  # numpy array
    dpi: float
    rotation: int
    notes: tuple[str, ...]
    width_pt: float
    height_pt: float
    is_partial: bool = False  # the library left out what it could not draw


class PageSource(Protocol):
    """An open document. `draw` raises PageRenderError with the reason for a page that cannot be drawn."""

    page_count: int
    is_repaired: bool
    notes: tuple[str, ...]

    def draw(self, page_index: int) -> Drawing: ...


def fitting_scale(width: float, height: float, max_pixels: int) -> float:
    """The factor, at most 1, by which a width and height in pixels must shrink so that both, rounded up, stay
    within the limits.
    """
    if math.ceil(width) * math.ceil(height) <= max_pixels and max(width, height) <= MAX_SIDE_PX:
        return 1.0
    # the largest s with (s * width + 1) * (s * height + 1) = max_pixels
    area, half = width * height, (width + height) / 2
    scale = (math.sqrt(half * half + area * (max_pixels - 1)) - half) / area
    return min(1.0, scale, (MAX_SIDE_PX - 1) / max(width, height))
