"""SR-SWA decoding: the loop over layers, and what of each document stays in memory. It is handed a model and
never imports one.

A document is one sequence. Per page: `prefill` writes the page's reference KV into blocks, evicting at chunk
borders first; `decode_step` appends output tokens and returns their logits; `end_page` closes it. One step,
for any number of sequences at once:

    1. blocks that slid out of the text window are freed, blocks for the new tokens taken
    2. the plan hides what the window no longer shows
    3. per layer: project, write the new keys and values, choose blocks, attend, finish the layer
    4. logits, checked for NaN

It knows tensors and token ids; documents, tokenizers and sampling are others' business.
"""

import itertools
from collections.abc import Hashable
from collections.abc import Sequence as Row
from types import TracebackType
from typing import Any

import torch
from torch import Tensor

from ocr_app.config import ATTENTION_MODES, SparsityConfig
from ocr_app.decoder.attention import attend_page, resolve_backend
from ocr_app.decoder.kv_blocks import BlockPool, SequenceBlocks, ceil_div
from ocr_app.decoder.kv_cache import KVStore, named_dtype
from ocr_app.decoder.plans import PlanCache, text_window
from ocr_app.decoder.protocol import DecoderModel
from ocr_app.decoder.residency import close_chunk, keep_observation, make_room, text_blocks_to_come
from ocr_app.decoder.retention import MAX_STEP_TOKENS, text_reserve_blocks
from ocr_app.decoder.sequence import KVCounters, Sequence, SequenceStatus
from ocr_app.decoder.step_plan import Observation, padded_blocks
from ocr_app.errors import ConfigError, NonFiniteLogitsError
from ocr_app.types import ResidentPage


