"""What the reader keeps of the page being read: the reading cursor, what was copied, and the grammar."""

from copy import copy
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ocr_app.models.embedded.geometry.suggestion import Suggestion
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Grammar, Structure
from ocr_app.models.embedded.letters import HYPHENS
from ocr_app.models.embedded.path import SuggestedPath
from ocr_app.models.embedded.visual import NUM_AXES, VisualPage

START_CURSOR = (-2.0, -2.0, 0.0, -1.0)  # y, place in line, x, line in order: before every run


@dataclass(frozen=True, slots=True, eq=False)
class Outlook:
    """What may follow each of T tokens."""

    # (T, NUM_STRUCTURE_TOKENS + V) bool; a draft that breaks the grammar allows nothing after
    allowed: Tensor
    suggested: list[int | None]  # what geometry would write; None where it has nothing to say


class PageState:
    """One page of one sequence. `advance` commits a token; `cursors_after` and `look_ahead` follow a draft
    without committing. The grammar is the only thing that forbids; the suggestion is told beside it.
    """

    def __init__(
        self,
        page: VisualPage,
        suggestion: Suggestion,
        texts: list[str],
        page_axis: float,
        *,
        may_continue: bool,
    ):
        positions = torch.from_numpy(page.positions.copy())
        positions[:, 0] = page_axis
        self.positions = positions  # (V, NUM_AXES)
        self.visual: Tensor = torch.empty(0)  # (V, W), set where the network is when the page is embedded
        self.keys: Tensor = torch.empty(0)  # (V, P), set there when the page is prefilled
        self.grammar = Grammar(page.num_runs, may_continue)
        self.is_copied = np.zeros(page.num_runs, bool)
        self._path = SuggestedPath(suggestion)
        self._ends_with_hyphen = [text[-1:] in HYPHENS and text != "" for text in texts]
        self._cursor = torch.tensor([page_axis, *START_CURSOR])
        self._last_run: int | None = None
        self._since: list[int] = []  # structure tokens behind that run
        self._last_token, self._num_repeats = int(Structure.PAD), 0

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
            self._last_run, self._since = run, []
            self._cursor = self.positions[run]
        elif token != Structure.PAGE:
            self._since = [*self._since, token]

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
        """Follow the grammar and the suggestion along a draft."""
        allowed = np.zeros((len(tokens), NUM_STRUCTURE_TOKENS + self.num_runs), bool)
        suggested: list[int | None] = []
        ahead = copy(self)
        ahead.grammar, ahead.is_copied = copy(self.grammar), self.is_copied.copy()
        for row, token in zip(allowed, tokens, strict=True):
            ahead.advance(token)
            row[:NUM_STRUCTURE_TOKENS], pointer = ahead.grammar.allowed(ends_with_hyphen=ahead.has_hyphen)
            if pointer:
                row[NUM_STRUCTURE_TOKENS:] = ~ahead.is_copied
            following = ahead.suggested()
            suggested.append(following if following is not None and row[following] else None)
        return Outlook(torch.from_numpy(allowed), suggested)

    def draft(self, token: int, length: int) -> list[int]:
        """Up to `length` tokens that the suggestion has behind `token`, which is not taken yet."""
        ahead = copy(self)
        ahead.is_copied = self.is_copied.copy()
        ahead.grammar = copy(self.grammar)
        tokens: list[int] = []
        while len(tokens) < length and token != Structure.END_PAGE:
            ahead.advance(token)
            following = ahead.suggested()
            if following is None or following == Structure.END_PAGE:
                break
            tokens.append(following)
            token = following
        return tokens

    @property
    def has_hyphen(self) -> bool:
        """Whether the run copied last ends with a hyphen."""
        return self._last_run is not None and self._ends_with_hyphen[self._last_run]

    def suggested(self) -> int | None:
        """What geometry would write next."""
        return self._path.next_token(self._last_run, self._since, self.is_copied)
