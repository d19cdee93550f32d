"""From units of truth and the runs that were seen to the tokens the reader should write.

Knows units, run indices and the grammar; not how the runs were read or where the truth came from.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ocr_app.models.embedded.grammar import HEADINGS, LIST_ITEMS, NUM_STRUCTURE_TOKENS, Grammar, Structure
from ocr_app.models.embedded.letters import HYPHENS
from ocr_app.training.truth import Unit, UnitKind

SIMPLE_KINDS = {
    UnitKind.PARAGRAPH: Structure.PARAGRAPH,
    UnitKind.CODE: Structure.CODE,
    UnitKind.CAPTION: Structure.CAPTION,
    UnitKind.FOOTNOTE: Structure.FOOTNOTE,
    UnitKind.FURNITURE: Structure.FURNITURE,
}
CONTINUABLE_KINDS = (UnitKind.PARAGRAPH, UnitKind.LIST_ITEM, UnitKind.CELL, UnitKind.CODE)
SAME_ROW_GAP = 0.35  # of the line height: closer pieces of one row are one word cut in two by the detector


@dataclass(frozen=True, slots=True, eq=False)
class SeenRuns:
    """The runs of a page as arrays; V runs."""

    texts: list[str]
    boxes: np.ndarray  # (V, 4)
    line_of: np.ndarray  # (V,)
    unit_of: np.ndarray  # (V,) index into the page's units, -1 for marks that belong to none
    order_in_unit: np.ndarray  # (V,) sorts the runs of a unit into reading order
    ends_in_soft_hyphen: np.ndarray  # (V,) bool
    ends_kept_line: np.ndarray  # (V,) bool: a line ends here that is kept


def page_tokens(units: Sequence[Unit], is_continuation: bool, runs: SeenRuns) -> list[int]:
    """The tokens of one page, END_PAGE last. Every run is in them exactly once."""
    tokens: list[int] = []
    awaits_continuation = is_continuation
    for region in _regions(units, runs):
        kind = units[region[0][0]].kind
        if kind is not UnitKind.FURNITURE:
            if awaits_continuation and kind in CONTINUABLE_KINDS:
                tokens.append(Structure.CONTINUE)
            awaits_continuation = False
        tokens += (
            _table_tokens(units, region, runs)
            if kind is UnitKind.CELL
            else _text_tokens(units[region[0][0]], region[0][1], runs)
        )
    for run in np.flatnonzero(runs.unit_of < 0):
        tokens += [Structure.FURNITURE, NUM_STRUCTURE_TOKENS + int(run)]
    return [*map(int, tokens), int(Structure.END_PAGE)]


def _regions(units: Sequence[Unit], runs: SeenRuns) -> Iterator[list[tuple[int, list[int]]]]:
    """Units that were seen, with their runs in order; the cells of a table together."""
    table: list[tuple[int, list[int]]] = []
    for index, unit in enumerate(units):
        members = np.flatnonzero(runs.unit_of == index)
        if not len(members):
            continue
        ordered = members[np.argsort(runs.order_in_unit[members], kind="stable")].tolist()
        is_same_table = unit.kind is UnitKind.CELL and table and units[table[0][0]].region == unit.region
        if table and not is_same_table:
            yield table
            table = []
        if unit.kind is UnitKind.CELL:
            table.append((index, ordered))
        else:
            yield [(index, ordered)]
    if table:
        yield table


def _text_tokens(unit: Unit, members: list[int], runs: SeenRuns) -> list[int]:
    return [_opening(unit), *_joined(members, runs, keeps_lines=unit.keeps_lines)]


def _opening(unit: Unit) -> Structure:
    if unit.kind is UnitKind.HEADING:
        return HEADINGS[min(max(unit.level, 1), len(HEADINGS)) - 1]
    if unit.kind is UnitKind.LIST_ITEM:
        return LIST_ITEMS[min(max(unit.level, 1), len(LIST_ITEMS)) - 1]
    return SIMPLE_KINDS[unit.kind]


def _table_tokens(units: Sequence[Unit], cells: list[tuple[int, list[int]]], runs: SeenRuns) -> list[int]:
    """All rows that hold text; empty cells are opened before those with text, and not after them: the writer
    fills rows up.
    """
    tokens: list[int] = []
    row = None
    column = 0
    for index, members in sorted(cells, key=lambda cell: (units[cell[0]].row, units[cell[0]].column)):
        unit = units[index]
        if unit.row != row:
            tokens.append(Structure.TABLE if row is None else Structure.ROW)
            row, column = unit.row, 0
        tokens += [Structure.CELL] * (unit.column + 1 - column)
        column = unit.column + 1
        tokens += _joined(members, runs, keeps_lines=False)
    return tokens


def _joined(members: list[int], runs: SeenRuns, *, keeps_lines: bool) -> list[int]:
    tokens: list[int] = []
    for place, run in enumerate(members):
        if place:
            tokens += _join(members[place - 1], run, runs, keeps_lines=keeps_lines)
        tokens.append(NUM_STRUCTURE_TOKENS + run)
    return tokens


def _join(before: int, after: int, runs: SeenRuns, *, keeps_lines: bool) -> list[int]:
    """What stands between two runs of a unit: mostly nothing, since runs say whether a space follows and a
    new line means one.
    """
    if runs.line_of[before] == runs.line_of[after]:
        return []
    (_, top, right, bottom), (left, next_top, _, next_bottom) = runs.boxes[before], runs.boxes[after]
    height = min(bottom - top, next_bottom - next_top)
    if min(bottom, next_bottom) - max(top, next_top) > 0.5 * height:
        return [Structure.JOIN] if left - right < SAME_ROW_GAP * height and left > right - height else []
    if runs.ends_in_soft_hyphen[before] and runs.texts[before][-1] in HYPHENS:
        return [Structure.DROP_HYPHEN]
    return [Structure.LINE_BREAK] if keeps_lines and runs.ends_kept_line[before] else []


def legal_structure(tokens: list[int], num_runs: int, texts: list[str], *, may_continue: bool) -> np.ndarray:
    """(T, NUM_STRUCTURE_TOKENS + 1) bool: what the grammar allows before each token, the last column for
    pointers.

    Raises AssertionError when a token is not allowed: then the targets are wrong.
    """
    grammar = Grammar(num_runs, may_continue)
    legal = np.zeros((len(tokens), NUM_STRUCTURE_TOKENS + 1), bool)
    last_run: int | None = None
    for i, token in enumerate(tokens):
        ends_with_hyphen = last_run is not None and texts[last_run][-1:] in HYPHENS
        legal[i, :NUM_STRUCTURE_TOKENS], legal[i, -1] = grammar.allowed(ends_with_hyphen=ends_with_hyphen)
        assert legal[i, min(token, NUM_STRUCTURE_TOKENS)], f"token {token} at {i} is not allowed in {grammar}"
        if token >= NUM_STRUCTURE_TOKENS:
            last_run = token - NUM_STRUCTURE_TOKENS
        grammar.advance(token)
    return legal
