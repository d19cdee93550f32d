"""The one suggestion: an order of runs and the structure tokens in front of each."""

from dataclasses import dataclass

from ocr_app.models.embedded.geometry.blocks import Block
from ocr_app.models.embedded.geometry.headings import set_levels
from ocr_app.models.embedded.geometry.lists import list_rows
from ocr_app.models.embedded.geometry.order import reading_order
from ocr_app.models.embedded.geometry.outside import with_body
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.tables import cells_of, page_blocks
from ocr_app.models.embedded.geometry.text import Part, joined, parts_of
from ocr_app.models.embedded.grammar import HEADINGS, LIST_ITEMS, Structure
from ocr_app.models.embedded.letters import HYPHENS
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
    order: list[int] = []
    before: list[tuple[Structure, ...]] = []
    for part in parts:
        for tokens, run in _written(page, part):
            order.append(run)
            before.append(tokens)
    return Suggestion(tuple(order), tuple(before))


def _in_order(page: SeenPage, blocks: list[Block]) -> list[Block]:
    heads = [block for block in blocks if block.kind == "page-header"]
    feet = [block for block in blocks if block.kind == "page-footer"]
    body = [block for block in blocks if block not in heads and block not in feet]
    return [*_sorted(heads), *reading_order(body, page.body_size), *_sorted(feet)]


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


def _written(page: SeenPage, part: Part):
    """(structure tokens, run) of one region."""
    if part.cells is not None:
        yield from _table(part.cells)
        return
    opening: tuple[Structure, ...] = (_opening(part),)
    for row in part.rows:
        for line in row:
            for place, run in enumerate(line.runs):
                yield opening if place == 0 else (), run
                opening = ()
            opening = ()
        last = page.runs[row[-1].runs[-1]].text
        if part.kind is RegionKind.CODE:
            opening = (Structure.LINE_BREAK,)
        elif last[-1:] in HYPHENS and len(last) > 1:
            opening = (Structure.DROP_HYPHEN,)


def _opening(part: Part) -> Structure:
    if part.kind is RegionKind.HEADING:
        return HEADINGS[min(max(part.level, 1), len(HEADINGS)) - 1]
    if part.kind is RegionKind.LIST_ITEM:
        return LIST_ITEMS[min(max(part.level, 1), len(LIST_ITEMS)) - 1]
    return OPENINGS[part.kind]


def _table(cells: list[list[list[int]]]):
    opening: tuple[Structure, ...] = (Structure.TABLE,)
    for row in cells:
        last = max((i for i, cell in enumerate(row) if cell), default=-1)
        for cell in row[: last + 1]:
            opening = (*opening, Structure.CELL)
            for place, run in enumerate(cell):
                yield opening if place == 0 else (), run
                opening = ()
        opening = (*opening, Structure.ROW) if opening != (Structure.TABLE,) else opening
