"""The reader's output language: structure tokens, pointers, and the automaton that keeps every output
well-formed.

A token below `NUM_STRUCTURE_TOKENS` is a Structure; above it, a pointer that copies one visual token of the
page. The automaton knows token ids and counts only. It ends: every pointer is used once, every region holds a
pointer, every table row holds one too and has a bounded number of cells, so a page of V visual tokens takes
at most `max_page_tokens(V)` steps, whatever the logits.
"""

from dataclasses import dataclass
from enum import Enum, IntEnum, auto

import numpy as np


class Structure(IntEnum):
    PAD = 0
    PAGE = 1
    END_PAGE = 2
    PARAGRAPH = 3
    HEADING_1 = 4
    HEADING_2 = 5
    HEADING_3 = 6
    HEADING_4 = 7
    LIST_ITEM_1 = 8
    LIST_ITEM_2 = 9
    LIST_ITEM_3 = 10
    TABLE = 11  # opens the first row
    ROW = 12
    CELL = 13
    CODE = 14
    CAPTION = 15
    FOOTNOTE = 16
    FURNITURE = 17  # running header, footer, page number, and marks that are no text
    CONTINUE = 18  # the next region goes on with the last one of the page before
    LINE_BREAK = 19
    DROP_HYPHEN = 20  # the word goes on in the next line, without its hyphen
    JOIN = 21  # the next run follows without a space, though it lies in another line


NUM_STRUCTURE_TOKENS = 24  # two ids are spare, so that weights survive a new token
MAX_TABLE_COLUMNS = 40
MAX_EMPTY_CELLS = 39  # one after another

HEADINGS = (Structure.HEADING_1, Structure.HEADING_2, Structure.HEADING_3, Structure.HEADING_4)
LIST_ITEMS = (Structure.LIST_ITEM_1, Structure.LIST_ITEM_2, Structure.LIST_ITEM_3)
CONTINUABLE = (Structure.PARAGRAPH, *LIST_ITEMS, Structure.TABLE, Structure.CODE)
BODY = (
    Structure.PARAGRAPH,
    *HEADINGS,
    *LIST_ITEMS,
    Structure.TABLE,
    Structure.CODE,
    Structure.CAPTION,
    Structure.FOOTNOTE,
)
REGIONS = (*BODY, Structure.FURNITURE)


class Phase(Enum):
    BETWEEN = auto()  # nothing open: the start of a page
    CONTINUED = auto()  # CONTINUE was written: a kind must follow
    NEEDS_RUN = auto()  # a region or a join was opened: a pointer must follow
    IN_TEXT = auto()  # after a pointer outside tables
    NEEDS_CELL = auto()  # TABLE or ROW was written
    IN_CELL = auto()  # a cell is open


@dataclass(slots=True)
class Grammar:
    """State of one page. `advance` accepts exactly the tokens that `allowed` allows."""

    num_runs: int
    may_continue: bool = False  # a page lies before this one
    num_copied: int = 0
    phase: Phase = Phase.BETWEEN
    has_body: bool = False
    in_table: bool = False
    num_cells: int = 0  # of the open row
    row_has_text: bool = False
    cell_has_text: bool = False
    num_empty_cells: int = 0  # at the end of the open row
    is_ended: bool = False

    @property
    def has_runs_left(self) -> bool:
        return self.num_copied < self.num_runs

    def allowed(self, *, ends_with_hyphen: bool = True) -> tuple[np.ndarray, bool]:
        """(structure tokens allowed (NUM_STRUCTURE_TOKENS,) bool, is a pointer allowed)."""
        mask = np.zeros(NUM_STRUCTURE_TOKENS, bool)
        if self.is_ended:
            return mask, False
        if self.phase is Phase.CONTINUED:
            mask[list(CONTINUABLE)] = True
            return mask, False
        if self.phase is Phase.NEEDS_CELL:
            mask[Structure.CELL] = True
            return mask, False
        if self.phase is Phase.NEEDS_RUN:
            return mask, True
        if self.phase is Phase.IN_CELL:
            return self._allowed_in_cell(mask, ends_with_hyphen)
        self._allow_regions(mask)
        if self.phase is Phase.IN_TEXT:
            self._allow_joins(mask, ends_with_hyphen, line_break=True)
            return mask, self.has_runs_left
        return mask, False

    def _allowed_in_cell(self, mask: np.ndarray, ends_with_hyphen: bool) -> tuple[np.ndarray, bool]:
        may_open_cell = self._may_open_cell()
        is_last_chance = not self.row_has_text and not may_open_cell
        mask[Structure.CELL] = may_open_cell
        if self.row_has_text:  # cells that are left out at its end are empty
            mask[Structure.ROW] = self.has_runs_left
            self._allow_regions(mask)
        if self.cell_has_text:
            self._allow_joins(mask, ends_with_hyphen, line_break=False)
        pointer = self.has_runs_left
        if is_last_chance:
            mask[:] = False
        return mask, pointer

    def _may_open_cell(self) -> bool:
        return self.num_cells < MAX_TABLE_COLUMNS and self.num_empty_cells < MAX_EMPTY_CELLS

    def _allow_regions(self, mask: np.ndarray) -> None:
        mask[list(REGIONS)] = self.has_runs_left
        mask[Structure.CONTINUE] = self.may_continue and not self.has_body and self.has_runs_left
        mask[Structure.END_PAGE] = not self.has_runs_left

    def _allow_joins(self, mask: np.ndarray, ends_with_hyphen: bool, *, line_break: bool) -> None:
        mask[Structure.JOIN] = self.has_runs_left
        mask[Structure.DROP_HYPHEN] = self.has_runs_left and ends_with_hyphen
        mask[Structure.LINE_BREAK] = self.has_runs_left and line_break

    def advance(self, token: int) -> None:
        """Take one token. The caller passes only tokens that are allowed."""
        if token >= NUM_STRUCTURE_TOKENS:
            self._copy()
        elif token == Structure.END_PAGE:
            self.is_ended = True
        elif token == Structure.CONTINUE:
            self.phase = Phase.CONTINUED
        elif token == Structure.CELL:
            self.num_cells += 1
            self.num_empty_cells += 1
            self.cell_has_text = False
            self.phase = Phase.IN_CELL
        elif token == Structure.ROW:
            self._open_row()
        elif token in (Structure.LINE_BREAK, Structure.DROP_HYPHEN, Structure.JOIN):
            self.phase = Phase.NEEDS_RUN
        elif token in REGIONS:
            self._open_region(Structure(token))

    def _copy(self) -> None:
        self.num_copied += 1
        if self.in_table:
            self.row_has_text = self.cell_has_text = True
            self.num_empty_cells = 0
            self.phase = Phase.IN_CELL
        else:
            self.phase = Phase.IN_TEXT

    def _open_region(self, token: Structure) -> None:
        self.has_body |= token != Structure.FURNITURE
        self.in_table = token == Structure.TABLE
        if self.in_table:
            self._open_row()
        else:
            self.phase = Phase.NEEDS_RUN

    def _open_row(self) -> None:
        self.num_cells = self.num_empty_cells = 0
        self.row_has_text = self.cell_has_text = False
        self.phase = Phase.NEEDS_CELL


def max_page_tokens(num_runs: int) -> int:
    """A bound on the tokens of a page: each run costs at most one pointer, and a row of cells with its
    opening; a page opens and ends.
    """
    return num_runs * (MAX_TABLE_COLUMNS + 4) + MAX_TABLE_COLUMNS + 3
