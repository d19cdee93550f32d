"""What the reader keeps of the page being read: the reading cursor, what was copied, and the grammar."""

from copy import copy

import numpy as np
import torch
from torch import Tensor

from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Grammar
from ocr_app.models.embedded.visual import HYPHENS, NUM_AXES, VisualPage

START_CURSOR = (-2.0, -2.0, 0.0)  # y, place in line, x: above and left of every run


class PageState:
    """One page of one sequence. `advance` commits a token; the `*_after` methods look ahead along a draft without committing."""

    def __init__(self, page: VisualPage, texts: list[str], page_axis: float, *, may_continue: bool):
        positions = torch.from_numpy(page.positions.copy())
        positions[:, 0] = page_axis
        self.positions = positions  # (V, NUM_AXES)
        self.visual: Tensor = torch.empty(0)  # (V, W), set when the page is embedded
        self.keys: Tensor = torch.empty(0)  # (V, P), set when the page is prefilled
        self.grammar = Grammar(page.num_runs, may_continue)
        self.is_copied = np.zeros(page.num_runs, bool)
        self._ends_with_hyphen = [text[-1:] in HYPHENS and text != "" for text in texts]
        self._cursor = torch.tensor([page_axis, *START_CURSOR])
        self._last_run: int | None = None

    @property
    def num_runs(self) -> int:
        return len(self.positions)

    def advance(self, token: int) -> None:
        self.grammar.advance(token)
        run = token - NUM_STRUCTURE_TOKENS
        if run >= 0:
            self.is_copied[run] = True
            self._last_run = run
            self._cursor = self.positions[run]

    def cursors_after(self, tokens: list[int]) -> Tensor:
        """(T, NUM_AXES): the reading cursor once each of the tokens is written."""
        cursors, cursor = torch.empty(len(tokens), NUM_AXES), self._cursor
        for i, token in enumerate(tokens):
            if token >= NUM_STRUCTURE_TOKENS:
                cursor = self.positions[token - NUM_STRUCTURE_TOKENS]
            cursors[i] = cursor
        return cursors

    def allowed_after(self, tokens: list[int]) -> Tensor:
        """(T, NUM_STRUCTURE_TOKENS + V) bool: what may follow each of the tokens. A draft that breaks the grammar allows nothing after."""
        allowed = np.zeros((len(tokens), NUM_STRUCTURE_TOKENS + self.num_runs), bool)
        grammar, is_copied, last_run = copy(self.grammar), self.is_copied.copy(), self._last_run
        for i, token in enumerate(tokens):
            run = token - NUM_STRUCTURE_TOKENS
            if run >= 0:
                is_copied[run], last_run = True, run
            grammar.advance(token)
            ends_with_hyphen = last_run is not None and self._ends_with_hyphen[last_run]
            structure, pointer = grammar.allowed(ends_with_hyphen=ends_with_hyphen)
            allowed[i, :NUM_STRUCTURE_TOKENS] = structure
            allowed[i, NUM_STRUCTURE_TOKENS:] = ~is_copied if pointer else False
        return torch.from_numpy(allowed)
