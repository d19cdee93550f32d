"""Who sees whom, as plain predicates: the oracle's masks, written to be read and not to be fast.

The window rule, stated here once: the window counts the current token, so output token q sees output token j
when 0 <= q - j < window.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Token:
    """One token of a document: a reference token of a page, or an output token."""

    page_index: int | None  # None for output tokens
    place: int  # within the page, or among all output tokens
    order: int  # among all tokens, as they were written

    @property
    def is_output(self) -> bool:
        return self.page_index is None


def sees_output(query: Token, slot: Token, window: int | None) -> bool:
    """An output token sees itself and the latest before it; all of them where the window is None."""
    distance = query.place - slot.place
    return distance >= 0 and (window is None or distance < window)


def sees_reference(query: Token, slot: Token, *, is_causal: bool) -> bool:
    """A reference token sees its own page, or for a causal model every reference token up to itself."""
    return slot.order <= query.order if is_causal else slot.page_index == query.page_index


def reference_mask(queries: list[Token], slots: list[Token], *, is_causal: bool) -> Tensor:
    """Bool (T, L) for reference queries: True where a slot is seen."""
    rows = [
        [not slot.is_output and sees_reference(query, slot, is_causal=is_causal) for slot in slots]
        for query in queries
    ]
    return torch.tensor(rows, dtype=torch.bool).view(len(queries), len(slots))


def output_bias(
    queries: list[Token],
    slots: list[Token],
    block_size: int,
    window: int | None,
    block_bias: list[dict[tuple[int, int], float]],
) -> Tensor:
    """Bias (T, L) for output queries; `block_bias` gives, per query, the bias of each (page_index, block
    place) it reads.
    """
    hidden = float("-inf")

    def bias(query: Token, slot: Token, read: dict[tuple[int, int], float]) -> float:
        if slot.page_index is None:
            return 0.0 if sees_output(query, slot, window) else hidden
        return read.get((slot.page_index, slot.place // block_size), hidden)

    return torch.tensor(
        [
            [bias(query, slot, read) for slot in slots]
            for query, read in zip(queries, block_bias, strict=True)
        ],
        dtype=torch.float64,
    )
