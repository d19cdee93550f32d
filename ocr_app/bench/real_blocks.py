"""A page of Markdown as a list of blocks, for pages marked up by hand and for any engine's output alike.

Marks of the truth are HTML comments: `furniture: TEXT` (running heads and feet, not of the body), `float` …
`/float` (a block whose place in the order is free), anything else (figures, formulas) says that nothing is
to be read there. `real_score` compares the blocks; nothing here knows of engines.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from html.parser import HTMLParser
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

Rows = tuple[tuple[str, ...], ...]

MAX_COLUMN_SPAN = 1000
# written one way, as people and engines write them in several; bullets say what the list says already
_FOLDED = str.maketrans(dict.fromkeys("‐‑‒–—−", "-") | dict.fromkeys("“”", '"') | dict.fromkeys("‘’", "'"))
_FOLDED |= str.maketrans("", "", "•●▪")
_FURNITURE = re.compile(r"<!--\s*furniture:(.*?)-->\n?")
_FLOAT_MARK = re.compile(r"(<!--\s*/?float\s*-->)")


@dataclass(frozen=True, slots=True)
class Block:
    """A heading, list item, paragraph, table or piece of code, its text folded by `fold`."""

    kind: str
    text: str
    level: int = 0  # of a heading; depth of an item
    rows: Rows = ()  # of a table
    is_float: bool = False
    opens_float: bool = False  # the first of a group of free blocks


@dataclass(frozen=True, slots=True)
class MarkedPage:
    blocks: tuple[Block, ...]
    furniture: tuple[str, ...]

    def of_kind(self, kind: str) -> list[Block]:
        return [block for block in self.blocks if block.kind == kind]

    @property
    def text(self) -> str:
        return " ".join(block.text for block in self.blocks)


def read_page(markdown: str) -> MarkedPage:
    """Take marked-up Markdown apart; blocks without any text are left out."""
    furniture = tuple(fold(text) for text in _FURNITURE.findall(markdown))
    blocks: list[Block] = []
    is_float = False
    for piece in _FLOAT_MARK.split(_FURNITURE.sub("", markdown)):
        if _FLOAT_MARK.fullmatch(piece):
            is_float = "/" not in piece
            continue
        for index, block in enumerate(_blocks(piece)):
            blocks.append(replace(block, is_float=is_float, opens_float=is_float and index == 0))
    return MarkedPage(tuple(block for block in blocks if block.text or block.rows), furniture)


def fold(text: str) -> str:
    """Text without comments and formulas, compatibility forms, dashes and quotes written one way."""
    text = unicodedata.normalize("NFKC", re.sub(r"<!--.*?-->", " ", text)).translate(_FOLDED)
    return " ".join(re.sub(r"\$[^$]{0,400}\$", " ", text).split())


def _blocks(markdown: str) -> list[Block]:
    from markdown_it import MarkdownIt

    walker = _Walker()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        walker.take(token)
    return walker.blocks


@dataclass(slots=True)
class _Walker:
    """Collects blocks while the flat list of block tokens goes by."""

    blocks: list[Block] = field(default_factory=list)
    depth: int = 0
    heading_level: int = 0
    rows: list[list[str]] | None = None  # of the open table
    item_number: str = ""
    is_item_start: bool = False

    def take(self, token: "Token") -> None:
        match token.type:
            case "heading_open":
                self.heading_level = int(token.tag[1:])
            case "bullet_list_open" | "ordered_list_open":
                self.depth += 1
            case "bullet_list_close" | "ordered_list_close":
                self.depth -= 1
            case "list_item_open":
                self.item_number = token.info + token.markup if token.info else ""
                self.is_item_start = True
            case "table_open":
                self.rows = []
            case "tr_open" if self.rows is not None:
                self.rows.append([])
            case "table_close":
                self.blocks.append(_table(self.rows or ()))
                self.rows = None
            case "fence" | "code_block":
                self.blocks.append(Block("code", fold(token.content)))
            case "html_block":
                self.blocks += _html_blocks(token.content)
            case "inline":
                self.take_text(_inline_text(token.children or ()))

    def take_text(self, text: str) -> None:
        if self.rows is not None:
            self.rows[-1].append(text)
        elif self.heading_level:
            self.blocks.append(Block("heading", text, self.heading_level))
            self.heading_level = 0
        elif self.depth and self.is_item_start:
            self.blocks.append(Block("item", f"{self.item_number} {text}".strip(), self.depth))
            self.is_item_start = False
        else:
            self.blocks.append(Block("paragraph", text, self.depth))


def _inline_text(children: Iterable["Token"]) -> str:
    def written() -> Iterator[str]:
        for child in children:
            if child.type in ("text", "code_inline"):
                yield child.content
            elif child.type in ("softbreak", "hardbreak") or child.content.startswith("<br"):
                yield " "

    return fold("".join(written()))


def _table(rows: Iterable[Iterable[str]]) -> Block:
    kept = tuple(tuple(row) for row in rows)
    return Block("table", " ".join(cell for row in kept for cell in row if cell), rows=kept)


def _html_blocks(html: str) -> list[Block]:
    """The tables of a piece of HTML or, where there is none, its text."""
    parser = _TableParser()
    parser.feed(html)
    if parser.tables:
        return [_table([[fold(cell) for cell in row] for row in rows]) for rows in parser.tables]
    text = fold(re.sub(r"<[^>]+>", " ", html))
    return [Block("paragraph", text)] if text else []


class _TableParser(HTMLParser):
    """Rows and cells; a cell over several columns is followed by empty ones."""

    def __init__(self) -> None:
        super().__init__()
        self.tables: list[list[list[str]]] = []
        self.is_in_cell = False
        self.column_span = 1

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "table":
            self.tables.append([])
        elif tag == "tr" and self.tables:
            self.tables[-1].append([])
        elif tag in ("td", "th") and self.tables and self.tables[-1]:
            self.tables[-1][-1].append("")
            span = dict(attrs).get("colspan") or ""
            self.column_span = min(MAX_COLUMN_SPAN, int(span)) if span.isascii() and span.isdigit() else 1
            self.is_in_cell = True

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th") and self.is_in_cell:
            self.tables[-1][-1] += [""] * (self.column_span - 1)
            self.is_in_cell = False

    def handle_data(self, data: str) -> None:
        if self.is_in_cell and self.tables[-1]:
            self.tables[-1][-1][-1] += " " + data
