"""One document in the engine, and what is counted of it. Holds block tables and the model's own state; knows
no tensors but one count.
"""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from torch import Tensor

from ocr_app.decoder.kv_blocks import BlockRecord, PageBlocks, SequenceBlocks
from ocr_app.types import ResidentPage


class SequenceStatus(StrEnum):
    WAITING = "waiting"  # for a page
    DECODING = "decoding"
    REMOVED = "removed"


@dataclass(slots=True, eq=False)
class Sequence:
    """One document in the engine."""

    id: int
    state: Any  # the model's own
    blocks: SequenceBlocks
    status: SequenceStatus = SequenceStatus.WAITING
    chunk: list[int] = field(default_factory=list)  # page indices of the active chunk, overlap first
    page_tokens: list[int] = field(default_factory=list)  # reference tokens of every page so far
    num_prefills: int = 0  # pages computed; pages taken over from another sequence are not
    num_open_tokens: int = 0  # of the last step: may still be rolled back
    num_tokens_in_chunk: int = 0  # output tokens since the last chunk border
    is_below_floor: bool = False  # told that its cap drops whole earlier pages
    attended: tuple[Tensor, int] | None = None  # tokens read by the last step of its batch, and the row

    @property
    def pages(self) -> dict[int, PageBlocks]:
        return self.blocks.pages

    @property
    def records(self) -> list[BlockRecord]:
        """Every resident reference block, in page order."""
        return [record for page in self.pages.values() for record in page.records]

    @property
    def num_output_tokens(self) -> int:
        return self.blocks.text.num_tokens


@dataclass(frozen=True, slots=True)
class KVCounters:
    """The KV cache at one moment: of one sequence, or of all."""

    allocated_bytes: int  # of the blocks held; in total: of the pool and of what a step gathers from it
    live_bytes: int  # of the slots that hold tokens
    attended_tokens: int | None  # read by the last step; None before the first
    resident_pages: tuple[ResidentPage, ...] = ()
    num_blocks: int = 0
    peak_blocks: int = 0
