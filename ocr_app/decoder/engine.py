"""SR-SWA decoding: the loop over layers, and what of each document stays in memory. It is handed a model and never imports one.

A document is one sequence. Per page: `prefill` writes the page's reference KV into blocks, evicting at chunk borders first; `decode_step`
appends output tokens and returns their logits; `end_page` closes it. One step, for any number of sequences at once:

    1. blocks that slid out of the text window are freed, blocks for the new tokens taken
    2. the plan hides what the window no longer shows
    3. per layer: project, write the new keys and values, choose blocks, attend, finish the layer
    4. logits, checked for NaN

It knows tensors and token ids; documents, tokenizers and sampling are others' business.
"""

import itertools
from collections.abc import Hashable, Sequence as Row
from dataclasses import dataclass, field
from enum import StrEnum
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from ocr_app.config import ATTENTION_MODES, SparsityConfig
from ocr_app.decoder.attention import attend_page, resolve_backend
from ocr_app.decoder.kv_blocks import BlockPool, BlockRecord, PageBlocks, SequenceBlocks
from ocr_app.decoder.kv_cache import NAMED_DTYPES, KVStore
from ocr_app.decoder.protocol import DecoderModel
from ocr_app.decoder.retention import (
    MAX_DRAFT_TOKENS,
    blocks_leaving,
    blocks_over_room,
    plan_room,
    text_reserve_blocks,
    update_relevance,
)
from ocr_app.decoder.step_plan import ReadingList, StepPlan, padded_blocks, text_columns
from ocr_app.errors import ConfigError, NonFiniteLogitsError
from ocr_app.types import ResidentPage, ResidentState

UNLIMITED_WINDOW = 2**39


class SequenceStatus(StrEnum):
    WAITING = "waiting"  # for a page
    DECODING = "decoding"
    REMOVED = "removed"


@dataclass(slots=True, eq=False)
class Sequence:
    """One document in the engine."""

    id: int
    state: Any  # the model's own
    mode: str
    blocks: SequenceBlocks
    status: SequenceStatus = SequenceStatus.WAITING
    chunk: list[int] = field(default_factory=list)  # page indices of the active chunk, overlap first
    page_tokens: list[int] = field(default_factory=list)  # reference tokens of every page so far
    num_prefills: int = 0  # pages computed; pages taken over from another sequence are not
    num_steps_in_chunk: int = 0
    attended: tuple[Tensor, int] | None = None  # tokens read by the last step of its batch, and the row

    @property
    def pages(self) -> dict[int, PageBlocks]:
        return self.blocks.pages

    @property
    def num_output_tokens(self) -> int:
        return self.blocks.text.num_tokens


@dataclass(frozen=True, slots=True)
class KVCounters:
    """The KV cache at one moment: of one sequence, or of all."""

    allocated_bytes: int  # of the blocks held; in total: of the pool's tensors
    live_bytes: int  # of the slots that hold tokens
    attended_tokens: int | None  # read by the last step; None before the first
    resident_pages: tuple[ResidentPage, ...] = ()
    num_blocks: int = 0
    peak_blocks: int = 0


