"""Markdown of typed regions, written while a page is still being read.

The writer is told about regions, pieces, rows and cells as a reader makes them, and returns what is final
now. `page_markdown` plays finished regions back through the same writer, so that the text streamed and the
text exported cannot differ. Prose streams with a delay of one piece (its hyphen may still be dropped); a
table and a code region come whole at their end, because the number of columns and the length of the fence
depend on all of them. Knows nothing of models, files or documents.
"""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol

from ocr_app.document.markdown_escape import HARD_BREAK, ProseEscaper, escape
from ocr_app.document.markdown_lists import ListIndent, ListText
from ocr_app.types import Piece, Region, RegionKind, cell_text

UNPLACED_MARK = "*[not placed by the reader]*"
_HYPHENS = ("-", "\u2010", "\u00ad")


class _TextStream(Protocol):
    needs_blank_line: bool

    def feed(self, text: str) -> str: ...

    def finish(self) -> str: ...


class MarkdownWriter:
    """Write one page. Each call returns the Markdown that became final by it; joined, the returns are
    `markdown`.

    Regions called furniture are recorded, and written as paragraphs only where they are kept or `furniture`
    is set.
    """

    def __init__(self, *, furniture: bool = False) -> None:
        self._writes_furniture = furniture
        self._parts: list[str] = []
        self._regions: list[Region] = []
        self._region: Region | None = None  # the open one, without its pieces
        self._stream: _TextStream | None = None
        self._rows: list[list[list[Piece]]] = []  # of the open region; prose fills a single cell
        self._held: Piece | None = None  # the last piece: its hyphen may yet be dropped
        self._has_line_break = False
        self._is_begun = False  # whether anything of the open region was written
        self._indent = ListIndent()
        self._last_written: Region | None = None

    @property
    def markdown(self) -> str:
        return "".join(self._parts)

    @property
    def regions(self) -> tuple[Region, ...]:
        """The closed regions, furniture included."""
        return tuple(self._regions)

    def start_region(
        self,
        kind: RegionKind,
        level: int = 0,
        *,
        is_continuation: bool = False,
        is_tight: bool = False,
        is_kept: bool = False,
    ) -> str:
        """Close the open region and open another."""
        text = self.finish()
        self._region = Region(
            kind, level=level, is_continuation=is_continuation, is_tight=is_tight, is_kept=is_kept
        )
        self._rows = [[[]]]
        self._stream = self._open_stream(self._region)
        self._has_line_break = False
        self._is_begun = False
        return text

    def add_piece(self, piece: Piece, separator: str = "") -> str:
        """Add a bare piece to the open region; `separator` goes in front of it unless it is the first."""
        assert self._region is not None, "add_piece before start_region"
        text = self._release()
        gap = "\n" * self._has_line_break + separator
        self._has_line_break = False
        is_first = not self._rows[-1][-1] and self._region.kind is not RegionKind.CODE
        self._held = piece if is_first else replace(piece, text=gap + piece.text)
        return text

    def drop_hyphen(self) -> None:
        """Remove the hyphen that ends the last piece: the word goes on in the next line. Without one nothing
        changes.
        """
        if self._held is not None and self._held.text.endswith(_HYPHENS):
            self._held = replace(self._held, text=self._held.text[:-1])

    def line_break(self) -> str:
        """End a line inside the open region."""
        text = self._release()
        self._has_line_break = True
        return text

    def next_cell(self) -> str:
        """Begin the next cell of the open table's row."""
        text = self._release()
        self._rows[-1].append([])
        return text

    def next_row(self) -> str:
        """Begin the next row of the open table."""
        text = self._release()
        self._rows.append([[]])
        return text

    def finish(self) -> str:
        """Close the open region, if any."""
        if self._region is None:
            return ""
        text = self._release()
        region = self._frozen(self._region)
        if self._stream is not None:
            text += self._write(self._stream.finish())
        elif region.kind is RegionKind.TABLE:
            text += self._write(table_markdown(region.rows))
        elif region.kind is RegionKind.CODE:
            text += self._write(code_markdown("".join(piece.text for piece in region.pieces)))
        self._regions.append(region)
        self._region = None
        return text

    def _open_stream(self, region: Region) -> _TextStream | None:
        """How the text of a region is written as it comes; None for what is written at its end or not at
        all.
        """
        kind = region.kind
        if kind in (RegionKind.TABLE, RegionKind.CODE) or (
            region.is_set_aside and not self._writes_furniture
        ):
            return None
        if kind is RegionKind.LIST_ITEM and not region.is_continuation:
            return ListText(self._indent, region.level)
        if kind is RegionKind.HEADING:
            hashes = "#" * min(max(region.level, 1), 6) + " "
            return _Prose(hashes, line_break=" ", is_heading=True)
        if kind is RegionKind.CAPTION:
            return _Prose("*", "*", also="*")
        return _Prose(UNPLACED_MARK + " " if kind is RegionKind.UNPLACED else "")

    def _release(self) -> str:
        """Let go of the last piece: nothing can change it any more."""
        piece, self._held = self._held, None
        if piece is None or self._region is None:
            return ""
        self._rows[-1][-1].append(piece)
        return self._write(self._stream.feed(piece.text)) if self._stream else ""

    def _frozen(self, region: Region) -> Region:
        """The open region with the pieces it has got."""
        rows = tuple(tuple(tuple(cell) for cell in row) for row in self._rows)
        if region.kind is RegionKind.TABLE:
            return replace(region, rows=rows)
        return replace(region, pieces=tuple(piece for row in rows for cell in row for piece in cell))

    def _write(self, text: str) -> str:
        if not text:
            return ""
        if not self._is_begun:
            text = self._gap_before() + text
            self._begin()
        self._parts.append(text)
        return text

    def _gap_before(self) -> str:
        """What parts the open region from the one written before it: items of one list stand on neighbouring
        lines.
        """
        if self._last_written is None:
            return ""
        needs_blank_line = self._stream is None or self._stream.needs_blank_line
        is_list = _is_marked_item(self._region) and _is_marked_item(self._last_written)
        return "\n" if is_list and not needs_blank_line else "\n\n"

    def _begin(self) -> None:
        self._is_begun = True
        self._last_written = self._region
        if not _is_marked_item(self._region):
            self._indent.close()


