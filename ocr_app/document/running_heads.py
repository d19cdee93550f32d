"""Which lines that a reader calls furniture are running heads, feet and page numbers, and may be left out.
When unsure, a line is body. Knows texts and places; nothing of records, files or models.

A line is set aside only where it stands at the edge of its page, apart from the body and with nothing of it
further out, and one of these holds: it is a page number; it repeats at that edge on another page; it carries
a mark that only heads and feet carry; or its page shows by a page number past the first that it is one page
of several. A sentence, a caption and a note are never set aside by their place alone.
"""

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from statistics import median

from ocr_app.types import Box

TOP_BAND, BOTTOM_BAND, SIDE_BAND = 0.13, 0.14, 0.06  # of the page's height, and of its width
MIN_GAP = 0.6  # line heights between a head or foot and the body
SLACK = 0.3  # line heights by which boxes of a repeated foot and of the body may overlap
NEAR_PAGES = 12  # pages between which a head may differ a little: a misread letter, another section
MIN_LIKENESS = 0.85
MAX_WORDS = 30
MIN_SENTENCE_WORDS = 5

_ROMAN = r"(?=[ivxlc])c?(?:xc|xl|l?x{0,3})(?:ix|iv|v?i{0,3})"
_NUMBER = rf"(?:[0-9]{{1,5}}|{_ROMAN})"
_PAGE_WORD = r"(?:page|pages|pg|p|seite|s|page no|página|pagina|pág|strona|стр)"
_PAGE_NUMBER = re.compile(
    rf"[-–—·|\[(\s]*(?:{_PAGE_WORD}\.?\s*)?(?P<number>{_NUMBER}|[A-Z]?[0-9]{{0,3}}[-–.][0-9]{{1,4}})"
    rf"(?:\s*(?:of|/|von|de|sur|di)\s*{_NUMBER})?[-–—·|\])\s]*",
    re.IGNORECASE,
)
_SPELLED_NUMBER = re.compile(rf"{_PAGE_WORD}\.?\s*[0-9]{{1,5}}", re.IGNORECASE)
_CHINESE_PAGE = re.compile(r"第\s*(?P<number>[0-9]{1,5})\s*页.{0,12}")
# a number beside a head: set off by a mark, or behind words in capitals; "Invoice 4711" is none
_NUMBER_BESIDE = (
    re.compile(r"(?P<number>[0-9]{1,4})\s*[|·•]\s*\S.*"),
    re.compile(r".*\S\s*[|·•]\s*(?:page\s*)?(?P<number>[0-9]{1,4})", re.IGNORECASE),
    re.compile(r"(?:[A-Z]{3,}\s+){2,}(?P<number>[0-9]{1,3})"),
    re.compile(r"(?P<number>[0-9]{1,3})(?:\s+[A-Z]{3,}){2,}"),
)
# what stands in heads and feet, hardly ever in a line of its own at the edge of a page's body
_MARKS = (
    re.compile(r"https?://|\bwww\.\w|\bdoi\s*:|\b10\.\d{4,}/", re.IGNORECASE),
    re.compile(r"\b[EP]?-?ISSN\b|\bISBN\b|\bISO \d+(?:-\d+)?:\d{4}\b", re.IGNORECASE),
    re.compile(r"©|\(c\)\s*(?:19|20)\d\d|\ball rights reserved\b|\bcopyright\b", re.IGNORECASE),
    re.compile(rf"\b{_PAGE_WORD}\.?\s*{_NUMBER}\s*(?:of|/|von|de|sur|di)\s*{_NUMBER}\b", re.IGNORECASE),
    re.compile(r"\bchapter\s+\d+\b.*\bpage\s+\d+$|^chapter\s+\d+\b.*\s\d+$", re.IGNORECASE),
    re.compile(r"\bvol(?:ume)?\.?\s*\d+.{0,3}?(?:no|nr|issue|iss)\.?\s*\d+", re.IGNORECASE),
    re.compile(r"\b(?:19|20)\d\d\b[;,]\s*\d+(?:\(\d+\))?\s*:\s*[A-Za-z]?\d+"),  # year; volume: pages
    re.compile(r"\bdownloaded (?:from|by|on)\b|\barxiv\s*:", re.IGNORECASE),
    re.compile(r"^(?:form|cat\.? no\.?|doc\.? no\.?)\s+\d[\w-]*\s+\(?\d", re.IGNORECASE),
)
_CAPTION = re.compile(
    r"(?:table|tab|figure|fig|listing|tabelle|abbildung|abb|tableau|tabla)\.?\s*\d|[表图]\s*\d", re.I
)
_SENTENCE_END = (".", "!", "?", ":", ";", ",", "-", "。", "！", "？", "：", "；", "，")
_NOTE_MARK = re.compile(r"(?:\d{1,2}|[*†‡'’\"°])\s?[A-ZÀ-Ý][a-zß-ÿ]")


class Edge(StrEnum):
    TOP = "top"
    BOTTOM = "bottom"
    SIDE = "side"


@dataclass(frozen=True, slots=True)
class PlacedText:
    """A line, or a few beside each other, as it stands on its page; no box where the reader tells none."""

    text: str
    box: Box | None
    line_height: float = 0.0


@dataclass(frozen=True, slots=True)
class PageEdges:
    """What must be known of one page: its lines called furniture, and its body. Sizes in pixels."""

    page_index: int
    width: int
    height: int
    called: tuple[PlacedText, ...]
    body: tuple[PlacedText, ...]


