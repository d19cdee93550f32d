"""Attention of decode steps over KV blocks: one signature, backends by name. It knows block ids and a bias,
not why they were chosen.

    attend(queries (B, H, T, D), store, layer, block_ids (B, N), bias (B, T, N * S)) -> (B, H, T, D)

`bias` is added to the logits: -inf hides a slot. `dense` is the plain one: explicit logits, softmax and sums
in float64. `gather` copies the chosen blocks together and calls scaled_dot_product_attention, which picks a
flash kernel where the device has one. `flash` (flash-attn over block tables) is refused everywhere for now:
its kernels take no bias per block and, in version 2, only blocks of 256 tokens.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from ocr_app.decoder.kv_cache import KVStore
from ocr_app.errors import BackendUnavailableError

Attend = Callable[[Tensor, KVStore, int, Tensor, Tensor], Tensor]


def gather_attention(queries: Tensor, store: KVStore, layer: int, block_ids: Tensor, bias: Tensor) -> Tensor:
    """Query heads that share a KV head become rows of one query, so that its keys are read once and not once
    per head.
    """
    keys, values = store.gather(layer, block_ids, queries.dtype)
    num_kv_heads, num_tokens = keys.shape[1], queries.shape[2]
    rows = queries.unflatten(1, (num_kv_heads, -1)).flatten(2, 3)  # (B, Hkv, H / Hkv * T, D)
    row_bias = bias.repeat(1, rows.shape[2] // num_tokens, 1).unsqueeze(1)
    attended = scaled_dot_product_attention(rows, keys, values, attn_mask=row_bias)
    return attended.unflatten(2, (-1, num_tokens)).flatten(1, 2)


def dense_attention(queries: Tensor, store: KVStore, layer: int, block_ids: Tensor, bias: Tensor) -> Tensor:
    keys, values = store.gather(layer, block_ids, queries.dtype)
    return explicit_attention(queries, keys, values, bias)


def explicit_attention(queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor) -> Tensor:
    """softmax(q k / sqrt(D) + bias) v, written out: keys and values (B, Hkv, L, D), bias (B, T, L)."""
    repeats = queries.shape[1] // keys.shape[1]
    keys, values = (tensor.double().repeat_interleave(repeats, dim=1) for tensor in (keys, values))
    logits = queries.double() @ keys.transpose(-1, -2) / math.sqrt(
        queries.shape[-1]
    ) + bias.double().unsqueeze(1)
    return (logits.softmax(-1) @ values).to(queries.dtype)


def attend_page(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    is_causal: bool,
    before: tuple[Tensor, Tensor, Tensor] | None = None,
) -> Tensor:
    """Attention of a page's reference tokens (1, H, T, D): among themselves, and for a causal model to those
    before the page.

    `before` is keys and values (1, Hkv, L, D) of earlier reference blocks and their bias (1, L).
    """
    is_grouped = queries.shape[1] != keys.shape[1]
    if before is None:
        return scaled_dot_product_attention(queries, keys, values, is_causal=is_causal, enable_gqa=is_grouped)
    num_tokens = queries.shape[2]
    earlier_keys, earlier_values, earlier_bias = before
    own = queries.new_full((num_tokens, num_tokens), float("-inf")).triu(1)
    bias = torch.cat([earlier_bias.expand(num_tokens, -1), own], dim=1)
    keys, values = torch.cat([earlier_keys, keys], dim=2), torch.cat([earlier_values, values], dim=2)
    return scaled_dot_product_attention(queries, keys, values, attn_mask=bias, enable_gqa=is_grouped)


BACKENDS: dict[str, Attend] = {"gather": gather_attention, "dense": dense_attention}


def resolve_backend(name: str, device: torch.device) -> Attend:
    """The backend of that name. Raises BackendUnavailableError, with the remedy, for one this machine or this
    build lacks.
    """
    if name in BACKENDS:
        return BACKENDS[name]
    if name != "flash":
        raise BackendUnavailableError(
            f"Attention backend {name!r} is unknown; use one of dense, flash, gather."
        )
    reason = (
        "is not available with biases per block"
        if device.type == "cuda"
        else f"needs a CUDA device and this run uses {device.type!r}"
    )
    raise BackendUnavailableError(
        f"Attention backend 'flash' {reason}; use 'gather', which runs on CPU and CUDA."
    )
