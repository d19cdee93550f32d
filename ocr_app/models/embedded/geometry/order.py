"""Reading order of blocks: a page is cut along white space, and where blocks stand side by side it is decided
whether they are columns, read one after the other, or rows, read across.
"""

from collections.abc import Sequence
from itertools import pairwise

from ocr_app.models.embedded.geometry.blocks import Block
from ocr_app.models.embedded.geometry.marks import read_mark

MIN_LINES = 2  # of a block of running text
PROSE = 7.0  # sizes of type: the width of such a block


def reading_order(blocks: Sequence[Block], em: float) -> list[Block]:
    """All blocks in reading order; `em` is the size of the running text in pixels."""
    blocks = list(blocks)
    if len(blocks) < 2:
        return blocks
    columns = _columns(blocks, em)
    if len(columns) > 1:
        if not _are_rows(columns, em):
            return [block for column in columns for block in reading_order(column, em)]
        bands = _bands(blocks, slack=0.0)
        if len(bands) > 1:
            return [block for band in bands for block in reading_order(band, em)]
        return [block for column in columns for block in reading_order(column, em)]
    bands = _bands(blocks, slack=0.3 * em)
    if len(bands) == 1:
        return sorted(blocks, key=lambda block: (block.box[1], block.box[0]))
    return [block for part in _joined_where_columns(bands, em) for block in reading_order(part, em)]


def _columns(blocks: list[Block], em: float) -> list[list[Block]]:
    """Blocks parted at gutters that nothing crosses, from left to right."""
    parts: list[list[Block]] = []
    right = float("-inf")
    for block in sorted(blocks, key=lambda block: block.box[0]):
        if block.box[0] < right + 0.25 * em:
            parts[-1].append(block)
        else:
            parts.append([block])
        right = max(right, block.box[2])
    return parts


def _bands(blocks: list[Block], slack: float) -> list[list[Block]]:
    """Blocks parted at gaps from the left to the right edge, from top to bottom; boxes may overlap by
    `slack`.
    """
    parts: list[list[Block]] = []
    bottom = float("-inf")
    for block in sorted(blocks, key=lambda block: block.box[1]):
        if block.box[1] < bottom - slack:
            parts[-1].append(block)
        else:
            parts.append([block])
        bottom = max(bottom, block.box[3])
    return parts


def _joined_where_columns(bands: list[list[Block]], em: float) -> list[list[Block]]:
    """Neighbouring bands put together as long as one gutter goes down through all of them."""
    parts = _merged(bands, em, loose=True)
    firm = [
        part
        for whole in parts
        for part in (
            [whole] if _are_text_columns(whole, em) else _merged(_bands(whole, 0.3 * em), em, loose=False)
        )
    ]
    return firm if len(firm) > 1 else bands


def _merged(bands: list[list[Block]], em: float, *, loose: bool) -> list[list[Block]]:
    """Neighbouring bands in the same columns put together; if `loose`, also those that stand in one of them
    alone.
    """
    parts: list[list[Block]] = []
    for band in bands:
        if parts and any(_goes_on(a, b, em, loose) for a, b in ((parts[-1], band), (band, parts[-1]))):
            parts[-1] = [*parts[-1], *band]
        else:
            parts.append(band)
    return parts


def _goes_on(columns: list[Block], band: list[Block], em: float, loose: bool) -> bool:
    """Whether a band belongs to columns above or below it: it stands in them, and is no line of its own
    across.
    """
    num_columns = len(_columns(columns, em))
    together = len(_columns([*columns, *band], em))
    return 1 < together <= num_columns and (loose or len(_columns(band, em)) > 1)


def _are_text_columns(blocks: list[Block], em: float) -> bool:
    """Whether blocks are columns of running text. Then what stands in one of them alone belongs to it; else
    it is rather what follows: a heading below a letterhead.
    """
    columns = _columns(blocks, em)
    return len(columns) > 1 and all(_holds_text(column, em) for column in columns)


def _holds_text(column: list[Block], em: float) -> bool:
    """Whether a column holds lines of running text one below the other."""
    return any(len(block.lines) >= MIN_LINES and block.box[2] - block.box[0] > PROSE * em for block in column)


def _are_rows(columns: list[list[Block]], em: float) -> bool:
    """Whether what stands side by side is read across: by its numbers, or because most blocks of the side
    with fewer begin beside one of the other.
    """
    told = _told_by_marks(columns)
    if told is not None:
        return told
    fewest = min(columns, key=len)
    others = [block for column in columns if column is not fewest for block in column]
    if len(fewest) < 2:
        return False
    tops = [block.box[1] for block in others]
    aligned = sum(any(abs(block.box[1] - top) < 0.5 * em for top in tops) for block in fewest)
    return aligned >= 0.75 * len(fewest)


def _told_by_marks(columns: list[list[Block]]) -> bool | None:
    """Whether numbers and letters of items count on across; None where they say nothing."""
    down = [_values(sorted(column, key=lambda block: block.box[1])) for column in columns]
    if sum(bool(values) for values in down) < 2:
        return None
    across = _values(
        sorted(
            (block for column in columns for block in column), key=lambda b: (round(b.box[1] / 8), b.box[0])
        )
    )
    num_down = sum(
        after - before == 1 for before, after in pairwise([value for values in down for value in values])
    )
    num_across = sum(after - before == 1 for before, after in pairwise(across))
    return None if num_down == num_across else num_across > num_down


def _values(blocks: list[Block]) -> list[int]:
    """The values of the marks that blocks open with."""
    marks = [read_mark(block.lines[0].text) for block in blocks]
    return [mark.value for mark in marks if mark and mark.value]