class Repeats:
    """Lines called furniture by edge, over the pages seen so far."""

    def __init__(self, pages: Iterable[PageEdges] = ()) -> None:
        self._pages_of: defaultdict[tuple[Edge | None, str], set[int]] = defaultdict(set)
        self._near: defaultdict[tuple[Edge | None, int], set[str]] = defaultdict(set)
        for page in pages:
            self.add(page)

    def add(self, page: PageEdges) -> None:
        for line in page.called:
            text = _masked(line.text)
            if not text:
                continue
            edge = edge_of(line, page)
            self._pages_of[edge, text].add(page.page_index)
            self._near[edge, page.page_index].add(text)

    def has(self, line: PlacedText, page: PageEdges) -> bool:
        """Whether the line stands at that edge of another page too, digits and single letters aside."""
        edge, text = edge_of(line, page), _masked(line.text)
        if self._pages_of.get((edge, text), set()) - {page.page_index}:
            return True
        first, last = page.page_index - NEAR_PAGES, page.page_index + NEAR_PAGES
        others = (index for index in range(first, last + 1) if index != page.page_index)
        return any(_are_alike(text, other) for index in others for other in self._near.get((edge, index), ()))


def running_heads(page: PageEdges, repeats: Repeats) -> tuple[bool, ...]:
    """For each line of `page.called` whether it may be set aside. With no body on the page only repeated
    lines may: what is left is all that there is.
    """
    outer = [_is_outside(line, page, MIN_GAP) for line in page.called]
    # what repeats needs no white space: its place and its words prove it
    repeated = [repeats.has(line, page) and _is_outside(line, page, -SLACK) for line in page.called]
    without_box = [repeats.has(line, page) and line.box is None for line in page.called]
    if not page.body:
        return tuple(repeated)
    outer_lines = (line for line, is_outer in zip(page.called, outer, strict=True) if is_outer)
    number = max((_number_of(line.text) for line in outer_lines), default=0)
    return tuple(
        again or boxless or (is_outer and _is_believed(line, edge_of(line, page), number))
        for line, is_outer, again, boxless in zip(page.called, outer, repeated, without_box, strict=True)
    )


def edge_of(line: PlacedText, page: PageEdges) -> Edge | None:
    """The edge of the page that a line stands at; None for one amid the page, or without a place."""
    if line.box is None or not page.height or not page.width:
        return None
    left, top, right, bottom = line.box
    if bottom <= TOP_BAND * page.height:
        return Edge.TOP
    if top >= (1 - BOTTOM_BAND) * page.height:
        return Edge.BOTTOM
    if right <= SIDE_BAND * page.width or left >= (1 - SIDE_BAND) * page.width:
        return Edge.SIDE
    return None


def is_page_number(text: str) -> bool:
    """Whether a line holds a page number and nothing else: `12`, `- 4 -`, `Page 3 of 9`, `iv`, `3-2`."""
    text = " ".join(text.split())
    return bool(_PAGE_NUMBER.fullmatch(text) or _CHINESE_PAGE.fullmatch(text))


def _is_believed(line: PlacedText, edge: Edge | None, number: int) -> bool:
    """Whether a line at the edge is a head or foot by what it says, or by the page's own number."""
    text = " ".join(line.text.split())
    if is_page_number(text):
        return True
    if _CAPTION.match(text) or len(text.split()) > MAX_WORDS:
        return False
    if any(mark.search(text) for mark in _MARKS):
        return True
    if number < 1 or _is_sentence(text):
        return False
    # a first page has its title at the top; any later page does not begin with one
    return number > 1 or edge is Edge.BOTTOM


def _is_sentence(text: str) -> bool:
    num_words = max(len(text.split()), sum(char > "\u2e80" for char in text) // 2)
    return (num_words >= MIN_SENTENCE_WORDS and text.endswith(_SENTENCE_END)) or _NOTE_MARK.match(
        text
    ) is not None


def _is_outside(line: PlacedText, page: PageEdges, min_gap: float) -> bool:
    """Whether the line stands at an edge, outside of the body and so many line heights apart from it."""
    edge = edge_of(line, page)
    if edge is None or line.box is None:
        return False
    is_spelled = _SPELLED_NUMBER.fullmatch(line.text.strip()) is not None  # "page 5", beside a title too
    if edge is Edge.SIDE or is_spelled:
        return True
    boxes = [body.box for body in page.body if body.box is not None]
    gap = min_gap * median([body.line_height for body in page.body if body.box is not None] or [0.0])
    if edge is Edge.TOP:
        return all(box[1] - line.box[3] >= gap for box in boxes)
    return all(line.box[1] - box[3] >= gap for box in boxes)


def _number_of(text: str) -> int:
    """The page number that a head or foot shows; 0 for none. Marks such as `3-2` or `B-4` are past the first
    page of a longer document, whichever they are.
    """
    text = " ".join(text.split())
    patterns = (_PAGE_NUMBER, _CHINESE_PAGE, *_NUMBER_BESIDE)
    match = next((match for pattern in patterns if (match := pattern.fullmatch(text))), None)
    if match is None:
        return 0
    number = match["number"].lower()
    if number.isdigit():
        return int(number)
    return _roman(number) if re.fullmatch(_ROMAN, number) else 2


def _roman(text: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10, "l": 50, "c": 100}[char] for char in text]
    pairs = zip(values, [*values[1:], 0], strict=True)
    return sum(-value if value < after else value for value, after in pairs)


def _masked(text: str) -> str:
    return " ".join(re.sub(r"\d+", "0", text).casefold().split())


def _are_alike(first: str, second: str) -> bool:
    longest = max(len(first), len(second), 1)
    if abs(len(first) - len(second)) > (1 - MIN_LIKENESS) * longest:
        return False
    return first == second or SequenceMatcher(None, first, second, autojunk=False).ratio() >= MIN_LIKENESS
