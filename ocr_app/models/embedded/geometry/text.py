"""Text blocks: which lines are paragraphs, list items, headings and code, and how their lines are joined."""

import re
from dataclasses import dataclass
from itertools import pairwise
from statistics import median

from ocr_app.models.embedded.geometry.blocks import Block
from ocr_app.models.embedded.geometry.marks import SECTION, is_in_turn, read_mark
from ocr_app.models.embedded.geometry.seen import SeenLine, SeenPage, advance, is_code, rows_of
from ocr_app.models.embedded.letters import is_wide
from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import RegionKind

INDENT = 0.8  # sizes of the type: a first line set in by this much opens a paragraph
SHORT_LINE = 0.8  # of its block: a line that ends before this ends a paragraph

KINDS = {
    "title": RegionKind.HEADING,
    "section-header": RegionKind.HEADING,
    "list-item": RegionKind.LIST_ITEM,
    "caption": RegionKind.PARAGRAPH,
    "footnote": RegionKind.FOOTNOTE,
    "page-header": RegionKind.FURNITURE,
    "page-footer": RegionKind.FURNITURE,
}

LIST_ITEM = CLASSES.index("list-item")
SURE_ITEM = 0.85  # probability from which a block without a mark is an item all the same
LARGE_HEADING = 1.5  # times the running text: what is set so large needs no second look
SAME_SIZE = 0.12  # headings that differ by more in size are two
HEADING_GAP = 0.9  # sizes of type between the lines of one heading
CODE_GAP = 1.5
ITEM_GAP = 0.6
ROOM = 2.0  # sizes of type that a line leaves beyond the next word when it ends on purpose
SENTENCE_ENDS = '.!?:;。！？：；"”»)）…'
MIN_SENTENCE = 40  # characters: shorter ends of blocks are labels
MAX_HEADING_WORDS = 16
THICKER, LARGER = (
    1.08,
    1.08,
)  # times the running text: what is neither is no heading, unless numbered or in capitals
TIGHT = 0.6  # sizes of type between lines of one block
MIN_HEADING_LETTERS = 2
MAX_COMMAS = 3
MAX_WORDS_TO_FULL_STOP = 8

CAPTION = re.compile(
    r"(table|figure|fig\.|tabelle|abbildung|abb\.|tableau|tabla|cuadro|表|图|圖)\s*[\dIVX]", re.IGNORECASE
)

BARE_NUMBER = re.compile(
    r"(chapter|part|section|appendix|annex|kapitel|teil|chapitre|partie)\s+[\dIVXA-Z]{1,5}\.?", re.IGNORECASE
)

Row = list[SeenLine]


@dataclass(slots=True)
class Part:
    """A region to be written: rows of lines, or the cells of a table."""

    kind: RegionKind
    rows: list[Row]
    level: int = 0
    cells: list[list[list[int]]] | None = None

    @property
    def left(self) -> float:
        return min(row[0].box[0] for row in self.rows)

    @property
    def text(self) -> str:
        return " ".join(line.text for row in self.rows for line in row)


def parts_of(page: SeenPage, block: Block) -> list[Part]:
    """A block that is no table as regions."""
    rows = rows_of(block.lines)
    kind = KINDS.get(block.kind, RegionKind.PARAGRAPH)
    if kind is RegionKind.FURNITURE:
        return [Part(kind, rows)]
    if is_code(page, block.lines):
        return [Part(RegionKind.CODE, rows)]
    if kind is RegionKind.HEADING:
        return [
            Part(kind, rows, level=1)
            if _is_heading(page, rows)
            else _typed(page, RegionKind.PARAGRAPH, rows, block)
        ]
    return [_typed(page, kind, rows, block) for rows in _paragraphs(page, rows, kind)]


def _is_heading(page: SeenPage, rows: list[Row]) -> bool:
    """Whether what the network takes for a heading reads like one."""
    text = " ".join(line.text for row in rows for line in row)
    if CAPTION.match(text):
        return False
    size = max(line.size for row in rows for line in row) / page.body_size
    num_words = len(text.split())
    if text.count(",") >= MAX_COMMAS:  # names of authors
        return False
    if size > LARGE_HEADING:
        return True
    if sum(map(str.isalpha, text)) < MIN_HEADING_LETTERS:
        return False
    is_sentence = text.endswith(".") and num_words > MAX_WORDS_TO_FULL_STOP
    return num_words <= MAX_HEADING_WORDS and not is_sentence and not text.endswith((":", ","))


def _stands_out(page: SeenPage, rows: list[Row], text: str) -> bool:
    """Whether type or number tells a heading from the running text."""
    lines = [line for row in rows for line in row]
    is_thick = median(line.stroke for line in lines) > THICKER
    is_larger = median(line.size for line in lines) > LARGER * page.body_size
    return is_thick or is_larger or text.isupper() or text[:1].isdigit() or is_wide(text[:1])


def _typed(page: SeenPage, kind: RegionKind, rows: list[Row], block: Block) -> Part:
    is_marked = opens_with_mark(page, rows[0])
    if kind is RegionKind.LIST_ITEM and not is_marked:
        is_marked = SECTION.match(" ".join(line.text for line in rows[0][:2])) is not None
    if is_marked and kind is RegionKind.PARAGRAPH:
        return Part(RegionKind.LIST_ITEM, rows, level=1)
    if kind is RegionKind.LIST_ITEM and not is_marked and block.scores[LIST_ITEM] < SURE_ITEM:
        return Part(RegionKind.PARAGRAPH, rows)
    return Part(kind, rows, level=int(kind is RegionKind.LIST_ITEM))


