"""What was seen: page images, and the runs, lines and pictures that the encoder found on them."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Box = tuple[float, float, float, float]  # x0, y0, x1, y1 in pixels of the upright page image


@dataclass(frozen=True, slots=True, eq=False)
class PageImage:
    """One page as pixels."""

    page_index: int
    pixels: "np.ndarray"  # (H, W, 3) uint8, RGB
    dpi: float
    width_pt: float
    height_pt: float
    rotation: int = 0  # clockwise degrees the file asked for (/Rotate, EXIF), already applied
    turn: int = 0  # clockwise degrees (0, 90, 180, 270) the encoder added because the text stood sideways
    skew: float = 0.0  # degrees by which the encoder straightened the scan
    is_blank: bool = False
    notes: tuple[str, ...] = ()  # for the person: why the resolution was lowered, what was repaired
    lack: str | None = None  # why a part of the page may be missing from the pixels; None: it is whole

    @property
    def page_number(self) -> int:
        return self.page_index + 1

    @property
    def width_px(self) -> int:
        return int(self.pixels.shape[1])

    @property
    def height_px(self) -> int:
        return int(self.pixels.shape[0])


@dataclass(frozen=True, slots=True)
class Run:
    """One visual token: at most eight recognised characters without a space."""

    text: str
    box: Box
    confidence: float  # mean probability of its characters, 0 to 1
    has_space_after: bool
    line_index: int  # into EncodedPage.lines
    place_in_line: int  # 0-based


@dataclass(frozen=True, slots=True)
class Line:
    """One detected line of text: runs[first_run : first_run + num_runs] of its page."""

    box: Box
    first_run: int
    num_runs: int
    confidence: float
    stroke_px: float = 0.0  # mean thickness of its strokes; 0 where it is not known
    ink: Box | None = None  # around its letters alone; None where it was not measured


@dataclass(frozen=True, slots=True)
class Rule:
    """A printed level or upright line, in pixels of the page: where it lies and from where to where it
    runs.
    """

    place: float
    start: float
    end: float


@dataclass(frozen=True, slots=True)
class TableGrid:
    """Where a table's rows and columns are parted; its outer edges are not among them."""

    box: Box
    row_edges: tuple[float, ...]
    column_edges: tuple[float, ...]
    # (first row, last row, first column, last column) of each cell over several
    spans: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class PageLayout:
    """What pretrained networks say of the L lines of a page. Probabilities, no decisions."""

    classes: "np.ndarray"  # (L, number of classes) float32
    links: "np.ndarray"  # (E, 2) int, pairs of neighbouring lines
    link_probabilities: "np.ndarray"  # (E,) float32, that a pair belongs to one block
    pictures: tuple[Box, ...] = ()
    level_rules: tuple[Rule, ...] = ()
    upright_rules: tuple[Rule, ...] = ()
    grids: tuple[TableGrid, ...] = ()  # of what may be tables


@dataclass(frozen=True, slots=True, eq=False)
class EncodedPage:
    """What the visual encoder saw on one page. Runs are ordered by line; lines from top to bottom, then left
    to right.
    """

    image: PageImage  # upright: turn and skew applied
    lines: tuple[Line, ...]
    runs: tuple[Run, ...]
    features: "np.ndarray"  # (num_runs, 3 * D) float32: mean, first and last recogniser frame of each run
    encode_s: float = 0.0
    num_reuse_hits: int = 0
    num_reuse_lookups: int = 0
    figures: tuple[Box, ...] = ()  # pictures, which are not read
    layout: PageLayout | None = None

    @property
    def page_index(self) -> int:
        return self.image.page_index

    def line_text(self, line: Line) -> str:
        runs = self.runs[line.first_run : line.first_run + line.num_runs]
        return "".join(run.text + " " * run.has_space_after for run in runs).rstrip()
