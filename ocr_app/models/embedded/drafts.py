"""How many tokens of the suggestion are worth verifying in one decode step.

A wrong guess costs a little time and nothing else: the reader's own choice always wins.
"""

from ocr_app.decoder.retention import MAX_STEP_TOKENS
from ocr_app.models.embedded.state import PageState

MIN_DRAFT_TOKENS = 6
MAX_DRAFT_TOKENS = MAX_STEP_TOKENS - 1  # beside the token that is certain


class Drafts:
    """Drafts for one page: the suggestion, shorter where it was left early."""

    def __init__(self) -> None:
        self._length = MAX_DRAFT_TOKENS

    def propose(self, token: int, state: PageState) -> list[int]:
        """What may follow `token`, which the state has not taken yet."""
        return state.draft(token, self._length)

    def learn(self, num_proposed: int, num_accepted: int) -> None:
        """How far the reader followed the last draft."""
        is_followed = num_accepted == num_proposed
        shorter = min(MAX_DRAFT_TOKENS, max(MIN_DRAFT_TOKENS, 2 * num_accepted))
        self._length = MAX_DRAFT_TOKENS if is_followed else shorter
