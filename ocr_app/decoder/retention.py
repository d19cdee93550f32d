"""What stays of earlier pages: integers and scores in, block ids to evict out. Called at chunk borders only.

The relevance of a block is what the router thought of it: for every output token of the chunk, exp(score -
best score of that token) at the last layer, averaged over the tokens; a block that was retained before keeps
half of its old relevance. Attention mass is not used, because fused attention does not give it away.
"""

import math
from dataclasses import dataclass
from statistics import median

from ocr_app.config import SparsityConfig
from ocr_app.decoder.kv_blocks import BlockRecord, PageBlocks, ceil_div
from ocr_app.errors import OutOfMemoryError

RETAINED_MEDIAN_PAGES = 1.75  # room for retained blocks and text under the automatic cap, in median pages
MAX_STEP_TOKENS = 32  # output tokens of one sequence in one step


@dataclass(frozen=True, slots=True)
class Room:
    """How many blocks a sequence may hold, and how many of them retained pages may take."""

    limit: int
    retained: int


def text_reserve_blocks(config: SparsityConfig) -> int:
    """Most blocks the windowed text can hold while a draft is verified."""
    return ceil_div(config.text_window - 1 + MAX_STEP_TOKENS, config.block_size) + 1


def plan_room(config: SparsityConfig, chunk_blocks: int, page_tokens: list[int]) -> Room:
    """Room beside an active chunk of `chunk_blocks`; `page_tokens` are the sizes of all pages so far.

    Raises OutOfMemoryError when the chunk does not fit under `max_resident_blocks`.
    """
    reserve = text_reserve_blocks(config)
    if config.max_resident_blocks is None:
        floor = config.page_window * config.min_blocks_per_page + reserve
        beside = max(int(RETAINED_MEDIAN_PAGES * median(page_tokens) / config.block_size), floor)
        return Room(limit=chunk_blocks + beside, retained=beside - reserve)
    needed = chunk_blocks + reserve
    if needed > config.max_resident_blocks:
        raise OutOfMemoryError(
            f"The pages being read need {needed} KV blocks and max_resident_blocks is "
            f"{config.max_resident_blocks}. Raise it to {needed} or more, or lower chunk_pages "
            f"({config.chunk_pages}) or the resolution."
        )
    return Room(limit=config.max_resident_blocks, retained=config.max_resident_blocks - needed)


def blocks_leaving(page: PageBlocks, config: SparsityConfig) -> set[int]:
    """Blocks evicted when a page leaves the active chunk: all but the most relevant share, never below the
    floor.
    """
    share = math.ceil(
        config.sparsity_ratio * page.num_blocks - 1e-9
    )  # 0.1 of 20 is 2, whatever binary fractions say
    num_kept = max(share, config.min_blocks_per_page)
    return {record.block_id for record in _by_relevance(page)[num_kept:]}


def blocks_over_room(pages: list[PageBlocks], room: int, config: SparsityConfig) -> dict[int, set[int]]:
    """Blocks to evict from retained pages, by page index, so that at most `room` stay.

    First those under the relevance threshold, oldest page first; then the least recently read; a page keeps
    its floor. When the floors alone are too many, whole pages leave, oldest first: the cap wins.
    """
    excess = sum(page.num_blocks for page in pages) - room
    if excess <= 0:
        return {}
    spare = [
        (page.page_index, record)
        for page in pages
        for record in _by_relevance(page)[config.min_blocks_per_page :]
    ]
    spare.sort(key=lambda item: _eviction_order(item[0], item[1], config.relevance_threshold))
    leaving: dict[int, set[int]] = {}
    for page_index, record in spare[:excess]:
        leaving.setdefault(page_index, set()).add(record.block_id)
    excess -= min(excess, len(spare))
    for page in sorted(pages, key=lambda page: page.page_index):
        if excess <= 0:
            break
        excess -= page.num_blocks - len(leaving.get(page.page_index, ()))
        leaving[page.page_index] = set(page.block_ids)
    return leaving


def update_relevance(record: BlockRecord, mean: float, last_read: int, *, was_retained: bool) -> None:
    """Take in what a chunk showed of a block."""
    record.relevance = (record.relevance + mean) / 2 if was_retained else mean
    record.last_read = max(record.last_read, last_read)


def _by_relevance(page: PageBlocks) -> list[BlockRecord]:
    """Best first; among equals the earlier place, where headings stand."""
    return sorted(page.records, key=lambda record: -record.relevance)


def _eviction_order(page_index: int, record: BlockRecord, threshold: float) -> tuple[int, int, float]:
    if record.relevance < threshold:
        return (0, page_index, record.relevance)
    return (1, record.last_read, record.relevance)
