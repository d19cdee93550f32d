"""What a page of Markdown says: its plain text, headings, list items and tables, for any engine's Markdown
alike.

Plain text keeps what is printed on the page and nothing of the syntax: the number of a numbered item stays,
the bullet does not, raw HTML goes. Nothing here knows which engine wrote the Markdown or compares it with
anything.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.token import Token

Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class ListItem:
    depth: int  # from 1
    text: str  # its own words, without those of the items nested in it


@dataclass(frozen=True, slots=True)
class PageStructure:
    """One page, taken apart."""

    text: str
    headings: tuple[Heading, ...]
    list_items: tuple[ListItem, ...]
    rows: tuple[Row, ...]  # of every table, from top to bottom


def read_markdown(markdown: str) -> PageStructure:
    """Take Markdown apart with a CommonMark parser that also knows pipe tables."""
    from markdown_it import MarkdownIt

    walker = _Walker()
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        walker.take(token)
    items = tuple(ListItem(item.depth, " ".join(item.texts)) for item in walker.items)
    rows = tuple(tuple(row) for row in walker.rows)
    return PageStructure("\n".join(walker.lines), tuple(walker.headings), items, rows)


@dataclass(slots=True)
class _OpenItem:
    depth: int
    marker: str
    texts: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Walker:
    """Collects text and structure while the flat list of block tokens goes by."""

    lines: list[str] = field(default_factory=list)
    headings: list[Heading] = field(default_factory=list)
    items: list[_OpenItem] = field(default_factory=list)
    rows: list[list[str]] = field(default_factory=list)
    open_items: list[_OpenItem] = field(default_factory=list)
    heading_level: int = 0
    is_in_row: bool = False

    def take(self, token: "Token") -> None:
        match token.type:
            case "heading_open":
                self.heading_level = int(token.tag[1:])
            case "heading_close":
                self.heading_level = 0
            case "list_item_open":
                item = _OpenItem(
                    len(self.open_items) + 1, f"{token.info}{token.markup} " if token.info else ""
                )
                self.items.append(item)
                self.open_items.append(item)
            case "list_item_close":
                self.open_items.pop()
            case "tr_open":
                self.is_in_row = True
                self.rows.append([])
            case "tr_close":
                self.is_in_row = False
                self.lines.append(" ".join(cell for cell in self.rows[-1] if cell))
            case "fence" | "code_block":
                self.lines.append(token.content)
            case "inline":
                self.take_text(_inline_text(token.children or ()))

    def take_text(self, text: str) -> None:
        if self.is_in_row:
            self.rows[-1].append(text)
            return
        if self.heading_level:
            self.headings.append(Heading(self.heading_level, text))
        elif self.open_items:
            self._take_item_text(text)
            return
        self.lines.append(text)

    def _take_item_text(self, text: str) -> None:
        item = self.open_items[-1]
        self.lines.append(text if item.texts else item.marker + text)
        item.texts.append(text)


def _inline_text(children: Iterable["Token"]) -> str:
    parts = []
    for child in children:
        if child.type in ("text", "code_inline"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak") or child.content.lower().startswith("<br"):
            parts.append(" ")
    return "".join(parts).strip()
