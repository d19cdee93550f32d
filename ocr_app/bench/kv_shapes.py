"""Shapes of KV caches as integers: bytes of a token and of a block. No torch, so that planning needs nothing
installed.

The published shape is the one behind the published pair of 47.00 and 1.77 GB: 131,072 bytes a token, 100
pages of 3,586 tokens.
"""

from dataclasses import dataclass

ITEM_BYTES = {"float32": 4, "float16": 2, "bfloat16": 2, "int8": 1}
SCALE_BYTES = 2  # int8 keeps a float16 scale per token, KV head, and keys or values
COUNTER_BYTES = 12  # per block: relevance in float32, last read in int64
GB = 10**9


@dataclass(frozen=True, slots=True)
class KVShape:
    """What a token's keys and values take in one model."""

    num_layers: int
    num_kv_heads: int
    head_dim: int
    dtype: str = "float16"

    @property
    def bytes_per_token(self) -> int:
        """Keys, values and their scales, over all layers."""
        per_head = self.head_dim * ITEM_BYTES[self.dtype] + (SCALE_BYTES if self.dtype == "int8" else 0)
        return 2 * self.num_layers * self.num_kv_heads * per_head

    def bytes_per_block(self, block_size: int) -> int:
        """What the pool takes for a block: its tokens, the key summary of each layer, its two counters."""
        summary_bytes = self.num_layers * self.num_kv_heads * self.head_dim * max(ITEM_BYTES[self.dtype], 2)
        return block_size * self.bytes_per_token + summary_bytes + COUNTER_BYTES


PUBLISHED_SHAPE = KVShape(num_layers=32, num_kv_heads=8, head_dim=128)
PUBLISHED_PAGE_TOKENS = 3586
PUBLISHED_NUM_PAGES = 100
PUBLISHED_SPARSE_BYTES = 1_770_000_000


def gigabytes(num_bytes: int | None, digits: int = 2) -> str | None:
    """In units of 10^9 bytes, as the published figures are."""
    return None if num_bytes is None else f"{num_bytes / GB:.{digits}f}"
