"""Pages coming and going: chunk borders, room for the next page, and the relevance that decides who stays.

Applies the rules of `retention` to a sequence's block tables. Eviction happens here and nowhere else, before
a page takes its blocks, so a sequence never holds more than its limit.
"""

import logging
from collections.abc import Iterable

import torch

from ocr_app.config import SparsityConfig
from ocr_app.decoder.kv_blocks import ceil_div
from ocr_app.decoder.kv_cache import KVStore
from ocr_app.decoder.retention import (
    blocks_leaving,
    blocks_over_room,
    plan_room,
    text_reserve_blocks,
    update_relevance,
)
from ocr_app.decoder.sequence import Sequence
from ocr_app.decoder.step_plan import Observation
from ocr_app.types import ResidentState

logger = logging.getLogger(__name__)


def close_chunk(sequence: Sequence, next_page: int, store: KVStore, config: SparsityConfig) -> None:
    """Chunk border: the last pages become the overlap, the others keep a few blocks, pages behind the window
    go.
    """
    collect_relevance(sequence, store)
    num_leaving = len(sequence.chunk) - config.overlap_pages
    sequence.chunk = sequence.chunk[num_leaving:]
    for page in list(sequence.pages.values()):
        if page.page_index in sequence.chunk:
            page.state = ResidentState.OVERLAP
        elif next_page - page.page_index > config.page_window:
            _evict(sequence, page.page_index, set(page.block_ids))
        elif page.state is not ResidentState.RETAINED:
            page.state = ResidentState.RETAINED
            _evict(sequence, page.page_index, blocks_leaving(page, config))


def make_room(sequence: Sequence, num_tokens: int, config: SparsityConfig) -> None:
    """Set the limit for a chunk that gains a page of `num_tokens`, and evict retained blocks until the page
    fits under it.
    """
    active = [page for page in sequence.pages.values() if page.page_index in sequence.chunk]
    chunk_blocks = sum(page.num_blocks for page in active) + ceil_div(num_tokens, config.block_size)
    room = plan_room(config, chunk_blocks, [*sequence.page_tokens, num_tokens])
    retained = [page for page in sequence.pages.values() if page.state is ResidentState.RETAINED]
    if room.retained < config.min_blocks_per_page * len(retained):
        _warn_below_floor(sequence, room.retained, len(retained), config)
    for page_index, block_ids in blocks_over_room(retained, room.retained, config).items():
        _evict(sequence, page_index, block_ids)
    sequence.blocks.limit = room.limit


def _warn_below_floor(sequence: Sequence, room: int, num_pages: int, config: SparsityConfig) -> None:
    """Say once a document that the cap is so low that whole earlier pages leave before their window ends."""
    if not sequence.is_below_floor:
        sequence.is_below_floor = True
        cap = config.max_resident_blocks
        wanted = cap - room + config.min_blocks_per_page * config.page_window
        logger.warning(
            "max_resident_blocks is %d and leaves %d blocks to %d earlier pages: whole pages are dropped. "
            "Raise it to %d or more, or lower page_window (%d).",
            *(cap, room, num_pages, wanted, config.page_window),
        )


def text_blocks_to_come(sequences: Iterable[Sequence], config: SparsityConfig) -> int:
    """Blocks that running documents may still need for their windows: a page must not take them from a pool
    that cannot grow.
    """
    reserve = text_reserve_blocks(config)
    return sum(max(reserve - len(sequence.blocks.text.block_ids), 0) for sequence in sequences)


def keep_observation(observation: Observation, counts: list[int], store: KVStore) -> None:
    """Add a step's relevance and reads to the store: of the first `counts` tokens of each sequence, which
    were accepted.
    """
    positions = observation.positions
    places = torch.arange(positions.shape[1], device=positions.device)
    is_accepted = (places < torch.tensor(counts, device=positions.device).unsqueeze(1)).unsqueeze(
        2
    )  # (B, T, 1)
    relevance = (observation.relevance * is_accepted).sum(1)
    last_read = positions.unsqueeze(2).masked_fill(~(observation.is_read & is_accepted), -1).amax(1)
    store.note_reads(observation.block_ids, relevance, last_read)


def collect_relevance(sequence: Sequence, store: KVStore) -> None:
    """Turn what the chunk's tokens counted into a relevance per block."""
    block_ids = torch.tensor(sequence.blocks.reference_ids, dtype=torch.int64, device=store.device)
    sums, last_reads = store.relevance[block_ids].tolist(), store.last_read[block_ids].tolist()
    pages = [page for page in sequence.pages.values() for _ in page.records]
    records = sequence.records
    for page, record, total, last_read in zip(pages, records, sums, last_reads, strict=True):
        mean = total / max(sequence.num_tokens_in_chunk, 1)
        update_relevance(record, mean, last_read, was_retained=page.state is ResidentState.RETAINED)
    store.forget_reads(block_ids)
    sequence.num_tokens_in_chunk = 0


def _evict(sequence: Sequence, page_index: int, block_ids: set[int]) -> None:
    if (
        block_ids or not sequence.pages[page_index].records
    ):  # a blank page has nothing to evict and still leaves
        sequence.blocks.drop_blocks(page_index, block_ids)
