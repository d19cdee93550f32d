"""Follows a suggestion while a page is written: what it would write next, whatever was written before."""

from collections.abc import Sequence

from ocr_app.models.embedded.geometry.suggestion import Suggestion
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure


class SuggestedPath:
    """The suggestion for one page as a map from what was just written to the next token.

    A reader may leave it at any token; from the next run that it copies on, the path is found again.
    """

    def __init__(self, suggestion: Suggestion):
        self._order = suggestion.order
        self._before = [tuple(map(int, tokens)) for tokens in suggestion.before]
        self._place = {run: place for place, run in enumerate(suggestion.order)}

    def next_token(self, last_run: int | None, since: Sequence[int], is_copied: Sequence[bool]) -> int | None:
        """The token that follows, or None where the suggestion has nothing to say.

        `last_run` is the run copied last, `since` the structure tokens written after it, PAGE left out.
        """
        place = 0 if last_run is None else self._place[last_run] + 1
        while place < len(self._order) and is_copied[self._order[place]]:
            place += 1
        if place == len(self._order):
            return self._restart(since, is_copied)
        before, since = self._before[place], tuple(since)
        if before[: len(since)] != since:
            return None if self._needs_more(since) else NUM_STRUCTURE_TOKENS + self._order[place]
        if len(since) < len(before):
            return before[len(since)]
        return NUM_STRUCTURE_TOKENS + self._order[place]

    def _restart(self, since: Sequence[int], is_copied: Sequence[bool]) -> int:
        """Behind the last run: the first one that was left out, or the end of the page."""
        left = next((run for run in self._order if not is_copied[run]), None)
        if left is None:
            return int(Structure.END_PAGE)
        return NUM_STRUCTURE_TOKENS + left if since else int(Structure.PARAGRAPH)

    @staticmethod
    def _needs_more(since: tuple[int, ...]) -> bool:
        """Whether tokens that are not the suggestion's cannot be followed by a run."""
        return bool(since) and since[-1] in (Structure.TABLE, Structure.ROW, Structure.CONTINUE)
