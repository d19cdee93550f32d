"""List items in Markdown: the marker printed on paper becomes a list marker, indented by depth. Knows nothing
of pages.
"""

import re
from dataclasses import dataclass

from ocr_app.document.markdown_escape import ProseEscaper

_NUMBER = re.compile(r"([0-9]{1,9})[.)](?=\s|[^\W\d_])\s*")
# 0 and o: how recognisers read a hollow bullet; a dash right before a Chinese character is none of its text
_BULLET = re.compile(r"[•▪▫◦‣⁃∙·●○■□◆◇➢➤►▶]\s*|[-–—*+0o]\s+|[-–—](?=[\u2e80-\u9fff])")
_UNDECIDED = re.compile(r"[0-9]{0,9}|[0-9]{1,9}[.)]|[-–—*+o]")


@dataclass(frozen=True, slots=True)
class Marker:
    """What stood in front of an item; digits is None for a bullet or nothing."""

    digits: str | None
    rest: str


def read_marker(text: str, *, is_whole: bool) -> Marker | None:
    """Split the marker from an item's text. None while the text is too short to tell, unless it is all there
    is.
    """
    text = text.lstrip()
    if not is_whole and _UNDECIDED.fullmatch(text):
        return None
    if number := _NUMBER.match(text):
        return Marker(number[1], text[number.end() :])
    bullet = _BULLET.match(text)
    return Marker(None, text[bullet.end() :] if bullet else text)


@dataclass(frozen=True, slots=True)
class _Level:
    content_column: int
    number: int | None
    delimiter: str


class ListIndent:
    """The open list levels of a page: where the next item's marker goes."""

    def __init__(self) -> None:
        self._levels: list[_Level] = []

    def close(self) -> None:
        """Forget the levels: something that is no list item was written."""
        self._levels.clear()

    def open_item(self, depth: int, digits: str | None) -> tuple[str, bool]:
        """Return the indented marker, and whether a blank line must stand above it."""
        depth = min(max(depth, 1), len(self._levels) + 1)
        sibling = self._levels[depth - 1] if depth <= len(self._levels) else None
        del self._levels[depth - 1 :]
        column = self._levels[-1].content_column if self._levels else 0
        number = None if digits is None else int(digits)
        delimiter = _delimiter(sibling, number)
        marker = f"{digits or '-'}{delimiter} "
        self._levels.append(_Level(column + len(marker), number, delimiter))
        # a nested ordered list that does not start at 1 cannot interrupt the text of its parent
        needs_blank_line = depth > 1 and sibling is None and number not in (None, 1)
        return " " * column + marker, needs_blank_line


def _delimiter(sibling: _Level | None, number: int | None) -> str:
    """Renderers count on from a list's first number, so a number out of turn starts a new list: the other
    delimiter does that.
    """
    if number is None:
        return ""
    if sibling is None or sibling.number is None:
        return "."
    if number == sibling.number + 1:
        return sibling.delimiter
    return ")" if sibling.delimiter == "." else "."


class ListText:
    """The text of one item as it arrives. Nothing is written before its marker is known."""

    def __init__(self, indent: ListIndent, depth: int) -> None:
        self._indent = indent
        self._depth = depth
        self._head = ""
        self._escaper: ProseEscaper | None = None
        self.needs_blank_line = False

    def feed(self, text: str) -> str:
        if self._escaper is not None:
            return self._escaper.feed(text)
        self._head += text
        marker = read_marker(self._head, is_whole=False)
        # a marker with nothing behind it may turn out to be all there is
        if marker is None or not marker.rest.strip():
            return ""
        return self._begin(marker)

    def finish(self) -> str:
        begun = ""
        if self._escaper is None:
            marker = read_marker(self._head, is_whole=True)
            if marker is None or not self._head.strip():
                return ""
            begun = self._begin(marker if marker.rest.strip() else Marker(None, self._head))
        return begun + self._escaper.finish() if self._escaper else begun

    def _begin(self, marker: Marker) -> str:
        prefix, self.needs_blank_line = self._indent.open_item(self._depth, marker.digits)
        self._escaper = ProseEscaper(line_break="\\\n" + " " * len(prefix))
        return prefix + self._escaper.feed(marker.rest)