class Engine:
    """Owns the KV store and the block pool, and runs a model's layers over them. A context manager: leaving
    it frees everything.
    """

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
            dtype=named_dtype(dtype, self.spec.dtype),
            device=device,
            has_key_range=sparsity.routing == "minmax",
        )
        self.sequences: dict[int, Sequence] = {}
        self.num_steps = 0
        self._ids = itertools.count()
        self._plans = PlanCache(self.store, self.spec, sparsity, mode)
        self._observed: tuple[Observation | None, list[Sequence]] | None = None
        self._reusable: dict[tuple[Hashable, int], tuple[int, int]] = {}

    def __enter__(self) -> "Engine":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove every sequence."""
        for sequence in list(self.sequences.values()):
            self.remove(sequence)

    def add_sequence(self, state: Any) -> Sequence:
        """Let a document join."""
        blocks = SequenceBlocks(self.pool, self.sparsity.block_size)
        sequence = Sequence(next(self._ids), state, blocks)
        self.sequences[sequence.id] = sequence
        return sequence

    def remove(self, sequence: Sequence) -> None:
        """Let a document leave, finished or not: all its blocks go back to the pool. Removing twice does
        nothing.
        """
        if self.sequences.pop(sequence.id, None) is not None:
            sequence.num_open_tokens = 0  # what its last step observed no longer counts
            sequence.blocks.release()
            sequence.status = SequenceStatus.REMOVED
            self._plans.forget()

    @torch.inference_mode()
    def prefill(
        self, sequence: Sequence, page_index: int, page: Any, *, reuse_key: Hashable | None = None
    ) -> Tensor | None:
        """Compute the KV of a page and make it the current one. Pages come in rising order, each once.

        Returns the last hidden state (1, T, W) of its reference tokens. With `reuse_key` (a hash of the
        page's content) an identical page that is whole in memory at the same page index is taken over without
        computing or copying, if the model's page KV is independent; then there is no hidden state, and None
        is returned. On an error the page was not entered.
        """
        if reuse_key is not None and self._take_over(sequence, page_index, reuse_key):
            return None
        hidden, positions = self.model.embed_reference(sequence.state, page)
        self._open_page(sequence, page_index, hidden.shape[1])
        earlier = self._earlier_reference(sequence)
        block_ids = self._enter_page(sequence, page_index, hidden.shape[1])
        try:
            hidden = self._prefill_layers(hidden, positions, block_ids, earlier)
        except BaseException:
            self._discard_page(sequence, page_index)
            raise
        sequence.num_prefills += 1
        if reuse_key is not None:
            self._reusable[reuse_key, page_index] = (sequence.id, len(block_ids))
        return hidden

    @torch.inference_mode()
    def write_reference(
        self, sequence: Sequence, page_index: int, keys: Row[Tensor], values: Row[Tensor]
    ) -> None:
        """Enter a page whose KV is known: one tensor (T, Hkv, D) per layer for keys and for values.

        Fewer tensors than layers write the first layers only and leave the rest of the blocks as they are:
        the page takes the same blocks.
        """
        self._open_page(sequence, page_index, keys[0].shape[0])
        block_ids = self._enter_page(sequence, page_index, keys[0].shape[0])
        if len(block_ids):
            for layer, (layer_keys, layer_values) in enumerate(zip(keys, values, strict=True)):
                self._write_layer(layer, block_ids, layer_keys, layer_values)

    @torch.inference_mode()
    def decode_step(self, sequences: list[Sequence], tokens: list[list[int]]) -> list[Tensor]:
        """Append output tokens, one or a draft of several per sequence, and return the logits (T, vocabulary)
        after each of them.

        On an error nothing was appended.
        """
        assert all(sequence.status is SequenceStatus.DECODING for sequence in sequences), (
            "prefill a page before decoding"
        )
        self._settle()
        slots, positions = self._append_tokens(sequences, tokens)
        try:
            logits = self._forward(sequences, _padded_tokens(tokens, self.store.device), slots, positions)
        except BaseException:
            for sequence, row in zip(sequences, tokens, strict=True):
                self.rollback(sequence, len(row))
            raise
        return [logits[row, : len(drafted)] for row, drafted in enumerate(tokens)]

    def rollback(self, sequence: Sequence, num_tokens: int) -> None:
        """Drop the last tokens of the last step: a draft that was rejected. Call it before the next step or
        prefill.

        Blocks left empty go back to the pool.
        """
        assert 0 <= num_tokens <= sequence.num_open_tokens, (
            f"the last step has {sequence.num_open_tokens} tokens, not {num_tokens}"
        )
        sequence.num_open_tokens -= num_tokens
        sequence.blocks.rollback_text(num_tokens)

    def end_page(self, sequence: Sequence) -> None:
        """The current page is written; its blocks stay until a chunk border."""
        assert sequence.status is SequenceStatus.DECODING, f"sequence {sequence.id} reads no page"
        sequence.status = SequenceStatus.WAITING

    def counters(self, sequence: Sequence | None = None) -> KVCounters:
        """Count what one sequence holds, or all of them with the whole pool."""
        counted = list(self.sequences.values()) if sequence is None else [sequence]
        num_blocks = sum(each.blocks.num_blocks for each in counted)
        attended = [int(each.attended[0][each.attended[1]]) for each in counted if each.attended is not None]
        return KVCounters(
            allocated_bytes=self._allocated_bytes()
            if sequence is None
            else num_blocks * self.store.bytes_per_block,
            live_bytes=sum(each.blocks.num_live_tokens for each in counted) * self.store.bytes_per_slot,
            attended_tokens=sum(attended) if attended else None,
            resident_pages=tuple(
                ResidentPage(page.page_index, page.state, page.num_blocks)
                for each in counted
                for page in each.pages.values()
            ),
            num_blocks=num_blocks,
            peak_blocks=max((each.blocks.peak_blocks for each in counted), default=0),
        )

    def check_integrity(self) -> None:
        """Assert that every block is free or held, and that tensors and ids agree in number."""
        self.pool.check_integrity(sequence.blocks for sequence in self.sequences.values())
        assert self.store.num_blocks == self.pool.num_blocks, "pool and store differ in size"

    def _allocated_bytes(self) -> int:
        """Bytes of the pool, and of what steps keep to read from it: gathered KV, tables, biases."""
        return self.store.nbytes + self.store.scratch_bytes + self._plans.nbytes

    # One decode step

    def _append_tokens(self, sequences: list[Sequence], tokens: list[list[int]]) -> tuple[Tensor, Tensor]:
        """Take the slots of the new tokens: slots and positions, both (B, T), padded like the tokens."""
        for sequence, row in zip(sequences, tokens, strict=True):
            assert 1 <= len(row) <= MAX_STEP_TOKENS, (
                f"{len(row)} tokens in one step; 1 to {MAX_STEP_TOKENS} are allowed"
            )
            sequence.blocks.slide_text(text_window(self.mode, self.sparsity))
            self._grow(sequence, num_text_blocks=sequence.blocks.text.num_missing_blocks(len(row)))
            sequence.blocks.reserve_text(len(row))
        width = max(len(row) for row in tokens)
        slots, positions = [], []
        for sequence, row in zip(sequences, tokens, strict=True):
            first, padding = sequence.num_output_tokens, width - len(row)
            # slot 0 lies in the null block
            slots.append(sequence.blocks.text.append(len(row)) + [0] * padding)
            sequence.num_open_tokens = len(row)
            positions.append([*range(first, first + len(row)), *[first + len(row) - 1] * padding])
        return torch.tensor(slots, device=self.store.device), torch.tensor(
            positions, device=self.store.device
        )

    def _forward(self, sequences: list[Sequence], tokens: Tensor, slots: Tensor, positions: Tensor) -> Tensor:
        plan = self._plans.plan_for(sequences, tokens.shape[1])
        plan.begin(
            [each.blocks.text for each in sequences],
            [each.blocks.text_version for each in sequences],
            positions,
        )
        states = [sequence.state for sequence in sequences]
        hidden, model_positions = self.model.embed_output(states, tokens)
        flat_slots = slots.flatten()
        for layer in range(self.spec.num_layers):
            queries, keys, values = self.model.project(layer, hidden, model_positions)
            self.store.write(
                layer, flat_slots, keys.transpose(1, 2).flatten(0, 1), values.transpose(1, 2).flatten(0, 1)
            )
            block_ids, bias = plan.select(layer, queries)
            hidden = self.model.finish_layer(
                layer, hidden, self._attend(queries, self.store, layer, block_ids, bias)
            )
        logits = self._checked(self.model.logits(states, tokens, hidden))
        self._observed = (plan.observe(queries), sequences)
        self._count_step(sequences, plan.count_attended(bias))
        return logits

    def _count_step(self, sequences: list[Sequence], attended: Tensor) -> None:
        self.num_steps += 1
        for row, sequence in enumerate(sequences):
            sequence.attended = (attended, row)

    def _prefill_layers(
        self, hidden: Tensor, positions: Tensor, block_ids: Tensor, earlier: tuple[Tensor, Tensor] | None
    ) -> Tensor:
        """Run a page's reference tokens through all layers and write their keys and values."""
        # a blank page has nothing to compute
        for layer in range(self.spec.num_layers if len(block_ids) else 0):
            queries, keys, values = self.model.project(layer, hidden, positions)
            self._write_layer(layer, block_ids, keys[0].transpose(0, 1), values[0].transpose(0, 1))
            before = (*self.store.gather(layer, earlier[0], queries.dtype), earlier[1]) if earlier else None
            attended = attend_page(
                queries, keys, values, is_causal=self.model.reference_is_causal, before=before
            )
            hidden = self.model.finish_layer(layer, hidden, attended)
        return hidden

    def _discard_page(self, sequence: Sequence, page_index: int) -> None:
        """Undo `_enter_page`: half a page must never be read."""
        sequence.blocks.drop_blocks(page_index, set(sequence.pages[page_index].block_ids))
        sequence.chunk.pop()
        sequence.page_tokens.pop()
        sequence.status = SequenceStatus.WAITING

    @torch.inference_mode()
    def _settle(self) -> None:
        """Count what the last step observed, now that no more of its tokens can be rolled back."""
        if self._observed is None:
            return
        observation, sequences = self._observed
        self._observed = None
        counts = [sequence.num_open_tokens for sequence in sequences]
        for sequence in sequences:
            sequence.num_tokens_in_chunk += sequence.num_open_tokens
            sequence.num_open_tokens = 0
        if observation is not None:
            keep_observation(observation, counts, self.store)

    def _checked(self, logits: Tensor) -> Tensor:
        # the maximum carries NaN and infinity; -inf is a model's way to forbid
        if not bool((logits.amax(-1) < float("inf")).all()):
            raise NonFiniteLogitsError(
                f"The decoder gave NaN or infinite logits at step {self.num_steps} with {self.spec.dtype} "
                f"weights and a {self.store.dtype} KV cache. Use float32, or bfloat16 in place of float16."
            )
        return logits

    # Pages coming and going

    def _enter_page(self, sequence: Sequence, page_index: int, num_tokens: int) -> Tensor:
        """Take the blocks of a new page, for which there is room, and make it current; returns their ids."""
        count = ceil_div(num_tokens, self.sparsity.block_size)
        self._grow(sequence, num_page_blocks=count)
        keeps_none = self._may_grow or self.mode == "full"
        self.pool.require(
            count + (0 if keeps_none else text_blocks_to_come(self.sequences.values(), self.sparsity))
        )
        page = sequence.blocks.add_page(page_index, num_tokens)
        block_ids = torch.tensor(page.block_ids, dtype=torch.int64, device=self.store.device)
        self.store.forget_reads(block_ids)
        self._begin_page(sequence, page_index, num_tokens)
        return block_ids

    def _open_page(self, sequence: Sequence, page_index: int, num_tokens: int) -> None:
        """Close the chunk if it is full and make room for the page: all eviction happens here."""
        assert sequence.id in self.sequences, f"sequence {sequence.id} was removed"
        assert not sequence.chunk or page_index > sequence.chunk[-1], (
            f"page {page_index} comes after page {sequence.chunk[-1]}"
        )
        self._settle()
        if self.mode == "sparse":
            if len(sequence.chunk) == self.sparsity.chunk_pages:
                close_chunk(sequence, page_index, self.store, self.sparsity)
            make_room(sequence, num_tokens, self.sparsity)

    def _begin_page(self, sequence: Sequence, page_index: int, num_tokens: int) -> None:
        sequence.chunk.append(page_index)
        sequence.page_tokens.append(num_tokens)
        sequence.status = SequenceStatus.DECODING

    def _earlier_reference(self, sequence: Sequence) -> tuple[Tensor, Tensor] | None:
        """Resident blocks (1, N) that a causal page sees before itself, and their bias (1, N * S)."""
        records = sequence.records
        if not self.model.reference_is_causal or not records:
            return None
        return padded_blocks(
            [records], len(records), self.sparsity.block_size, self.spec.dtype, self.store.device
        )

    def _write_layer(self, layer: int, block_ids: Tensor, keys: Tensor, values: Tensor) -> None:
        heads = self.model.router_heads
        self.store.write_page(layer, block_ids, keys, values, None if heads is None else heads[layer])

    def _grow(self, sequence: Sequence, *, num_page_blocks: int = 0, num_text_blocks: int = 0) -> None:
        """Enlarge pool and store before blocks are taken: to the need in sparse mode, ahead of it where
        nothing is evicted.
        """
        missing = num_page_blocks + num_text_blocks - self.pool.num_free_blocks
        if missing <= 0 or not self._may_grow:
            return
        if self.mode == "sparse":  # the need: the page, and all the text that the window may come to hold
            num_text_blocks = max(
                text_reserve_blocks(self.sparsity) - len(sequence.blocks.text.block_ids), num_text_blocks
            )
            total = self.pool.num_blocks - self.pool.num_free_blocks + num_page_blocks + num_text_blocks
        else:
            total = max(self.pool.num_blocks + missing, self.pool.num_blocks * 5 // 4)
        self.pool.grow(total)
        self.store.grow(total)

    def _take_over(self, sequence: Sequence, page_index: int, reuse_key: Hashable) -> bool:
        """Share the blocks of an identical page, if another sequence still holds all of them."""
        source_id, num_blocks = self._reusable.get((reuse_key, page_index), (-1, 0))
        source = self.sequences.get(source_id)
        page = source.pages.get(page_index) if source else None
        if page is None or page.num_blocks != num_blocks or self.model.reference_is_causal:
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


def _padded_tokens(tokens: list[list[int]], device: torch.device) -> Tensor:
    """Token ids (B, T); shorter rows repeat their last token, whose logits are cut off again."""
    width = max(len(row) for row in tokens)
    return torch.tensor([row + row[-1:] * (width - len(row)) for row in tokens], device=device)