class Engine:
    """Owns the KV store and the block pool, and runs a model's layers over them. A context manager: leaving it frees everything."""

    def __init__(
        self,
        model: DecoderModel,
        sparsity: SparsityConfig,
        *,
        mode: str = "sparse",
        backend: str = "gather",
        dtype: str | torch.dtype | None = None,
        device: str = "cpu",
        capacity_blocks: int | None = None,
    ) -> None:
        """`capacity_blocks` fixes the size of the pool; None lets it grow at prefills, to what is needed."""
        self.model, self.sparsity, self.mode = model, sparsity, _checked_mode(mode)
        self.spec = model.kv_spec
        self._attend = resolve_backend(backend, torch.device(device))
        self._may_grow = capacity_blocks is None
        num_blocks = 1 + (capacity_blocks or 0)
        self.pool = BlockPool(num_blocks)
        self.store = KVStore(
            self.spec,
            num_blocks,
            sparsity.block_size,
            dtype=_store_dtype(dtype, self.spec.dtype),
            device=device,
            has_key_range=sparsity.routing == "minmax",
        )
        self.sequences: dict[int, Sequence] = {}
        self.num_steps = 0
        self._ids = itertools.count()
        self._plan: tuple[Hashable, StepPlan] | None = None
        self._reusable: dict[tuple[Hashable, int], tuple[int, int]] = {}

    def __enter__(self) -> "Engine":
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Remove every sequence."""
        for sequence in list(self.sequences.values()):
            self.remove(sequence)

    def add_sequence(self, state: Any, *, mode: str | None = None) -> Sequence:
        """Let a document join; `mode` overrides the engine's for this one."""
        blocks = SequenceBlocks(self.pool, self.sparsity.block_size)
        sequence = Sequence(next(self._ids), state, _checked_mode(mode or self.mode), blocks)
        self.sequences[sequence.id] = sequence
        return sequence

    def remove(self, sequence: Sequence) -> None:
        """Let a document leave, finished or not: all its blocks go back to the pool. Removing twice does nothing."""
        if self.sequences.pop(sequence.id, None) is not None:
            sequence.blocks.release()
            sequence.status = SequenceStatus.REMOVED
            self._plan = None

    @torch.inference_mode()
    def prefill(self, sequence: Sequence, page_index: int, page: Any, *, reuse_key: Hashable | None = None) -> None:
        """Compute the KV of a page and make it the current one. Pages come in rising order, each once.

        With `reuse_key` (a hash of the page's content) an identical page that is whole in memory at the same page index is taken over
        without computing or copying, if the model's page KV is independent.
        """
        if reuse_key is not None and self._take_over(sequence, page_index, reuse_key):
            return
        hidden, positions = self.model.embed_reference(sequence.state, page)
        self._open_page(sequence, page_index, hidden.shape[1])
        earlier = self._earlier_reference(sequence)
        block_ids = self._enter_page(sequence, page_index, hidden.shape[1])
        for layer in range(self.spec.num_layers):
            queries, keys, values = self.model.project(layer, hidden, positions)
            self._write_layer(layer, block_ids, keys[0].transpose(0, 1), values[0].transpose(0, 1))
            before = (*self.store.gather(layer, earlier[0], queries.dtype), earlier[1]) if earlier else None
            attended = attend_page(queries, keys, values, is_causal=self.model.reference_is_causal, before=before)
            hidden = self.model.finish_layer(layer, hidden, attended)
        sequence.num_prefills += 1
        if reuse_key is not None:
            self._reusable[reuse_key, page_index] = (sequence.id, len(block_ids))

    @torch.inference_mode()
    def write_reference(self, sequence: Sequence, page_index: int, keys: Row[Tensor], values: Row[Tensor]) -> None:
        """Enter a page whose KV is known: one tensor (T, Hkv, D) per layer for keys and for values."""
        self._open_page(sequence, page_index, keys[0].shape[0])
        block_ids = self._enter_page(sequence, page_index, keys[0].shape[0])
        for layer in range(self.spec.num_layers):
            self._write_layer(layer, block_ids, keys[layer], values[layer])

    @torch.inference_mode()
    def decode_step(self, sequences: list[Sequence], tokens: list[list[int]]) -> list[Tensor]:
        """Append output tokens, one or a draft of several per sequence, and return the logits (T, vocabulary) after each of them.

        On an error nothing was appended.
        """
        assert all(sequence.status is SequenceStatus.DECODING for sequence in sequences), "prefill a page before decoding"
        slots, positions = self._append_tokens(sequences, tokens)
        try:
            logits = self._forward(sequences, _padded_tokens(tokens, self.store.device), slots, positions)
        except BaseException:
            for sequence, row in zip(sequences, tokens, strict=True):
                sequence.blocks.rollback_text(len(row))
            raise
        return [logits[row, : len(drafted)] for row, drafted in enumerate(tokens)]

    def rollback(self, sequence: Sequence, num_tokens: int) -> None:
        """Drop the last tokens of the last step: a draft that was rejected. Blocks left empty go back to the pool."""
        sequence.blocks.rollback_text(num_tokens)

    def end_page(self, sequence: Sequence) -> None:
        """The current page is written; its blocks stay until a chunk border."""
        assert sequence.status is SequenceStatus.DECODING, f"sequence {sequence.id} reads no page"
        sequence.status = SequenceStatus.WAITING

    def sample(self, sequence: Sequence | None = None) -> KVCounters:
        """Count what one sequence holds, or all of them with the whole pool."""
        counted = list(self.sequences.values()) if sequence is None else [sequence]
        num_blocks = sum(each.blocks.num_blocks for each in counted)
        attended = [int(each.attended[0][each.attended[1]]) for each in counted if each.attended is not None]
        return KVCounters(
            allocated_bytes=self.store.nbytes if sequence is None else num_blocks * self.store.bytes_per_block,
            live_bytes=sum(each.blocks.num_live_tokens for each in counted) * self.store.bytes_per_slot,
            attended_tokens=sum(attended) if attended else None,
            resident_pages=tuple(
                ResidentPage(page.page_index, page.state, page.num_blocks) for each in counted for page in each.pages.values()
            ),
            num_blocks=num_blocks,
            peak_blocks=max((each.blocks.peak_blocks for each in counted), default=0),
        )

    def check_integrity(self) -> None:
        """Assert that every block is free or held, and that tensors and ids agree in number."""
        self.pool.check_integrity(sequence.blocks for sequence in self.sequences.values())
        assert self.store.num_blocks == self.pool.num_blocks, "pool and store differ in size"

    # One decode step

    def _append_tokens(self, sequences: list[Sequence], tokens: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Take the slots of the new tokens: slots and output positions, both (B, T), padded like the tokens."""
        for sequence, row in zip(sequences, tokens, strict=True):
            assert 1 <= len(row) <= MAX_DRAFT_TOKENS, f"{len(row)} tokens in one step; 1 to {MAX_DRAFT_TOKENS} are allowed"
            sequence.blocks.slide_text(self._window(sequence))
            self._grow(sequence, sequence.blocks.text.num_missing_blocks(len(row)))
            sequence.blocks.reserve_text(len(row))
        width = max(len(row) for row in tokens)
        slots, positions = [], []
        for sequence, row in zip(sequences, tokens, strict=True):
            first, padding = sequence.num_output_tokens, width - len(row)
            slots.append(sequence.blocks.text.append(len(row)) + [0] * padding)  # slot 0 lies in the null block
            positions.append([*range(first, first + len(row)), *[first + len(row) - 1] * padding])
        return torch.tensor(slots, device=self.store.device), torch.tensor(positions, device=self.store.device)

    def _forward(self, sequences: list[Sequence], tokens: Tensor, slots: Tensor, positions: Tensor) -> Tensor:
        plan = self._plan_for(sequences, tokens.shape[1])
        plan.begin([each.blocks.text for each in sequences], [each.blocks.text_version for each in sequences], positions)
        states = [sequence.state for sequence in sequences]
        hidden, model_positions = self.model.embed_output(states, tokens)
        flat_slots = slots.flatten()
        for layer in range(self.spec.num_layers):
            queries, keys, values = self.model.project(layer, hidden, model_positions)
            self.store.write(layer, flat_slots, keys.transpose(1, 2).flatten(0, 1), values.transpose(1, 2).flatten(0, 1))
            block_ids, bias = plan.select(layer, queries)
            hidden = self.model.finish_layer(layer, hidden, self._attend(queries, self.store, layer, block_ids, bias))
        plan.note_reads(queries, self.num_steps)
        self._count_step(sequences, plan.count_attended(bias))
        return self._checked(self.model.logits(states, tokens, hidden))

    def _plan_for(self, sequences: list[Sequence], num_tokens: int) -> StepPlan:
        """The plan of this batch, kept until its members, their pages or the size of the text tables change."""
        key = tuple((sequence.id, sequence.blocks.reference_version) for sequence in sequences)
        if self._plan is not None:
            kept_key, plan = self._plan
            max_tokens = max(num_tokens, plan.max_tokens)
            if key == kept_key and max_tokens == plan.max_tokens and self._text_columns(sequences, max_tokens) <= plan.num_text_blocks:
                return plan
        else:
            max_tokens = num_tokens
        plan = StepPlan(
            [self._reading_list(sequence) for sequence in sequences],
            self.store,
            self.spec,
            self.sparsity,
            num_text_blocks=self._text_columns(sequences, max_tokens),
            max_tokens=max_tokens,
        )
        self._plan = (key, plan)
        return plan

    def _reading_list(self, sequence: Sequence) -> ReadingList:
        if sequence.mode != "sparse":
            everything = [record for page in sequence.pages.values() for record in page.records]
            return ReadingList(everything, [], [], self._window(sequence), scores_relevance=False)
        current = sequence.chunk[-1]
        always = sequence.chunk[-1 - self.sparsity.overlap_pages :]
        fixed: list[BlockRecord] = []
        candidates: list[tuple[int, BlockRecord]] = []
        for page_index, page in sequence.pages.items():
            if page_index in always:
                fixed += page.records
            elif current - page_index <= self.sparsity.page_window:
                candidates += [(page_index, record) for record in page.records]
        return ReadingList(
            fixed,
            [record for _, record in candidates],
            [page_index for page_index, _ in candidates],
            self._window(sequence),
            scores_relevance=True,
        )

    def _text_columns(self, sequences: list[Sequence], max_tokens: int) -> int:
        windows = [self.sparsity.text_window if sequence.mode != "full" else None for sequence in sequences]
        pairs = zip(sequences, windows, strict=True)
        return max(text_columns(sequence.blocks.text, window, self.sparsity, max_tokens) for sequence, window in pairs)

    def _window(self, sequence: Sequence) -> int:
        return UNLIMITED_WINDOW if sequence.mode == "full" else self.sparsity.text_window

    def _count_step(self, sequences: list[Sequence], attended: Tensor) -> None:
        self.num_steps += 1
        for row, sequence in enumerate(sequences):
            sequence.attended = (attended, row)
            sequence.num_steps_in_chunk += 1

    def _checked(self, logits: Tensor) -> Tensor:
        if not bool(logits.amax(-1).isfinite().all()):  # the maximum carries NaN and infinity, and is -inf where every token is forbidden
            raise NonFiniteLogitsError(
                f"The decoder gave NaN or infinite logits at step {self.num_steps} with {self.spec.dtype} weights and a "
                f"{self.store.dtype} KV cache. Use float32, or bfloat16 in place of float16."
            )
        return logits

    # Pages coming and going

    def _enter_page(self, sequence: Sequence, page_index: int, num_tokens: int) -> Tensor:
        """Take the blocks of a new page, for which there is room, and make it current; returns its block ids."""
        count = -(-num_tokens // self.sparsity.block_size)
        self._grow(sequence, count)
        page = sequence.blocks.add_page(page_index, num_tokens)
        block_ids = torch.tensor(page.block_ids, dtype=torch.int64, device=self.store.device)
        self.store.forget_reads(block_ids)
        self._begin_page(sequence, page_index, num_tokens)
        return block_ids

    def _open_page(self, sequence: Sequence, page_index: int, num_tokens: int) -> None:
        assert sequence.id in self.sequences, f"sequence {sequence.id} was removed"
        assert not sequence.chunk or page_index > sequence.chunk[-1], f"page {page_index} comes after page {sequence.chunk[-1]}"
        if sequence.mode == "sparse":
            if len(sequence.chunk) == self.sparsity.chunk_pages:
                self._close_chunk(sequence, page_index)
            self._make_room(sequence, num_tokens)

    def _begin_page(self, sequence: Sequence, page_index: int, num_tokens: int) -> None:
        sequence.chunk.append(page_index)
        sequence.page_tokens.append(num_tokens)
        sequence.status = SequenceStatus.DECODING

    def _close_chunk(self, sequence: Sequence, next_page: int) -> None:
        """Chunk border: the last pages become the overlap, the others keep a few blocks, pages behind the window go."""
        self._collect_relevance(sequence)
        num_leaving = len(sequence.chunk) - self.sparsity.overlap_pages
        sequence.chunk = sequence.chunk[num_leaving:]
        for page in list(sequence.pages.values()):
            if page.page_index in sequence.chunk:
                page.state = ResidentState.OVERLAP
            elif next_page - page.page_index > self.sparsity.page_window:
                self._evict(sequence, page.page_index, set(page.block_ids))
            elif page.state is not ResidentState.RETAINED:
                page.state = ResidentState.RETAINED
                self._evict(sequence, page.page_index, blocks_leaving(page, self.sparsity))

    def _make_room(self, sequence: Sequence, num_tokens: int) -> None:
        """Set the limit for a chunk that gains a page of `num_tokens`, and evict retained blocks until the page fits under it."""
        active = [page for page in sequence.pages.values() if page.page_index in sequence.chunk]
        chunk_blocks = sum(page.num_blocks for page in active) - (-num_tokens // self.sparsity.block_size)
        room = plan_room(self.sparsity, chunk_blocks, [*sequence.page_tokens, num_tokens])
        retained = [page for page in sequence.pages.values() if page.state is ResidentState.RETAINED]
        for page_index, block_ids in blocks_over_room(retained, room.retained, self.sparsity).items():
            self._evict(sequence, page_index, block_ids)
        sequence.blocks.limit = room.limit

    def _evict(self, sequence: Sequence, page_index: int, block_ids: set[int]) -> None:
        if block_ids:
            sequence.blocks.drop_blocks(page_index, block_ids)

    def _collect_relevance(self, sequence: Sequence) -> None:
        """Turn what the chunk's steps counted into a relevance per block."""
        block_ids = torch.tensor(sequence.blocks.reference_ids, dtype=torch.int64, device=self.store.device)
        sums, steps = self.store.relevance[block_ids].tolist(), self.store.last_read[block_ids].tolist()
        pages = [page for page in sequence.pages.values() for _ in page.records]
        records = [record for page in sequence.pages.values() for record in page.records]
        for page, record, total, step in zip(pages, records, sums, steps, strict=True):
            mean = total / max(sequence.num_steps_in_chunk, 1)
            update_relevance(record, mean, step, was_retained=page.state is ResidentState.RETAINED)
        self.store.forget_reads(block_ids)
        sequence.num_steps_in_chunk = 0

    def _earlier_reference(self, sequence: Sequence) -> tuple[Tensor, Tensor] | None:
        """Resident blocks (1, N) that a causal page sees before itself, and their bias (1, N * S)."""
        records = [record for page in sequence.pages.values() for record in page.records]
        if not self.model.reference_is_causal or not records:
            return None
        return padded_blocks([records], len(records), self.sparsity.block_size, self.spec.dtype, self.store.device)

    def _write_layer(self, layer: int, block_ids: Tensor, keys: Tensor, values: Tensor) -> None:
        if len(block_ids):
            heads = self.model.router_heads
            self.store.write_page(layer, block_ids, keys, values, None if heads is None else heads[layer])

    def _grow(self, sequence: Sequence, num_blocks: int) -> None:
        """Enlarge pool and store before `num_blocks` are taken: to the need in sparse mode, ahead of it where nothing is evicted."""
        missing = num_blocks - self.pool.num_free_blocks
        if missing <= 0 or not self._may_grow:
            return
        if sequence.mode == "sparse":
            total = self.pool.num_blocks + missing + text_reserve_blocks(self.sparsity) - len(sequence.blocks.text.block_ids)
        else:
            total = max(self.pool.num_blocks + missing, self.pool.num_blocks * 5 // 4)
        self.pool.grow(total)
        self.store.grow(total)

    def _take_over(self, sequence: Sequence, page_index: int, reuse_key: Hashable) -> bool:
        """Share the blocks of an identical page, if another sequence still holds all of them."""
        source_id, num_blocks = self._reusable.get((reuse_key, page_index), (-1, 0))
        source = self.sequences.get(source_id)
        page = source.pages.get(page_index) if source else None
        if page is None or page.num_blocks != num_blocks or not self.model.page_kv_is_independent:
            self._reusable.pop((reuse_key, page_index), None)
            return False
        self._open_page(sequence, page_index, page.num_tokens)
        sequence.blocks.share_page(page_index, page)
        self._begin_page(sequence, page_index, page.num_tokens)
        return True


def _checked_mode(mode: str) -> str:
    if mode not in ATTENTION_MODES:
        raise ConfigError(f"mode is {mode!r}; it must be one of {', '.join(ATTENTION_MODES)}.")
    return mode


def _store_dtype(dtype: str | torch.dtype | None, default: torch.dtype) -> torch.dtype:
    if isinstance(dtype, str):
        if dtype not in NAMED_DTYPES:
            raise ConfigError(f"kv_dtype is {dtype!r}; it must be one of {', '.join(NAMED_DTYPES)}.")
        return NAMED_DTYPES[dtype]
    return dtype or default


def _padded_tokens(tokens: list[list[int]], device: torch.device) -> Tensor:
    """Token ids (B, T); shorter rows repeat their last token, whose logits are cut off again."""
    width = max(len(row) for row in tokens)
    return torch.tensor([row + row[-1:] * (width - len(row)) for row in tokens], device=device)
