"""What was written: verdicts, regions of text, and the record of a page."""

from dataclasses import dataclass
from enum import StrEnum

from ocr_app.types.seen import Box, Run


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


@dataclass(frozen=True, slots=True)
class PageFailure:
    """A page that could not be drawn: it becomes a page record, never a gap."""

    page_index: int
    reason: str
    verdict: Verdict = Verdict.FAILED


class RegionKind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    FURNITURE = "furniture"  # running header, footer, page number: in JSON; Markdown: see Region.is_set_aside
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
    is_kept: bool = False  # furniture that nothing proves to be a running head: written at its place

    @property
    def is_set_aside(self) -> bool:
        """Whether Markdown leaves it out unless asked."""
        return self.kind is RegionKind.FURNITURE and not self.is_kept

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
