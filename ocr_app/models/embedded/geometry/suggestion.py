"""The one suggestion: an order of runs and the structure tokens in front of each."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from ocr_app.models.embedded.geometry.blocks import Block
from ocr_app.models.embedded.geometry.depths import set_depths
from ocr_app.models.embedded.geometry.headings import set_levels
from ocr_app.models.embedded.geometry.joins import Joins
from ocr_app.models.embedded.geometry.lists import list_rows
from ocr_app.models.embedded.geometry.order import reading_order
from ocr_app.models.embedded.geometry.outside import with_body
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.tables import Cells, cells_of, page_blocks
from ocr_app.models.embedded.geometry.text import Part, has_line_breaks, joined, parts_of
from ocr_app.models.embedded.grammar import HEADINGS, LIST_ITEMS, Structure
from ocr_app.types import EncodedPage, RegionKind

OPENINGS = {
    RegionKind.PARAGRAPH: Structure.PARAGRAPH,
    RegionKind.CODE: Structure.CODE,
    RegionKind.CAPTION: Structure.CAPTION,
    RegionKind.FOOTNOTE: Structure.FOOTNOTE,
    RegionKind.FURNITURE: Structure.FURNITURE,
}


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What geometry would write: runs in order, and before[i] the structure tokens in front of order[i]."""

    order: tuple[int, ...] = ()
    before: tuple[tuple[Structure, ...], ...] = ()


def suggest(encoded: EncodedPage) -> Suggestion:
    """Order and structure of a page from what was seen; every run is in it once."""
    page = SeenPage(encoded)
    blocks = with_body(page_blocks(page))
    parts = [part for block in _in_order(page, blocks) for part in _parts(page, block)]
    parts = joined(page, parts)
    set_levels(parts, page.body_size)
    set_depths(parts, page.body_size)
    joins = Joins(page)
    order: list[int] = []
    before: list[tuple[Structure, ...]] = []
    for part in parts:
        for tokens, run in _written(page, part, joins):
            order.append(run)
            before.append(tokens)
    return Suggestion(tuple(order), tuple(before))


def _in_order(page: SeenPage, blocks: list[Block]) -> list[Block]:
    """Running heads, the body in reading order, its notes, and running feet."""
    heads = [block for block in blocks if block.kind == "page-header"]
    feet = [block for block in blocks if block.kind == "page-footer"]
    notes = [block for block in blocks if block.kind == "footnote"]
    body = [block for block in blocks if block.kind not in ("page-header", "page-footer", "footnote")]
    return [*_sorted(heads), *reading_order(body, page.body_size), *_sorted(notes), *_sorted(feet)]


def _sorted(blocks: list[Block]) -> list[Block]:
    return sorted(blocks, key=lambda block: (block.box[1], block.box[0]))


def _parts(page: SeenPage, block: Block) -> list[Part]:
    if entries := list_rows(block):
        return [
            Part(RegionKind.HEADING if is_head else RegionKind.LIST_ITEM, [row], 1)
            for row, is_head in entries
        ]
    cells = cells_of(page, block)
    return [Part(RegionKind.TABLE, [block.lines], cells=cells)] if cells else parts_of(page, block)


def _written(page: SeenPage, part: Part, joins: Joins) -> Iterator[tuple[tuple[Structure, ...], int]]:
    """(structure tokens, run) of one region."""
    if part.cells is not None:
        yield from _table(page, part.cells, joins)
        return
    before: tuple[Structure, ...] = (_opening(part),)
    is_broken = part.kind is RegionKind.CODE or has_line_breaks(page, part)
    for row, following in zip_longest(part.rows, part.rows[1:]):
        for line in row:
            for run in line.runs:
                yield before, run
                before = ()
        if following is not None:
            before = (Structure.LINE_BREAK,) if is_broken else joins.between(row[-1].text, following[0].text)


def _opening(part: Part) -> Structure:
    if part.kind is RegionKind.HEADING:
        return HEADINGS[min(max(part.level, 1), len(HEADINGS)) - 1]
    if part.kind is RegionKind.LIST_ITEM:
        return LIST_ITEMS[min(max(part.level, 1), len(LIST_ITEMS)) - 1]
    return OPENINGS[part.kind]


def _table(page: SeenPage, cells: Cells, joins: Joins) -> Iterator[tuple[tuple[Structure, ...], int]]:
    """(structure tokens, run) of a table; cells left out at the end of a row are empty."""
    before: tuple[Structure, ...] = (Structure.TABLE,)
    for row in cells:
        last = max((place for place, cell in enumerate(row) if cell), default=-1)
        for cell in row[: last + 1]:
            before = (*before, Structure.CELL)
            for run, following in zip_longest(cell, cell[1:]):
                yield before, run
                before = ()
                if following is not None and page.runs[run].line_index != page.runs[following].line_index:
                    before = joins.between(page.runs[run].text, page.runs[following].text)
        before = (*before, Structure.ROW)
