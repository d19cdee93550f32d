"""The index tensors of a decode step, built once and kept while the batch and its pages stay the same.

Columns of the table a step reads, for B sequences, padded with the null block:

    | fixed: current page, overlap | text window | routed: earlier blocks, chosen per layer |

Between page changes only the text columns of a sequence whose text blocks changed are rewritten. The shapes
stay constant while a page is read. Knows sequences' block tables and positions; knows nothing of models.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ocr_app.config import SparsityConfig
from ocr_app.decoder import routing
from ocr_app.decoder.kv_blocks import NULL_BLOCK, BlockRecord, TextBlocks, ceil_div
from ocr_app.decoder.kv_cache import MAXIMUM, MINIMUM, POOLED, KVStore, storage_bytes
from ocr_app.decoder.protocol import KVSpec

NEVER = 2**40  # position of a slot no query can see
NEGATIVE_INFINITY = float("-inf")


@dataclass(frozen=True, slots=True)
class ReadingList:
    """What one sequence may read, in page order: blocks read at every step, and candidates to be routed."""

    fixed: list[BlockRecord]
    candidates: list[BlockRecord]
    candidate_pages: list[int]  # page index of each candidate
    text_window: int
    scores_relevance: bool  # whether the router's scores are kept for retention


@dataclass(frozen=True, slots=True)
class Observation:
    """A step as the router saw it, at the last layer. It counts once it is known which tokens of the step
    were accepted.
    """

    block_ids: Tensor  # (B, N), padded with the null block
    relevance: Tensor  # (B, T, N): exp(score - best score of the token), 0 for padding
    is_read: Tensor  # (B, T, N)
    positions: Tensor  # (B, T) output indices of the tokens


class StepPlan:
    """Tables and bias of one batch, for up to `max_tokens` tokens per sequence and step."""

    def __init__(
        self,
        lists: list[ReadingList],
        store: KVStore,
        spec: KVSpec,
        config: SparsityConfig,
        *,
        num_text_blocks: int,
        max_tokens: int,
    ) -> None:
        self._store, self._spec, self._config = store, spec, config
        self.max_tokens = max_tokens
        self.num_text_blocks = num_text_blocks
        size, device = config.block_size, store.device
        num_fixed = max((len(entry.fixed) for entry in lists), default=0)
        self.num_candidates = max((len(entry.candidates) for entry in lists), default=0)
        self._num_pages = max((len(set(entry.candidate_pages)) for entry in lists), default=0)
        self.is_routed = self.num_candidates > config.block_budget or self._num_pages > config.page_budget
        num_routed = self._num_routed(max_tokens)
        self._text_start, self._routed_start = num_fixed, num_fixed + num_text_blocks
        num_columns = self._routed_start + num_routed

        self._windows = torch.tensor([[entry.text_window] for entry in lists], device=device)
        self.block_ids = torch.full((len(lists), num_columns), NULL_BLOCK, device=device)
        self.bias = torch.full(
            (len(lists), max_tokens, num_columns * size), NEGATIVE_INFINITY, dtype=spec.dtype, device=device
        )
        self._text_positions = torch.full((len(lists), num_text_blocks * size), NEVER, device=device)
        self._text_versions: list[int | None] = [None] * len(lists)

        fixed_ids, fixed_bias = padded_blocks(
            [entry.fixed for entry in lists], num_fixed, size, spec.dtype, device
        )
        self.block_ids[:, :num_fixed] = fixed_ids
        self.bias[:, :, : num_fixed * size] = fixed_bias.unsqueeze(1)
        self._set_candidates(lists)
        self._set_scored(lists)
        self._summaries: list[Tensor | None] = [None] * spec.num_layers

    @property
    def nbytes(self) -> int:
        """Bytes of the tables, the bias, and the summaries gathered for the router."""
        kept = [*vars(self).values(), *self._summaries]
        return storage_bytes(value for value in kept if isinstance(value, Tensor))

    def begin(self, texts: list[TextBlocks], text_versions: list[int], positions: Tensor) -> None:
        """Prepare a step: positions (B, T) are the output indices of its tokens, whose blocks are already
        taken.
        """
        for row, (text, version) in enumerate(zip(texts, text_versions, strict=True)):
            if self._text_versions[row] != version:
                self._set_text(row, text)
                self._text_versions[row] = version
        self._positions, self._num_tokens = positions, positions.shape[1]
        query = positions.unsqueeze(2)
        slots = self._text_positions.unsqueeze(1)
        hidden = (slots > query) | (slots <= query - self._windows.unsqueeze(2))
        size = self._config.block_size
        text_bias = self.bias[:, : self._num_tokens, self._text_start * size : self._routed_start * size]
        text_bias.zero_().masked_fill_(hidden, NEGATIVE_INFINITY)

    def select(self, layer: int, queries: Tensor) -> tuple[Tensor, Tensor]:
        """Block ids (B, N) and bias (B, T, N * S) that this layer reads at this step."""
        num_columns = self._routed_start + self._num_routed(self._num_tokens)
        if self.is_routed:
            self._route(layer, queries, num_columns - self._routed_start)
        return self.block_ids[:, :num_columns], self.bias[
            :, : self._num_tokens, : num_columns * self._config.block_size
        ]

    def observe(self, queries: Tensor) -> Observation | None:
        """What the router thought of every scored block. Call after `select` of the last layer, with its
        queries.
        """
        if self._scored_ids.shape[1] == 0:
            return None
        if self._scored_summaries is None:
            self._scored_summaries = self._gather_summaries(self._spec.num_layers - 1, self._scored_ids)
        scores = self._scores(queries, self._scored_summaries).masked_fill(
            self._scored_padding, NEGATIVE_INFINITY
        )
        best = scores.amax(-1, keepdim=True).clamp(min=torch.finfo(scores.dtype).min)
        is_read = torch.ones_like(scores, dtype=torch.bool)
        if self.is_routed:
            is_read[:, :, self._text_start :] = self._block_bias > NEGATIVE_INFINITY
        return Observation(self._scored_ids, (scores - best).exp(), is_read, self._positions)

    def count_attended(self, bias: Tensor) -> Tensor:
        """Tokens (B,) that any query of the step could see: the slots read and not hidden."""
        return (bias.amax(1) > NEGATIVE_INFINITY).sum(-1)

    def _num_routed(self, num_tokens: int) -> int:
        """Routed columns: each query may choose its own blocks, so a draft reads the union of its choices."""
        if not self.is_routed or self._config.routing == "all":
            return self.num_candidates
        return min(self.num_candidates, num_tokens * self._config.block_budget)

    def _set_candidates(self, lists: list[ReadingList]) -> None:
        size, device, dtype = self._config.block_size, self._store.device, self._spec.dtype
        records = [entry.candidates for entry in lists]
        self._candidate_ids, self._candidate_bias = padded_blocks(
            records, self.num_candidates, size, dtype, device
        )
        self._candidate_padding = (self._candidate_ids == NULL_BLOCK).unsqueeze(1)
        ordinals = [
            _ordinals(entry.candidate_pages) + [0] * (self.num_candidates - len(entry.candidates))
            for entry in lists
        ]
        self._page_ordinals = torch.tensor(ordinals, dtype=torch.int64, device=device)
        if not self.is_routed:
            self.block_ids[:, self._routed_start :] = self._candidate_ids
            self.bias[:, :, self._routed_start * size :] = self._candidate_bias.unsqueeze(1)

    def _set_scored(self, lists: list[ReadingList]) -> None:
        """The blocks whose relevance is kept: fixed ones, then candidates."""
        is_kept = torch.tensor(
            [entry.scores_relevance for entry in lists], device=self._store.device
        ).unsqueeze(1)
        ids = torch.cat([self.block_ids[:, : self._text_start], self._candidate_ids], dim=1)
        self._scored_ids = (
            ids.masked_fill(~is_kept, NULL_BLOCK)
            if any(entry.scores_relevance for entry in lists)
            else ids[:, :0]
        )
        self._scored_padding = (self._scored_ids == NULL_BLOCK).unsqueeze(1)
        self._scored_summaries: Tensor | None = None

    def _set_text(self, row: int, text: TextBlocks) -> None:
        count, size, device = len(text.block_ids), self._config.block_size, self._store.device
        self.block_ids[row, self._text_start : self._routed_start] = NULL_BLOCK
        self.block_ids[row, self._text_start : self._text_start + count] = torch.tensor(
            text.block_ids, dtype=torch.int64, device=device
        )
        self._text_positions[row] = NEVER
        self._text_positions[row, : count * size] = torch.arange(
            text.first_token, text.first_token + count * size, device=device
        )

    def _route(self, layer: int, queries: Tensor, num_routed: int) -> None:
        if self._summaries[layer] is None:
            self._summaries[layer] = self._gather_summaries(layer, self._candidate_ids)
        scores = self._scores(queries, self._summaries[layer]).masked_fill(
            self._candidate_padding, NEGATIVE_INFINITY
        )
        self._block_bias = block_bias = routing.route(
            scores, self._page_ordinals, self._num_pages, self._config
        )
        is_read = block_bias.amax(1)  # (B, C): -inf where no query of the step reads the block
        chosen = is_read.topk(num_routed, dim=-1).indices
        ids = self._candidate_ids.gather(1, chosen).masked_fill(
            is_read.gather(1, chosen) == NEGATIVE_INFINITY, NULL_BLOCK
        )
        bias = block_bias.gather(2, chosen.unsqueeze(1).expand(-1, self._num_tokens, -1))
        size = self._config.block_size
        slot_bias = self._candidate_bias.unflatten(1, (-1, size)).gather(
            1, chosen.unsqueeze(2).expand(-1, -1, size)
        )
        end = self._routed_start + num_routed
        self.block_ids[:, self._routed_start : end] = ids
        columns = slice(self._routed_start * size, end * size)
        self.bias[:, : self._num_tokens, columns] = (bias.unsqueeze(3) + slot_bias.unsqueeze(1)).flatten(2)

    def _scores(self, queries: Tensor, summaries: Tensor) -> Tensor:
        """Router scores (B, T, N) for summaries (B, kinds, Hkv, N, D)."""
        grouped = routing.group_queries(queries, self._spec.num_kv_heads)
        if self._config.routing == "minmax":
            return routing.minmax_scores(grouped, summaries[:, MINIMUM], summaries[:, MAXIMUM])
        return routing.router_scores(grouped, summaries[:, POOLED])

    def _gather_summaries(self, layer: int, block_ids: Tensor) -> Tensor:
        """Summaries of blocks (B, N) as (B, kinds, Hkv, N, D), contiguous."""
        chosen = self._store.summaries[layer][block_ids].to(self._spec.dtype)  # (B, N, kinds, Hkv, D)
        return chosen.permute(0, 2, 3, 1, 4).contiguous()


def text_columns(text: TextBlocks, window: int | None, config: SparsityConfig, max_tokens: int) -> int:
    """Text columns a sequence needs: constant under a window, rounded up to eight without one."""
    if window is None:
        return ceil_div(len(text.block_ids) + 1, 8) * 8
    return ceil_div(window - 1 + max_tokens, config.block_size) + 1


def padded_blocks(
    rows: list[list[BlockRecord]], width: int, size: int, dtype: torch.dtype, device: torch.device
) -> tuple[Tensor, Tensor]:
    """Block ids (B, width) padded with the null block, and the bias (B, width * S) that hides slots without a
    token.
    """
    ids = [[record.block_id for record in row] + [NULL_BLOCK] * (width - len(row)) for row in rows]
    fills = [[record.num_tokens for record in row] + [0] * (width - len(row)) for row in rows]
    filled = torch.tensor(fills, dtype=torch.int64, device=device).view(len(rows), width, 1)
    hidden = torch.arange(size, device=device) >= filled
    bias = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, NEGATIVE_INFINITY)
    return torch.tensor(ids, dtype=torch.int64, device=device).view(len(rows), width), bias.flatten(1)


def _ordinals(pages: list[int]) -> list[int]:
    """Page indices as 0, 1, 2 ... in order of appearance."""
    places = {page: place for place, page in enumerate(dict.fromkeys(pages))}
    return [places[page] for page in pages]
