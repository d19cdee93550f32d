"""What is on a laid-out page: every character, its box, and the unit of text it belongs to.

The typesetter wraps each unit in a colour that is the unit's number. PyMuPDF tells the colour of every
character, so no text has to be aligned with another. Walking a unit's source text along its characters then
tells which hyphens the typesetter put in, and checks that nothing was lost. Knows nothing of how pages are
written or drawn.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from itertools import groupby
from typing import TYPE_CHECKING

import numpy as np

from ocr_app.document.markdown_writer import page_markdown
from ocr_app.types import Piece, Region, RegionKind

if TYPE_CHECKING:
    import pymupdf

LEADER = "\ue000"  # in a source text: any number of dots, put in by the typesetter
BOLD_NAME = re.compile(
    "bold|black|heavy|semib|demi", re.IGNORECASE
)  # of a font: PDF flags are not set by every typesetter
HYPHENS = "-\u00ad\u2010"


class TraceError(Exception):
    """A laid-out page does not hold exactly the text that was sent to the typesetter (a glyph or a colour got
    lost).
    """


class UnitKind(StrEnum):
    PARAGRAPH = "paragraph"
    HEADING = "heading"
    LIST_ITEM = "list_item"
    CELL = "cell"
    CODE = "code"
    CAPTION = "caption"
    FOOTNOTE = "footnote"
    FURNITURE = "furniture"


@dataclass(frozen=True, slots=True)
class Unit:
    """One paragraph, heading, list item, cell ...: what is read in one go."""

    kind: UnitKind
    level: int = 0  # heading 1-4; list depth 1-3; else 0
    region: int = 0  # running number in the document; the cells of a table share one
    row: int = 0
    column: int = 0
    num_columns: int = 0  # tables only
    keeps_lines: bool = False  # the ends of its lines are kept: code, addresses, verse, index


@dataclass(frozen=True, slots=True, eq=False)
class PageTruth:
    """One page. Units are in reading order: header furniture, body, footnotes, footer furniture."""

    page_index: int
    width_pt: float
    height_pt: float
    units: tuple[Unit, ...]
    is_continuation: bool  # the first unit of the body goes on from the page before
    chars: str  # every visible character, in reading order; spaces are left out
    boxes: np.ndarray  # (N, 4) float32, points, origin top left
    unit_of: np.ndarray  # (N,) int32, into units
    soft_hyphen: np.ndarray  # (N,) bool: put in by the typesetter at the end of a line
    line_end: np.ndarray  # (N,) bool: ends a line that is kept; only in units with keeps_lines
    is_bold: np.ndarray  # (N,) bool
    texts: tuple[
        str, ...
        # of each unit, what stands on this page: with spaces, without soft hyphens, lines divided by newlines
        # if kept
    ]


@dataclass(frozen=True, slots=True, eq=False)
class LaidOutDocument:
    """A document as a person sees it (black text) and all that is known of it."""

    pdf: bytes
    pages: tuple[PageTruth, ...]
    language: str
    style: str
    seed: int
    markdown: tuple[str, ...]  # of each page


@dataclass(frozen=True, slots=True)
class SourceUnit:
    """A unit as sent to the typesetter. Furniture holds {page} and {pages}, which are filled in per page."""

    unit: Unit
    text: str
    is_footer: bool = False

    @property
    def end(self) -> int:
        """Where the walk ends: behind the last visible character."""
        return len(self.text.rstrip())

    @property
    def place(self) -> int:
        """Header 0, body 1, footnotes 2, footer 3: the order on a page."""
        if self.unit.kind is UnitKind.FURNITURE:
            return 3 if self.is_footer else 0
        return 2 if self.unit.kind is UnitKind.FOOTNOTE else 1


@dataclass(slots=True)
class _Characters:
    """The characters of one unit on one page, in the order they were drawn."""

    chars: list[str] = field(default_factory=list)
    boxes: list[tuple[float, float, float, float]] = field(default_factory=list)
    is_bold: list[bool] = field(default_factory=list)


def trace_document(
    pdf: bytes, sources: dict[int, SourceUnit], label: Callable[[int], str], max_pages: int
) -> tuple[PageTruth, ...]:
    """The truth of the first `max_pages` pages of a PDF whose colours are unit numbers.

    `label` gives what is printed as the number of a page, by its index.
    """
    import pymupdf

    cursors = {number: 0 for number in sources}
    pages: list[PageTruth] = []
    last_regions: set[int] = set()
    with pymupdf.open(stream=pdf, filetype="pdf") as document:
        last_label = label(len(document) - 1)
        for page in document.pages(0, min(max_pages, len(document))):
            truth = _trace_page(page, sources, cursors, (label(page.number), last_label), last_regions)
            last_regions = {
                unit.region
                for unit in truth.units
                if unit.kind not in (UnitKind.FURNITURE, UnitKind.FOOTNOTE)
            }
            pages.append(truth)
        if max_pages >= len(document):
            _check_complete(sources, cursors)
    return tuple(pages)


def _check_complete(sources: dict[int, SourceUnit], cursors: dict[int, int]) -> None:
    """Every unit's text was found to its end."""
    for number, source in sources.items():
        if source.place in (1, 2) and source.text[cursors[number] : source.end].strip(LEADER + " \n"):
            raise TraceError(f"{source.unit.kind}: the end of {source.text[:60]!r} is on no page")


