"""Guesses the next tokens so that one decode step can verify many: line after line in the order and structure
that white space suggests.

A wrong guess costs a little time and nothing else: the reader's own choice always wins.
"""

from ocr_app.decoder.retention import MAX_STEP_TOKENS
from ocr_app.models.embedded.grammar import HEADINGS, LIST_ITEMS, NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.hints import LineHint
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import VisualPage
from ocr_app.types import EncodedPage, RegionKind

MIN_DRAFT_TOKENS = 6
MAX_DRAFT_TOKENS = MAX_STEP_TOKENS - 1  # beside the token that is certain


class LineDrafts:
    """Drafts for one page."""

    def __init__(self, page: EncodedPage, visual: VisualPage):
        self._lines, self._hints, self._column_steps = page.lines, visual.hints, visual.column_steps.tolist()
        self._line_of = [run.line_index for run in page.runs]
        self._length = MAX_DRAFT_TOKENS

    def propose(self, token: int, state: PageState) -> list[int]:
        """What may follow `token`, which the state has not taken yet. Shorter where the last drafts went
        wrong early.
        """
        run, in_table = token - NUM_STRUCTURE_TOKENS, state.grammar.in_table
        line = self._line_of[run] if run >= 0 else None
        draft: list[int] = []
        if line is None:
            draft += [int(Structure.CELL)] * (token in (Structure.TABLE, Structure.ROW))
            in_table = in_table or token == Structure.TABLE
        else:
            draft += self._pointers(line, run + 1, in_table=in_table)
        for following in [
            self._line_of[start] for start in state.nearest_starts(MAX_DRAFT_TOKENS) if start != run
        ]:
            if line is not None:
                between = self._between(
                    self._hints.lines[line], self._hints.lines[following], in_table=in_table
                )
                in_table = Structure.TABLE in between or (in_table and not _opens_region(between))
                draft += between
            draft += self._pointers(following, self._lines[following].first_run, in_table=in_table)
            if len(draft) >= self._length:
                break
            line = following
        return draft[: self._length]

    def learn(self, num_proposed: int, num_accepted: int) -> None:
        """How far the reader followed the last draft."""
        is_followed = num_accepted == num_proposed
        self._length = (
            MAX_DRAFT_TOKENS
            if is_followed
            else min(MAX_DRAFT_TOKENS, max(MIN_DRAFT_TOKENS, 2 * num_accepted))
        )

    def _pointers(self, line: int, first: int, *, in_table: bool) -> list[int]:
        """The rest of a line from run `first` on, cut where it reaches over columns of a table."""
        end = self._lines[line].first_run + self._lines[line].num_runs
        draft: list[int] = []
        for run in range(first, end):
            draft += [int(Structure.CELL)] * (self._column_steps[run] if in_table else 0)
            draft.append(NUM_STRUCTURE_TOKENS + run)
        return draft

    def _between(self, before: LineHint, after: LineHint, *, in_table: bool) -> list[int]:
        """The structure tokens between two lines."""
        cells = [int(Structure.CELL)] * (1 + after.num_skipped)
        if in_table and before.grid == after.grid >= 0:
            if after.continues_cell:
                return []
            return cells if after.place else [int(Structure.ROW), *cells]
        if after.grid >= 0 and after.grid != before.grid:
            return [int(Structure.TABLE), *cells]
        return [_opening(after)] if after.opens else []


def _opening(line: LineHint) -> int:
    if line.kind is RegionKind.HEADING:
        return int(HEADINGS[line.level - 1])
    return int(LIST_ITEMS[line.level - 1] if line.kind is RegionKind.LIST_ITEM else Structure.PARAGRAPH)


def _opens_region(tokens: list[int]) -> bool:
    return any(token not in (Structure.CELL, Structure.ROW) for token in tokens)
