"""What the engine asks of a model: five methods and the shape of its KV. The engine is handed a model and
never imports one.

The engine owns the loop over layers, the KV blocks, routing and attention; the model owns weights, embeddings
and logits:

    hidden, positions = model.embed_output(states, tokens)
    for layer in range(spec.num_layers):
        q, k, v = model.project(layer, hidden, positions)
        ... k, v go to the KV store; the chosen slots are read ...
        hidden = model.finish_layer(layer, hidden, attended)
    logits = model.logits(states, tokens, hidden)
"""

from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class KVSpec:
    """Shape of a model's KV."""

    num_layers: int
    num_query_heads: int
    num_kv_heads: int
    head_dim: int
    dtype: torch.dtype = torch.float32

    def bytes_per_token(self, itemsize: int | None = None) -> int:
        """Bytes of keys and values of one token over all layers."""
        itemsize = itemsize or self.dtype.itemsize
        return 2 * self.num_layers * self.num_kv_heads * self.head_dim * itemsize


class DecoderModel(Protocol):
    """A decoder whose attention the engine runs. B sequences, T tokens, H query heads, Hkv KV heads, D head
    dim, W width.

    `states` are the model's own per-sequence objects (the page being read, the reading cursor, the grammar);
    the engine keeps and passes them without looking inside. `reference_is_causal` False means that the
    reference tokens of a page see each other in both directions and nothing else, so that a page's KV is
    independent of its neighbours and may be shared.
    """

    kv_spec: KVSpec
    reference_is_causal: bool
    router_heads: Tensor | None  # (layers, D) pooling vectors of the `dash` router; None: keys are averaged

    def embed_reference(self, state: Any, page: Any) -> tuple[Tensor, Tensor]:
        """Embed one page's reference tokens: hidden (1, T, W) and positions (1, T, P), whatever `project`
        understands.
        """
        ...

    def embed_output(self, states: list[Any], tokens: Tensor) -> tuple[Tensor, Tensor]:
        """Embed output tokens (B, T), T > 1 for drafts being verified: hidden (B, T, W) and positions (B, T,
        P).
        """
        ...

    def project(self, layer: int, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, D), keys and values (B, Hkv, T, D); keys are rotated, as they will be cached."""
        ...

    def finish_layer(self, layer: int, hidden: Tensor, attended: Tensor) -> Tensor:
        """Output projection, residual and MLP after attention (B, H, T, D); returns (B, T, W)."""
        ...

    def logits(self, states: list[Any], tokens: Tensor, hidden: Tensor) -> Tensor:
        """Logits (B, T, vocabulary), masked as the model's grammar wants; -inf forbids, NaN is an error."""
        ...