def opens_with_mark(page: SeenPage, row: Row) -> bool:
    """Whether a row begins with a bullet or an item's number, and says something behind it."""
    text = " ".join(line.text for line in row[:2])
    mark = read_mark(text)
    return mark is not None and " " in text and is_in_turn(mark, page.marks)


def _paragraphs(page: SeenPage, rows: list[Row], kind: RegionKind) -> list[list[Row]]:
    """Rows parted where a paragraph or an item begins."""
    left = min(row[0].box[0] for row in rows)
    right = max(row[-1].box[2] for row in rows)
    paragraphs: list[list[Row]] = []
    for row in rows:
        if not paragraphs or _begins(page, paragraphs[-1], row, (left, right), kind):
            paragraphs.append([])
        paragraphs[-1].append(row)
    return paragraphs


def _begins(
    page: SeenPage, paragraph: list[Row], row: Row, sides: tuple[float, float], kind: RegionKind
) -> bool:
    left, right = sides
    before = paragraph[-1]
    em = page.body_size
    if opens_with_mark(page, row):
        return True
    ends_early = before[-1].box[2] < left + SHORT_LINE * (right - left)
    if kind is RegionKind.LIST_ITEM or opens_with_mark(page, paragraph[0]):
        return row[0].box[0] < paragraph[0][0].box[0] + 0.4 * em and ends_early
    is_set_in = row[0].box[0] - left > INDENT * em and before[0].box[0] - left < INDENT * em / 2
    return is_set_in and (ends_early or right - left > 20 * em)


def joined(page: SeenPage, parts: list[Part]) -> list[Part]:
    """Regions with those put together that the network took apart: headings of several lines, items, code."""
    kept: list[Part] = []
    for part in parts:
        if kept and _goes_on(page, kept[-1], part):
            kept[-1].rows += part.rows
        elif kept and _is_first_line(page, kept[-1], part):
            kept[-1] = Part(part.kind, [*kept[-1].rows, *part.rows])
        else:
            kept.append(part)
    return kept


def _goes_on(page: SeenPage, before: Part, part: Part) -> bool:
    """Whether a region is the rest of the one before it."""
    if part.cells is not None or before.cells is not None:
        return False
    if before.kind is part.kind is RegionKind.PARAGRAPH:
        return _is_cut_sentence(before.text, part.text)
    gap = part.rows[0][0].box[1] - max(line.box[3] for line in before.rows[-1])
    size = max(line.size for line in before.rows[-1])
    if gap < -size:
        return False
    if before.kind is part.kind is RegionKind.HEADING:
        is_alike = abs(part.rows[0][0].size - size) < SAME_SIZE * size
        is_near = gap < HEADING_GAP * size or BARE_NUMBER.fullmatch(before.text) is not None
        return is_alike and is_near and not opens_with_mark(page, part.rows[0])
    if before.kind is part.kind is RegionKind.CODE:
        return gap < CODE_GAP * page.body_size
    if before.kind is RegionKind.LIST_ITEM and part.kind in (RegionKind.LIST_ITEM, RegionKind.PARAGRAPH):
        return gap < ITEM_GAP * page.body_size and _is_rest_of_item(page, before, part)
    return False


def _is_first_line(page: SeenPage, heading: Part, part: Part) -> bool:
    """Whether what is called a heading is the first line of the lines right below it, set like them."""
    if (
        heading.kind is not RegionKind.HEADING
        or part.kind is not RegionKind.PARAGRAPH
        or part.cells is not None
        or " " not in heading.text  # a single word names what follows
    ):
        return False
    gap = part.rows[0][0].box[1] - max(line.box[3] for line in heading.rows[-1])
    em = page.body_size
    is_tight = 0 <= gap < TIGHT * em and abs(part.left - heading.left) < em / 2
    return is_tight and not _stands_out(page, heading.rows, heading.text)


def _is_cut_sentence(before: str, after: str) -> bool:
    """Whether a paragraph stops in the middle of a sentence that goes on in the next: at the end of a column,
    or around a figure.
    """
    return before[-1:] not in SENTENCE_ENDS and after[:1].islower() and len(before) > MIN_SENTENCE


def _is_rest_of_item(page: SeenPage, item: Part, part: Part) -> bool:
    """Whether unmarked lines stand under the text of an item that is not finished."""
    if opens_with_mark(page, part.rows[0]) or SECTION.match(part.text) or item.text.endswith((".", ":", ";")):
        return False
    em = page.body_size
    return part.left > item.left + 0.5 * em and abs(part.left - item.rows[0][-1].box[0]) < 3 * em


def has_line_breaks(page: SeenPage, part: Part) -> bool:
    """Whether the lines of a paragraph end on purpose, as those of an address: each leaves room for the next
    word.
    """
    if part.kind is not RegionKind.PARAGRAPH or len(part.rows) < 2:
        return False
    em = page.body_size
    mates = [line for line in page.lines if abs(line.box[0] - part.left) < em and line.size < 1.2 * em]
    right = max(line.box[2] for line in mates) if mates else 0.0
    for row, following in pairwise(part.rows):
        word = following[0].text.split(" ")[0]
        width = sum(map(advance, word)) * following[0].size
        if row[-1].box[2] + width + ROOM * em > right:
            return False
    return True
