"""Guesses the next tokens so that one decode step can verify many: the rest of the line, and the line that plausibly follows.

A wrong guess costs a little time and nothing else: the reader's own choice always wins.
"""

import numpy as np

from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.types import EncodedPage

MAX_DRAFT_TOKENS = 24


class LineDrafts:
    """Drafts for one page."""

    def __init__(self, page: EncodedPage):
        self._lines = page.lines
        self._line_of = [run.line_index for run in page.runs]
        boxes = np.array([line.box for line in page.lines], np.float32).reshape(-1, 4)
        self._below = _next_below(boxes)
        self._right = _next_right(boxes)

    def propose(self, token: int, is_copied: np.ndarray, *, in_table: bool) -> list[int]:
        """What may follow `token`, which is being written and is not yet marked in `is_copied`."""
        run = token - NUM_STRUCTURE_TOKENS
        if run < 0:
            return self._after_structure(token, is_copied)
        line = self._line_of[run]
        draft = self._pointers(line, run + 1, is_copied)
        if in_table:
            following = self._right[line]
            draft += [int(Structure.CELL), *self._whole_line(following, is_copied)] if following is not None else []
        else:
            draft += self._whole_line(self._below[line], is_copied)
        return draft[:MAX_DRAFT_TOKENS]

    def _after_structure(self, token: int, is_copied: np.ndarray) -> list[int]:
        """The first line not yet begun, in rows from the top; a table's opening is followed by a cell."""
        opening = [int(Structure.CELL)] if token in (Structure.TABLE, Structure.ROW) else []
        left = np.flatnonzero(~is_copied)
        if not len(left):
            return []
        run = int(left[0])
        return opening + self._pointers(self._line_of[run], run, is_copied)[: MAX_DRAFT_TOKENS - 1]

    def _whole_line(self, line: int | None, is_copied: np.ndarray) -> list[int]:
        return [] if line is None else self._pointers(line, self._lines[line].first_run, is_copied)

    def _pointers(self, line: int, first: int, is_copied: np.ndarray) -> list[int]:
        end = self._lines[line].first_run + self._lines[line].num_runs
        return [NUM_STRUCTURE_TOKENS + run for run in range(first, end) if not is_copied[run]]


def _next_below(boxes: np.ndarray) -> list[int | None]:
    """For each line the nearest one below that starts within its width."""
    following: list[int | None] = []
    for x0, y0, x1, y1 in boxes:
        height = y1 - y0
        is_below = (boxes[:, 1] > (y0 + y1) / 2) & (boxes[:, 0] < x1) & (boxes[:, 2] > x0) & (boxes[:, 1] < y1 + 2 * height)
        candidates = np.flatnonzero(is_below)
        following.append(int(candidates[boxes[candidates, 1].argmin()]) if len(candidates) else None)
    return following


def _next_right(boxes: np.ndarray) -> list[int | None]:
    """For each line the nearest one to its right in the same row."""
    following: list[int | None] = []
    for _, y0, x1, y1 in boxes:
        overlap = np.minimum(boxes[:, 3], y1) - np.maximum(boxes[:, 1], y0)
        candidates = np.flatnonzero((overlap > 0.5 * (y1 - y0)) & (boxes[:, 0] > x1 - 0.2 * (y1 - y0)))
        following.append(int(candidates[boxes[candidates, 0].argmin()]) if len(candidates) else None)
    return following
