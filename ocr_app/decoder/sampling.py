"""From logits to a token: greedy or by temperature, no repeated n-grams, and a guard over pages. Knows token
ids, not what they mean.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ocr_app.errors import ConfigError


@dataclass(frozen=True, slots=True)
class SamplingConfig:
    """How a token is picked. `ngram_size` None turns the repetition rule off."""

    temperature: float = 0.0  # 0 is greedy
    ngram_size: int | None = None
    ngram_window: int = 128  # latest ids searched for a repetition
    ngram_whitelist: frozenset[int] = frozenset()  # ids that may always repeat

    def __post_init__(self) -> None:
        if self.temperature < 0:
            raise ConfigError(f"temperature is {self.temperature}; it must be at least 0.")
        if self.ngram_size is not None and self.ngram_size < 1:
            raise ConfigError(
                f"ngram_size is {self.ngram_size}; it must be at least 1, or empty to turn the rule off."
            )


@dataclass(frozen=True, slots=True)
class PageGuard:
    """Holds the output to `(page_token text)* end_token` with one page token per page, however the logits
    are.

    A page that reaches `max_page_tokens` is broken off: the caller must record it as cut.
    """

    page_token: int
    end_token: int
    max_page_tokens: int

    def forced(self, num_page_tokens: int, *, has_more_pages: bool) -> int | None:
        """The token that must come now, None if the model may choose."""
        if num_page_tokens < self.max_page_tokens:
            return None
        return self.page_token if has_more_pages else self.end_token

    def forbidden(self, *, has_more_pages: bool) -> int:
        """The border token that may not come: no end before the last page, no page after it."""
        return self.end_token if has_more_pages else self.page_token


def repeating_tokens(ids: list[int], config: SamplingConfig) -> set[int]:
    """Ids that would complete an n-gram already among the latest `ngram_window` ids."""
    size = config.ngram_size
    if size is None or len(ids) < size:
        return set()
    prefix = ids[len(ids) - size + 1 :]
    starts = range(max(len(ids) - config.ngram_window, 0), len(ids) - size + 1)
    repeated = {ids[start + size - 1] for start in starts if ids[start : start + size - 1] == prefix}
    return repeated - config.ngram_whitelist


def pick_token(logits: Tensor, forbidden: set[int], config: SamplingConfig, random: torch.Generator) -> int:
    """One id from logits (vocabulary,). Raises ConfigError when the rules forbid every id."""
    allowed = logits.clone()
    allowed[list(forbidden)] = float("-inf")
    if bool(torch.isneginf(allowed).all()):
        raise ConfigError(
            "Every token is forbidden. Raise ngram_size, or put the structural tokens on ngram_whitelist."
        )
    if config.temperature == 0:
        return int(allowed.argmax())
    probabilities = (allowed.float() / config.temperature).softmax(-1)
    return int(torch.multinomial(probabilities, 1, generator=random))
