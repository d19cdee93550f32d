"""The oracle: the same decoding with nothing clever. Every key and value ever made stays in one contiguous
tensor per layer, attention is written out, and masks come from predicates over tokens. Every fast path is
compared with it.

It is told which blocks are resident (they depend on scores the engine kept) and routes among them with its
own keys.
"""

from typing import Any

import masks
import torch
from masks import Token
from torch import Tensor

from ocr_app.config import SparsityConfig
from ocr_app.decoder import routing
from ocr_app.decoder.attention import explicit_attention
from ocr_app.decoder.kv_blocks import split_tokens
from ocr_app.decoder.protocol import DecoderModel

Resident = dict[int, list[int]]  # page index to the places of its resident blocks


class Oracle:
    """One document, decoded slowly."""

    def __init__(self, model: DecoderModel, config: SparsityConfig, mode: str) -> None:
        self.model, self.config, self.mode = model, config, mode
        self._tokens: list[Token] = []
        self._pages: dict[
            int, int
        ] = {}  # page index to its number of reference tokens, in the order they came
        self._num_output_tokens = 0
        empty = torch.zeros(
            1, model.kv_spec.num_kv_heads, 0, model.kv_spec.head_dim, dtype=model.kv_spec.dtype
        )
        self._keys = [empty for _ in range(model.kv_spec.num_layers)]
        self._values = [empty for _ in range(model.kv_spec.num_layers)]

    @torch.inference_mode()
    def prefill(self, state: Any, page_index: int, page: Any) -> None:
        hidden, positions = self.model.embed_reference(state, page)
        self._pages[page_index] = hidden.shape[1]
        queries = self._append(page_index, hidden.shape[1])
        mask = masks.reference_mask(queries, self._tokens, is_causal=self.model.reference_is_causal)
        bias = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
        for layer in range(self.model.kv_spec.num_layers):
            q, k, v = self.model.project(layer, hidden, positions)
            hidden = self.model.finish_layer(layer, hidden, self._attend(layer, q, k, v, bias))

    @torch.inference_mode()
    def step(self, state: Any, tokens: list[int], resident: Resident) -> Tensor:
        """Logits (T, vocabulary) after each output token, with only the blocks of `resident` left."""
        hidden, positions = self.model.embed_output([state], torch.tensor([tokens]))
        queries = self._append(None, len(tokens))
        window = None if self.mode == "full" else self.config.text_window
        for layer in range(self.model.kv_spec.num_layers):
            q, k, v = self.model.project(layer, hidden, positions)
            block_bias = self._block_bias(layer, q, resident)
            bias = masks.output_bias(queries, self._tokens, self.config.block_size, window, block_bias)
            hidden = self.model.finish_layer(layer, hidden, self._attend(layer, q, k, v, bias))
        return self.model.logits([state], torch.tensor([tokens]), hidden)[0]

    def _append(self, page_index: int | None, count: int) -> list[Token]:
        first = self._num_output_tokens if page_index is None else 0
        added = [Token(page_index, first + i, len(self._tokens) + i) for i in range(count)]
        self._tokens += added
        self._num_output_tokens += count if page_index is None else 0
        return added

    def _attend(self, layer: int, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
        self._keys[layer] = torch.cat([self._keys[layer], keys], dim=2)
        self._values[layer] = torch.cat([self._values[layer], values], dim=2)
        return explicit_attention(queries, self._keys[layer], self._values[layer], bias.unsqueeze(0))

    def _block_bias(
        self, layer: int, queries: Tensor, resident: Resident
    ) -> list[dict[tuple[int, int], float]]:
        """Per query, the bias of every reference block it reads."""
        always = (
            list(self._pages)[-1 - self.config.overlap_pages :] if self.mode == "sparse" else list(resident)
        )
        fixed = {(page, place): 0.0 for page in always for place in resident.get(page, [])}
        candidates = [
            (page, place) for page, places in resident.items() if page not in always for place in places
        ]
        if not candidates:
            return [fixed] * queries.shape[2]
        scores = self._scores(layer, queries, candidates)
        pages = list(dict.fromkeys(page for page, _ in candidates))
        ordinals = torch.tensor([[pages.index(page) for page, _ in candidates]])
        bias = routing.route(scores, ordinals, len(pages), self.config)[0]
        return [fixed | dict(zip(candidates, row, strict=True)) for row in bias.tolist()]

    def _scores(self, layer: int, queries: Tensor, candidates: list[tuple[int, int]]) -> Tensor:
        grouped = routing.group_queries(queries, self.model.kv_spec.num_kv_heads)
        keys = [self._block_keys(layer, page, place) for page, place in candidates]
        if self.config.routing == "minmax":
            least = torch.stack([block.amin(1) for block in keys], 1).unsqueeze(0)
            greatest = torch.stack([block.amax(1) for block in keys], 1).unsqueeze(0)
            return routing.minmax_scores(grouped, least, greatest)
        heads = self.model.router_heads
        head = None if heads is None else heads[layer]
        summaries = torch.stack([routing.block_summaries(block, head) for block in keys], 1).unsqueeze(0)
        return routing.router_scores(grouped, summaries)

    def _block_keys(self, layer: int, page_index: int, place: int) -> Tensor:
        """Keys (Hkv, filled slots, D) of one block of a page."""
        first = next(token.order for token in self._tokens if token.page_index == page_index)
        start = first + place * self.config.block_size
        fill = split_tokens(self._pages[page_index], self.config.block_size)[place]
        return self._keys[layer][0, :, start : start + fill]