class _Prose:
    """Escaped text between a prefix and a suffix, neither of which is written round nothing."""

    needs_blank_line = False

    def __init__(
        self,
        prefix: str = "",
        suffix: str = "",
        *,
        line_break: str = HARD_BREAK,
        also: str = "",
        is_heading: bool = False,
    ) -> None:
        self._escaper = ProseEscaper(prefix, line_break=line_break, also=also, is_heading=is_heading)
        self._prefix = prefix
        self._suffix = suffix
        self._has_text = False

    def feed(self, text: str) -> str:
        return self._wrap(self._escaper.feed(text))

    def finish(self) -> str:
        text = self._wrap(self._escaper.finish())
        return text + self._suffix if self._has_text else ""

    def _wrap(self, text: str) -> str:
        if not text or self._has_text:
            return text
        self._has_text = True
        return self._prefix + text


def _is_marked_item(region: Region | None) -> bool:
    return region is not None and region.kind is RegionKind.LIST_ITEM and not region.is_continuation


def page_markdown(regions: Iterable[Region], *, furniture: bool = False) -> str:
    """Markdown of a page's regions, exactly as the writer streams it."""
    writer = MarkdownWriter(furniture=furniture)
    for region in regions:
        _replay(writer, region)
    writer.finish()
    return writer.markdown


def region_markdown(region: Region) -> str:
    """Markdown of one region alone, furniture too."""
    return page_markdown([region], furniture=True)


def _replay(writer: MarkdownWriter, region: Region) -> None:
    writer.start_region(
        region.kind,
        region.level,
        is_continuation=region.is_continuation,
        is_tight=region.is_tight,
        is_kept=region.is_kept,
    )
    for piece in region.pieces:
        writer.add_piece(piece)
    for row_index, row in enumerate(region.rows):
        if row_index:
            writer.next_row()
        for cell_index, cell in enumerate(row):
            if cell_index:
                writer.next_cell()
            for piece in cell:
                writer.add_piece(piece)


def table_markdown(rows: Iterable[Iterable[tuple[Piece, ...]]]) -> str:
    """A GitHub pipe table. The first row is the header; short rows are padded to the longest."""
    rows = list(rows)
    lines = table_lines(rows)
    if lines:
        lines.insert(1, "| " + " | ".join(["---"] * max(map(len, rows))) + " |")
    return "\n".join(lines)


def table_lines(rows: list[Iterable[tuple[Piece, ...]]]) -> list[str]:
    """The rows of a pipe table without the line under its header; none where no cell holds text."""
    texts = [[escape(cell_text(cell), "| ", line_break=" ", also="|") for cell in row] for row in rows]
    if not any(text for row in texts for text in row):
        return []
    num_columns = max(map(len, texts))
    return ["| " + " | ".join(row + [""] * (num_columns - len(row))) + " |" for row in texts]


def code_markdown(text: str) -> str:
    """A fenced code block; the fence is longer than any run of backticks inside."""
    lines = ["".join(map(_printed, line)).rstrip() for line in text.splitlines()]
    body = "\n".join(lines).strip("\n")
    if not body:
        return ""
    longest = max((len(run) for run in re.findall("`+", body)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{body}\n{fence}"


def _printed(char: str) -> str:
    if char == "\t" or unicodedata.category(char) != "Cc":
        return char
    return " " if char.isspace() else ""
