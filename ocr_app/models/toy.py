"""A small decoder with random weights, of any shape: what the engine's tests and benches run. It reads
nothing.

Positions are (page, place) for reference tokens and (page of the state, output index) for output tokens,
rotated on two axes, or one axis over everything for a causal model. Token ids index one embedding table; a
page is a tensor of token ids.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from ocr_app.decoder.protocol import KVSpec


@dataclass(slots=True)
class ToyState:
    """What the toy knows of a sequence: where its next tokens stand."""

    page_index: int = 0
    num_reference_tokens: int = 0
    num_output_tokens: int = 0  # advanced by whoever accepts tokens

    def begin_page(self, page_index: int) -> None:
        self.page_index, self.num_reference_tokens = page_index, 0

    def accept(self, token: int) -> None:
        self.num_output_tokens += 1


class ToyModel:
    """A pre-norm transformer without a trained thought. Everything follows from the seed."""

    def __init__(
        self,
        spec: KVSpec,
        *,
        vocabulary: int = 64,
        width: int | None = None,
        reference_is_causal: bool = False,
        has_router: bool = False,
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.kv_spec = spec
        self.reference_is_causal = reference_is_causal
        self.vocabulary = vocabulary
        width = width or spec.num_query_heads * spec.head_dim
        random = torch.Generator().manual_seed(seed)

        def weights(*shape: int) -> Tensor:
            return (torch.randn(*shape, generator=random) / shape[-1] ** 0.5).to(device, spec.dtype)

        self.embedding = weights(vocabulary, width) * width**0.5
        query_width, kv_width = spec.num_query_heads * spec.head_dim, spec.num_kv_heads * spec.head_dim
        layers = range(spec.num_layers)
        self.qkv = [
            weights(query_width + 2 * kv_width, width) * 2 for _ in layers
        ]  # twice the usual: attention that prefers something
        self.out = [weights(width, query_width) for _ in layers]
        self.up = [weights(2 * width, width) for _ in layers]
        self.down = [weights(width, 2 * width) for _ in layers]
        self.router_heads = (
            weights(spec.num_layers, spec.head_dim) * spec.head_dim**0.5 if has_router else None
        )
        self._splits = [query_width, kv_width, kv_width]
        self._axes, self._rates = (table.to(device) for table in _rotary_table(spec.head_dim // 2))

    def embed_reference(self, state: ToyState, page: Tensor) -> tuple[Tensor, Tensor]:
        places = torch.arange(len(page), device=page.device) + (
            state.num_reference_tokens if self.reference_is_causal else 0
        )
        state.num_reference_tokens += len(page)
        return self.embedding[page].unsqueeze(0), self._positions(state.page_index, places).unsqueeze(0)

    def embed_output(self, states: list[ToyState], tokens: Tensor) -> tuple[Tensor, Tensor]:
        positions = [
            self._positions(
                state.page_index, torch.arange(tokens.shape[1], device=tokens.device) + self._start(state)
            )
            for state in states
        ]
        return self.embedding[tokens], torch.stack(positions)

    def project(self, layer: int, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        parts = (_normalised(hidden) @ self.qkv[layer].T).split(self._splits, dim=-1)
        queries, keys, values = (
            part.unflatten(-1, (-1, self.kv_spec.head_dim)).transpose(1, 2) for part in parts
        )
        return self._rotated(queries, positions), self._rotated(keys, positions), values

    def finish_layer(self, layer: int, hidden: Tensor, attended: Tensor) -> Tensor:
        hidden = hidden + attended.transpose(1, 2).flatten(2) @ self.out[layer].T
        return hidden + torch.nn.functional.silu(_normalised(hidden) @ self.up[layer].T) @ self.down[layer].T

    def logits(self, states: list[ToyState], tokens: Tensor, hidden: Tensor) -> Tensor:
        return _normalised(hidden) @ self.embedding.T / hidden.shape[-1] ** 0.5

    def _rotated(self, heads: Tensor, positions: Tensor) -> Tensor:
        """Rotate (B, H, T, D) by positions (B, T, 2)."""
        angles = (positions[..., self._axes] * self._rates).unsqueeze(1)
        cos, sin = angles.cos().to(heads.dtype), angles.sin().to(heads.dtype)
        even, odd = heads.chunk(2, dim=-1)
        return torch.cat([even * cos - odd * sin, even * sin + odd * cos], dim=-1)

    def _start(self, state: ToyState) -> int:
        return state.num_output_tokens + (state.num_reference_tokens if self.reference_is_causal else 0)

    def _positions(self, page_index: int, places: Tensor) -> Tensor:
        page = torch.zeros_like(places) if self.reference_is_causal else torch.full_like(places, page_index)
        return torch.stack([page, places], dim=-1)


def toy_spec(
    *,
    layers: int = 2,
    heads: int = 4,
    kv_heads: int = 2,
    head_dim: int = 16,
    dtype: torch.dtype = torch.float32,
) -> KVSpec:
    """A shape small enough for thousands of steps in a second."""
    return KVSpec(layers, heads, kv_heads, head_dim, dtype)


def _normalised(hidden: Tensor) -> Tensor:
    return torch.nn.functional.rms_norm(hidden, hidden.shape[-1:])


def _rotary_table(num_pairs: int) -> tuple[Tensor, Tensor]:
    """Axis and rate of each pair: the first half turns with the page, the second with the place."""
    half = max(num_pairs // 2, 1)
    return torch.arange(num_pairs) * 2 // num_pairs, 0.1 ** (torch.arange(num_pairs) % half / half * 2)
