"""The KV store: keys, values and key summaries in blocks, one set of tensors per layer. It knows slots, not
pages or sequences.

Layout per layer: keys and values (num_blocks, S, Hkv, D), the layout paged attention kernels read. `int8`
adds one float16 scale per token and head, symmetric: x = scale * q. Summaries (num_blocks, kinds, Hkv, D)
serve the router: kind 0 is the pooled key, kinds 1 and 2 are the least and greatest key per dimension, only
for the `minmax` policy. Block 0 is the null block: padding reads it under a -inf bias.
"""

from collections.abc import Iterable

import torch
from torch import Tensor

from ocr_app.decoder.protocol import KVSpec
from ocr_app.decoder.routing import block_summaries
from ocr_app.errors import ConfigError

POOLED, MINIMUM, MAXIMUM = 0, 1, 2
NAMED_DTYPES = {
    "float32": torch.float32,
    "float16": torch.float16,
    "bfloat16": torch.bfloat16,
    "int8": torch.int8,
}


class KVStore:
    """Per-layer tensors in blocks. Growing replaces them one layer at a time, so that at most one layer
    exists twice.
    """

    def __init__(
        self,
        spec: KVSpec,
        num_blocks: int,
        block_size: int,
        *,
        dtype: torch.dtype,
        device: str,
        has_key_range: bool = False,
    ) -> None:
        self.spec = spec
        self.block_size = block_size
        self.dtype = dtype
        self.device = torch.device(device)
        self.is_quantised = dtype == torch.int8
        slot_shape = (block_size, spec.num_kv_heads, spec.head_dim)
        summary_dtype = torch.float16 if self.is_quantised else dtype
        summary_shape = (3 if has_key_range else 1, spec.num_kv_heads, spec.head_dim)
        layers = range(spec.num_layers)
        self.keys = [self._zeros(num_blocks, slot_shape, dtype) for _ in layers]
        self.values = [self._zeros(num_blocks, slot_shape, dtype) for _ in layers]
        self.summaries = [self._zeros(num_blocks, summary_shape, summary_dtype) for _ in layers]
        scale_layers = layers if self.is_quantised else ()
        self.key_scales = [self._zeros(num_blocks, slot_shape[:2], torch.float16) for _ in scale_layers]
        self.value_scales = [self._zeros(num_blocks, slot_shape[:2], torch.float16) for _ in scale_layers]
        # summed over output tokens since the last chunk border
        self.relevance = self._zeros(num_blocks, (), torch.float32)
        # index of the output token that last read the block
        self.last_read = self._zeros(num_blocks, (), torch.int64)
        self._scratch: dict[str, Tensor] = {}

    @property
    def num_blocks(self) -> int:
        return self.relevance.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the pool's tensors, summaries and counters included."""
        return sum(tensor.nbytes for tensor in self._all_tensors())

    @property
    def bytes_per_block(self) -> int:
        return self.nbytes // self.num_blocks

    @property
    def bytes_per_slot(self) -> int:
        """Bytes that one token's keys, values and scales take over all layers."""
        per_block = sum(
            t.nbytes
            for tensors in (self.keys, self.values, self.key_scales, self.value_scales)
            for t in tensors
        )
        return per_block // (self.num_blocks * self.block_size)

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the buffers that a step gathers into; one layer's worth, shared by all layers."""
        return storage_bytes(self._scratch.values())

    def grow(self, num_blocks: int) -> None:
        """Make room for `num_blocks` in all; contents and ids stay."""
        for tensors in (self.keys, self.values, self.summaries, self.key_scales, self.value_scales):
            for layer, tensor in enumerate(tensors):
                tensors[layer] = self._grown(tensor, num_blocks)
        self.relevance = self._grown(self.relevance, num_blocks)
        self.last_read = self._grown(self.last_read, num_blocks)

    def write(self, layer: int, slots: Tensor, keys: Tensor, values: Tensor) -> None:
        """Store tokens: slots (n,), keys and values (n, Hkv, D)."""
        self._write(self.keys, self.key_scales, layer, slots, keys)
        self._write(self.values, self.value_scales, layer, slots, values)

    def write_page(
        self, layer: int, block_ids: Tensor, keys: Tensor, values: Tensor, head: Tensor | None
    ) -> None:
        """Store a page's reference tokens (Tokens, Hkv, D) into its blocks, with the router's summaries of
        them.
        """
        num_tokens = keys.shape[0]
        offsets = torch.arange(self.block_size, device=self.device)
        slots = (block_ids.unsqueeze(1) * self.block_size + offsets).flatten()[:num_tokens]
        self.write(layer, slots, keys, values)
        self.summaries[layer][block_ids] = self._summarise(keys, head).to(self.summaries[layer].dtype)

    def forget_reads(self, block_ids: Tensor) -> None:
        """Start counting anew for blocks that have a new owner or pass a chunk border."""
        self.relevance[block_ids] = 0
        self.last_read[block_ids] = 0

    def note_reads(self, block_ids: Tensor, relevance: Tensor, last_read: Tensor) -> None:
        """Add relevance to blocks (B, N), and the output index that last read each, -1 for none."""
        self.relevance.index_add_(0, block_ids.flatten(), relevance.flatten().float())
        self.last_read.scatter_reduce_(0, block_ids.flatten(), last_read.flatten(), "amax")

    @torch.inference_mode()
    def gather(self, layer: int, block_ids: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
        """Keys and values of blocks (B, N) as (B, Hkv, N * S, D) in `dtype`. Valid until the next gather."""
        keys = self._gather(
            "keys", self.keys[layer], self.key_scales[layer] if self.is_quantised else None, block_ids, dtype
        )
        values = self._gather(
            "values",
            self.values[layer],
            self.value_scales[layer] if self.is_quantised else None,
            block_ids,
            dtype,
        )
        return keys, values

    def _write(
        self, tensors: list[Tensor], scales: list[Tensor], layer: int, slots: Tensor, rows: Tensor
    ) -> None:
        flat = tensors[layer].flatten(0, 1)
        if self.is_quantised:
            rows, row_scales = quantise(rows)
            scales[layer].flatten(0, 1).index_copy_(0, slots, row_scales)
        flat.index_copy_(0, slots, rows.to(flat.dtype))

    def _summarise(self, keys: Tensor, head: Tensor | None) -> Tensor:
        """Summaries (N, kinds, Hkv, D) of a page's keys (Tokens, Hkv, D)."""
        num_tokens = keys.shape[0]
        num_blocks = -(-num_tokens // self.block_size)
        padding = num_blocks * self.block_size - num_tokens
        padded = torch.cat([keys, keys.new_zeros(padding, *keys.shape[1:])]).unflatten(
            0, (num_blocks, self.block_size)
        )
        per_head = padded.transpose(1, 2)  # (N, Hkv, S, D)
        filled = (torch.arange(num_blocks * self.block_size, device=keys.device) < num_tokens).view(
            num_blocks, 1, self.block_size
        )
        kinds = [block_summaries(per_head, head, filled)]
        if self.summaries[0].shape[1] > 1:
            empty = ~filled.unsqueeze(-1)
            kinds.append(per_head.masked_fill(empty, float("inf")).amin(2))
            kinds.append(per_head.masked_fill(empty, float("-inf")).amax(2))
        return torch.stack(kinds, 1)

    def _gather(
        self, name: str, blocks: Tensor, scales: Tensor | None, block_ids: Tensor, dtype: torch.dtype
    ) -> Tensor:
        flat_ids = block_ids.reshape(-1)
        shape = (flat_ids.shape[0], *blocks.shape[1:])
        gathered = torch.index_select(
            blocks, 0, flat_ids, out=self._buffer(f"{name} {blocks.dtype}", shape, blocks.dtype)
        )
        if scales is not None:
            gathered = torch.mul(
                gathered,
                scales.index_select(0, flat_ids).to(dtype).unsqueeze(-1),
                out=self._buffer(f"{name} {dtype}", shape, dtype),
            )
        elif blocks.dtype != dtype:
            gathered = self._buffer(f"{name} {dtype}", shape, dtype).copy_(gathered)
        num_sequences, num_blocks = block_ids.shape
        return gathered.view(num_sequences, num_blocks * self.block_size, *blocks.shape[2:]).transpose(1, 2)

    def _buffer(self, name: str, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        """A view of a buffer that is kept between calls: allocating megabytes in each layer costs more than
        filling them.
        """
        size = torch.Size(shape).numel()
        buffer = self._scratch.get(name)
        if buffer is None or buffer.numel() < size:
            buffer = self._scratch[name] = torch.empty(size, dtype=dtype, device=self.device)
        return buffer[:size].view(shape)

    def _zeros(self, num_blocks: int, shape: tuple[int, ...], dtype: torch.dtype) -> Tensor:
        return torch.zeros((num_blocks, *shape), dtype=dtype, device=self.device)

    def _grown(self, tensor: Tensor, num_blocks: int) -> Tensor:
        grown = self._zeros(num_blocks, tuple(tensor.shape[1:]), tensor.dtype)
        grown[: tensor.shape[0]] = tensor
        return grown

    def _all_tensors(self) -> list[Tensor]:
        return [
            *self.keys,
            *self.values,
            *self.summaries,
            *self.key_scales,
            *self.value_scales,
            self.relevance,
            self.last_read,
        ]


def storage_bytes(tensors: Iterable[Tensor]) -> int:
    """Bytes of memory behind tensors, each storage counted once."""
    storages = [tensor.untyped_storage() for tensor in tensors]
    return sum({storage.data_ptr(): storage.nbytes() for storage in storages}.values())


def quantise(rows: Tensor) -> tuple[Tensor, Tensor]:
    """Symmetric 8-bit rows (..., D) with one float16 scale each (...): the greatest magnitude becomes 127."""
    rows = rows.float()
    scales = (rows.abs().amax(-1) / 127).clamp(min=1e-7).half()
    quantised = (rows / scales.float().unsqueeze(-1)).round_().clamp_(-127, 127)
    return quantised.to(torch.int8), scales


def named_dtype(dtype: str | torch.dtype | None, default: torch.dtype) -> torch.dtype:
    """The dtype that a setting names, `default` where it is None. Raises ConfigError for an unknown name."""
    if not isinstance(dtype, str):
        return dtype or default
    if dtype not in NAMED_DTYPES:
        raise ConfigError(f"kv_dtype is {dtype!r}; it must be one of {', '.join(NAMED_DTYPES)}.")
    return NAMED_DTYPES[dtype]
