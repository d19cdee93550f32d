"""Values that cross a module border: page images, visual tokens, regions, results, telemetry and events.

A page is paper: a page of the user's document. `page_index` counts from 0 and is internal; `page_number`
counts from 1 and is shown. All boxes are (x0, y0, x1, y1) in pixels of the upright page image
(`PageImage.pixels` after the encoder has put it right), origin top left.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np

Box = tuple[float, float, float, float]


class Verdict(StrEnum):
    """What became of one page."""

    OK = "ok"
    BLANK = "blank"
    INCOMPLETE = "incomplete"
    TOKEN_CAP = "token_cap"
    TIMEOUT = "timeout"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_good(self) -> bool:
        return self in (Verdict.OK, Verdict.BLANK)


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
class PageFailure:
    """A page that could not be drawn: it becomes a page record, never a gap."""

    page_index: int
    reason: str
    verdict: Verdict = Verdict.FAILED


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

    @property
    def page_index(self) -> int:
        return self.image.page_index

    def line_text(self, line: Line) -> str:
        runs = self.runs[line.first_run : line.first_run + line.num_runs]
        return "".join(run.text + " " * run.has_space_after for run in runs).rstrip()


class RegionKind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    FURNITURE = "furniture"  # running header, footer, page number: in JSON, left out of Markdown unless asked
    UNPLACED = "unplaced"  # seen by the encoder, not written by the decoder: appended and marked


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters as written, separator in front included, with the run they were copied from."""

    text: str
    run_index: int | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """One typed stretch of a page's text, in reading order."""

    kind: RegionKind
    pieces: tuple[Piece, ...] = ()
    level: int = 0  # headings: 1 to 6; list items: depth from 1
    rows: tuple[tuple[tuple[Piece, ...], ...], ...] = ()  # tables only: rows of cells of pieces
    is_continuation: bool = False  # goes on with the last region of the page before
    is_tight: bool = False  # a continuation that is joined without a space (Chinese, or a hyphen dropped)

    @property
    def text(self) -> str:
        if self.kind is RegionKind.TABLE:
            return "\n".join("\t".join(cell_text(cell) for cell in row) for row in self.rows)
        return cell_text(self.pieces)

    @property
    def run_indices(self) -> tuple[int, ...]:
        pieces = self.pieces or tuple(piece for row in self.rows for cell in row for piece in cell)
        return tuple(piece.run_index for piece in pieces if piece.run_index is not None)


def cell_text(pieces: tuple[Piece, ...]) -> str:
    return "".join(piece.text for piece in pieces).strip()


@dataclass(frozen=True, slots=True)
class PageReading:
    """What a reader made of one page."""

    verdict: Verdict
    regions: tuple[Region, ...]
    markdown: str
    joint: str = (
        "\n\n"  # goes between the page before and this one: a page that continues a paragraph has " " or ""
    )
    reason: str | None = None
    num_tokens: int = 0
    confidence: float | None = None


@dataclass(frozen=True, slots=True)
class PageResult:
    """The record of one page: for N pages asked for there are N of these."""

    page_index: int
    verdict: Verdict
    markdown: str = ""
    joint: str = "\n\n"
    reason: str | None = None
    regions: tuple[Region, ...] = ()
    runs: tuple[Run, ...] = ()
    figures: tuple[Box, ...] = ()
    width_px: int = 0
    height_px: int = 0
    dpi: float = 0.0
    width_pt: float = 0.0
    height_pt: float = 0.0
    rotation: int = 0
    turn: int = 0
    skew: float = 0.0
    confidence: float | None = None
    num_tokens: int = 0
    encode_s: float = 0.0
    decode_s: float = 0.0
    notes: tuple[str, ...] = ()

    @property
    def page_number(self) -> int:
        return self.page_index + 1


class ResidentState(StrEnum):
    ACTIVE = "active"
    OVERLAP = "overlap"
    RETAINED = "retained"


@dataclass(frozen=True, slots=True)
class ResidentPage:
    """A page whose KV, or a part of it, is in memory now."""

    page_index: int
    state: ResidentState
    num_blocks: int


@dataclass(frozen=True, slots=True)
class KVSample:
    """One reading of the KV cache. None means not measured, never 0."""

    allocated_bytes: int | None
    live_bytes: int | None
    attended_tokens: int | None
    resident_pages: tuple[ResidentPage, ...] = ()
    num_tokens: int = 0  # output tokens of this document so far
    step_s: float | None = None  # duration of the last decode step


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """Memory of one device, or of this process where there is no GPU; the label says which."""

    label: str
    used_bytes: int | None
    total_bytes: int | None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """New Markdown of a page. The deltas of a page, joined, are its Markdown."""

    page_index: int
    text: str
    run_indices: tuple[int, ...] = ()  # the runs just copied: what to light up


@dataclass(frozen=True, slots=True)
class PageStarted:
    """The page image is upright and its runs are known; reading begins."""

    page_index: int
    image: PageImage
    runs: tuple[Run, ...]
    figures: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Telemetry:
    """All counters at one moment of one job."""

    time_s: float  # since the job began
    page_index: int
    kv: KVSample | None
    devices: tuple[DeviceMemory, ...]
    process_bytes: int | None
    num_pages_done: int
    num_pages_total: int
    tokens_per_s: float | None = None
    pages_per_s: float | None = None
    ttft_s: float | None = None
    eta_s: float | None = None
    eta_low_s: float | None = None
    eta_high_s: float | None = None
    num_reuse_hits: int = 0
    num_reuse_lookups: int = 0


@dataclass(frozen=True, slots=True)
class PageFinished:
    result: PageResult


class Outcome(StrEnum):
    DONE = "done"
    DONE_WITH_WARNINGS = "done_with_warnings"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class DocumentFinished:
    """The last event of a document."""

    outcome: Outcome
    num_pages: int
    verdict_counts: dict[Verdict, int] = field(default_factory=dict)
    elapsed_s: float = 0.0
    peak_kv_bytes: int | None = None  # most the KV pool ever took
    notes: tuple[str, ...] = ()  # for the person: that the file was repaired, what of it is not read


Event = PageStarted | TextDelta | Telemetry | PageFinished | DocumentFinished