def _characters(page: "pymupdf.Page") -> Iterator[tuple[int, str, tuple[float, float, float, float], bool]]:
    """Unit number, character, box and boldness of everything visible on a page, in drawing order."""
    for block in page.get_text("rawdict", flags=0)["blocks"]:
        for line in block["lines"]:
            last = line["spans"][-1]["chars"][-1] if line["spans"] else None
            for span in line["spans"]:
                is_bold = BOLD_NAME.search(span["font"]) is not None
                red, green, blue = span["color"] >> 16, span["color"] >> 8 & 255, span["color"] & 255
                for char in span["chars"]:
                    is_unseen = (
                        char["c"] == "\u00ad" and char is not last
                    )  # browsers leave in what they did not divide at
                    if not (char["c"].isspace() or is_unseen):
                        yield red | green << 8 | blue << 16, char["c"], char["bbox"], is_bold


def _trace_page(
    page: "pymupdf.Page",
    sources: dict[int, SourceUnit],
    cursors: dict[int, int],
    label: tuple[str, str],
    before: set[int],
) -> PageTruth:
    found: dict[int, _Characters] = {}
    for number, char, box, is_bold in _characters(page):
        if number not in sources:
            raise TraceError(f"page {page.number}: {char!r} belongs to no unit")
        part = found.setdefault(number, _Characters())
        part.chars.append(char)
        part.boxes.append(box)
        part.is_bold.append(is_bold)
    for number in found:
        if cursors[number] >= sources[number].end:  # the head of a table comes again on each of its pages
            cursors[number] = 0
    order = sorted(found, key=lambda number: (sources[number].place, number))
    walks = []
    for number in order:
        source = sources[number].text
        if sources[number].unit.kind is UnitKind.FURNITURE:
            cursors[number], source = 0, source.replace("{page}", label[0]).replace("{pages}", label[1])
        walks.append(walk_source(source, cursors[number], found[number].chars))
        cursors[number] = walks[-1].end
    body = [sources[number].unit for number in order if sources[number].place == 1]
    return PageTruth(
        page_index=page.number,
        width_pt=page.rect.width,
        height_pt=page.rect.height,
        units=tuple(sources[number].unit for number in order),
        is_continuation=bool(body) and body[0].region in before,
        chars="".join("".join(found[number].chars) for number in order),
        boxes=np.array([box for number in order for box in found[number].boxes], np.float32).reshape(-1, 4),
        unit_of=np.repeat(
            np.arange(len(order), dtype=np.int32), [len(found[number].chars) for number in order]
        ),
        soft_hyphen=np.array([flag for walk in walks for flag in walk.soft_hyphen], bool),
        line_end=np.array([flag for walk in walks for flag in walk.line_end], bool),
        is_bold=np.array([flag for number in order for flag in found[number].is_bold], bool),
        texts=tuple(walk.text for walk in walks),
    )


@dataclass(frozen=True, slots=True)
class Walk:
    """What a stretch of characters stands for in its source text."""

    text: str  # with spaces and line ends, without soft hyphens
    soft_hyphen: list[bool]  # of each character
    line_end: list[bool]  # of each character: the source has a newline behind it
    end: int  # where the source goes on


def walk_source(source: str, start: int, chars: list[str]) -> Walk:
    """Follow `source` from `start` along the characters found. Raises TraceError where they differ."""
    at, text, soft = start, [], []
    ends: list[bool] = []
    for char in chars:
        while at < len(source) and (source[at].isspace() or (source[at] == LEADER and char != ".")):
            text.append(source[at] if source[at] != LEADER else "")
            if source[at] == "\n" and ends:
                ends[-1] = True
            at += 1
        is_leader = at < len(source) and source[at] == LEADER
        is_same = at < len(source) and source[at] == char
        if not (is_same or is_leader or char in HYPHENS):
            raise TraceError(f"found {char!r} where the source has {source[at : at + 12]!r}")
        ends.append(False)
        soft.append(not is_same and not is_leader)
        if is_same or is_leader:
            text.append(char)
        at += is_same
    return Walk("".join(text).strip(), soft, ends, at)


def number_regions(pages: tuple[PageTruth, ...]) -> tuple[PageTruth, ...]:
    """Give furniture, which comes again on each page, a region number of its own each time, above all others."""
    following = max((unit.region for page in pages for unit in page.units), default=0) + 1
    numbered = []
    for page in pages:
        units = []
        for unit in page.units:
            if unit.kind is UnitKind.FURNITURE:
                unit, following = replace(unit, region=following), following + 1
            units.append(unit)
        numbered.append(replace(page, units=tuple(units)))
    return tuple(numbered)


def page_regions(page: PageTruth) -> tuple[Region, ...]:
    """The page's units as regions with text, cells gathered into tables."""
    regions = []
    is_first_body = True
    pairs = zip(page.units, page.texts, strict=True)
    for (kind, _), group in groupby(pairs, key=lambda pair: (pair[0].kind, pair[0].region)):
        members = list(group)
        continues = kind is not UnitKind.FURNITURE and is_first_body and page.is_continuation
        is_first_body = is_first_body and kind is UnitKind.FURNITURE
        if kind is UnitKind.CELL:
            regions.append(Region(RegionKind.TABLE, rows=_table_rows(members), is_continuation=continues))
            continue
        for unit, text in members:
            regions.append(
                Region(RegionKind(kind.value), (Piece(text),), level=unit.level, is_continuation=continues)
            )
    return tuple(regions)


def _table_rows(cells: list[tuple[Unit, str]]) -> tuple[tuple[tuple[Piece, ...], ...], ...]:
    """Rows of all columns; a cell without a unit is empty."""
    num_columns = cells[0][0].num_columns
    rows = []
    for _, group in groupby(cells, key=lambda cell: cell[0].row):
        texts = {unit.column: text for unit, text in group}
        rows.append(
            tuple((Piece(texts[column]),) if column in texts else () for column in range(num_columns))
        )
    return tuple(rows)


def markdown_truth(page: PageTruth) -> str:
    """The Markdown a perfect reader writes for this page."""
    return page_markdown(page_regions(page))
