"""What the reader keeps of the page being read: the reading cursor, what was copied, and the grammar."""

from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Grammar, Structure
from ocr_app.models.embedded.letters import HYPHENS
from ocr_app.models.embedded.visual import NUM_AXES, ORDER_AXIS, PLACE_AXIS, VisualPage

MIN_TABLE_COLUMNS = 3  # two may be a label and what is filled in
START_CURSOR = (-2.0, -2.0, 0.0, -1.0)  # y, place in line, x, line in order: before every run


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What may follow each of T tokens."""

    allowed: (
        Tensor  # (T, NUM_STRUCTURE_TOKENS + V) bool; a draft that breaks the grammar allows nothing after
    )
    next_runs: list[
        int | None
        # the first run of the first line not yet begun, in the order of white space; None where it may not
        # follow
    ]
    next_cells: list[int | None]  # TABLE, ROW or CELL where columns on the page ask for it


class PageState:
    """One page of one sequence. `advance` commits a token; `cursors_after` and `look_ahead` follow a draft
    without committing.

    Beside the grammar it holds two rules of writing. A line is copied from its first run on, and not left for
    another line while it has runs left, unless a structure token stands between (a detected line may reach
    over two cells). And no more cells are left empty than white space shows in front of the next line: equal
    tokens at one cursor look alike, so the reader cannot count them itself.
    """

    def __init__(self, page: VisualPage, texts: list[str], page_axis: float, *, may_continue: bool):
        positions = torch.from_numpy(page.positions.copy())
        positions[:, 0] = page_axis
        self.positions = positions  # (V, NUM_AXES)
        self.visual: Tensor = torch.empty(0)  # (V, W), set where the network is when the page is embedded
        self.keys: Tensor = torch.empty(0)  # (V, P), set there when the page is prefilled
        self.grammar = Grammar(page.num_runs, may_continue)
        self.is_copied = np.zeros(page.num_runs, bool)
        places = page.positions[:, PLACE_AXIS]
        self._begins_line = places == 0
        self._ends_line = np.append(places[1:] == 0, True)[: page.num_runs]
        starts = np.flatnonzero(self._begins_line)
        self._line_starts: list[int] = starts[
            np.argsort(page.positions[starts, ORDER_AXIS], kind="stable")
        ].tolist()
        self._lines = [page.hints.lines[index] for index in page.hints.order]
        self._num_skipped = [line.num_skipped if line.grid >= 0 else 1 for line in self._lines]
        line_of = np.cumsum(self._begins_line) - 1
        self._grid_of = [page.hints.lines[index].grid for index in line_of]
        self._column_steps: list[int] = page.column_steps.tolist()
        self._ends_with_hyphen = [text[-1:] in HYPHENS and text != "" for text in texts]
        self._cursor = torch.tensor([page_axis, *START_CURSOR])
        self._last_run: int | None = None
        self._last_token, self._num_repeats = int(Structure.PAD), 0
        self._num_begun = 0  # of the line starts, all from the first on

    @property
    def num_runs(self) -> int:
        return len(self.positions)

    def advance(self, token: int) -> None:
        self.grammar.advance(token)
        self._num_repeats = self.repeats_after([token])[0]
        self._last_token = token
        run = token - NUM_STRUCTURE_TOKENS
        if run >= 0:
            self.is_copied[run] = True
            self._last_run = run
            self._num_begun = self._next_rank(self.is_copied, self._num_begun)
            self._cursor = self.positions[run]

    def cursors_after(self, tokens: list[int]) -> Tensor:
        """(T, NUM_AXES): the reading cursor once each of the tokens is written."""
        cursors, cursor = torch.empty(len(tokens), NUM_AXES), self._cursor
        for i, token in enumerate(tokens):
            if token >= NUM_STRUCTURE_TOKENS:
                cursor = self.positions[token - NUM_STRUCTURE_TOKENS]
            cursors[i] = cursor
        return cursors

    def repeats_after(self, tokens: list[int]) -> list[int]:
        """How many equal tokens stand right before each of these."""
        repeats, before, count = [], self._last_token, self._num_repeats
        for token in tokens:
            count = count + 1 if token == before else 0
            before = token
            repeats.append(count)
        return repeats

    def look_ahead(self, tokens: list[int]) -> Outlook:
        """Follow the grammar and the rules along a draft."""
        allowed = np.zeros((len(tokens), NUM_STRUCTURE_TOKENS + self.num_runs), bool)
        next_runs: list[int | None] = []
        next_cells: list[int | None] = []
        grammar, is_copied, last_run, rank = (
            copy(self.grammar),
            self.is_copied.copy(),
            self._last_run,
            self._num_begun,
        )
        for row, token in zip(allowed, tokens, strict=True):
            run = token - NUM_STRUCTURE_TOKENS
            if run >= 0:
                is_copied[run], last_run = True, run
                rank = self._next_rank(is_copied, rank)
            grammar.advance(token)
            ends_with_hyphen = last_run is not None and self._ends_with_hyphen[last_run]
            row[:NUM_STRUCTURE_TOKENS], pointer = grammar.allowed(ends_with_hyphen=ends_with_hyphen)
            num_skipped = self._num_skipped_before(last_run, is_copied, rank)
            if grammar.num_empty_cells:
                row[Structure.CELL] &= grammar.num_empty_cells <= num_skipped
            if pointer:
                row[NUM_STRUCTURE_TOKENS:] = self._open_runs(is_copied, run)
            start = self._line_starts[rank] if rank < len(self._line_starts) else None
            next_runs.append(start if start is not None and row[NUM_STRUCTURE_TOKENS + start] else None)
            cell = self._next_cell(grammar, run, num_skipped, rank)
            next_cells.append(cell if cell is not None and row[cell] else None)
        return Outlook(torch.from_numpy(allowed), next_runs, next_cells)

    def _num_skipped_before(self, last_run: int | None, is_copied: np.ndarray, rank: int) -> int:
        """How many columns white space shows to be empty before what comes next: in the middle of a line its
        rest, else the next line.
        """
        if last_run is not None and not self._ends_line[last_run] and not is_copied[last_run + 1]:
            return max(0, self._column_steps[last_run + 1] - 1)
        return self._num_skipped[rank] if rank < len(self._num_skipped) else 0

    def _next_cell(self, grammar: Grammar, run: int, num_skipped: int, rank: int) -> int | None:
        """What opens the next cell: behind a line written whole, where a line reaches over columns, and for
        columns left empty.
        """
        if grammar.in_table and run < 0:
            return int(Structure.CELL) if 0 < grammar.num_empty_cells <= num_skipped else None
        if grammar.in_table and not self._ends_line[run]:
            return int(Structure.CELL) if self._column_steps[run + 1] else None
        if rank == len(self._lines):
            return None
        line = self._lines[rank]
        if not grammar.in_table:
            is_free = run < 0 or self._ends_line[run]
            return int(Structure.TABLE) if is_free and line.num_columns >= MIN_TABLE_COLUMNS else None
        if line.continues_cell or line.grid < 0 or line.grid != self._grid_of[run]:
            return None
        return int(Structure.CELL if line.place else Structure.ROW)

    def nearest_starts(self, most: int) -> list[int]:
        """First runs of lines not yet begun, in the order of white space: those among the next `most`."""
        nearest = self._line_starts[self._num_begun : self._num_begun + most]
        return [start for start in nearest if not self.is_copied[start]]

    def _next_rank(self, is_copied: np.ndarray, rank: int) -> int:
        """Rank of the first line not yet begun, from `rank` on; their number when there is none."""
        while rank < len(self._line_starts) and is_copied[self._line_starts[rank]]:
            rank += 1
        return rank

    def _open_runs(self, is_copied: np.ndarray, run: int) -> np.ndarray:
        """(V,) bool: the runs that may be copied next, after pointer `run` (negative: after a structure
        token).
        """
        if run >= 0 and not self._ends_line[run] and not is_copied[run + 1]:
            following = np.zeros(len(is_copied), bool)
            following[run + 1] = True
            return following
        is_next_in_line = self._begins_line.copy()
        is_next_in_line[1:] |= is_copied[:-1]
        return ~is_copied & is_next_in_line
