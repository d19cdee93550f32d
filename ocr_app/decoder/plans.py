"""What each sequence of a batch may read, and the step plan of the running batch. Knows block tables and the
rules of SR-SWA; nothing of models, weights or of how plans are filled.
"""

from collections.abc import Hashable

from ocr_app.config import SparsityConfig
from ocr_app.decoder.kv_blocks import BlockRecord
from ocr_app.decoder.kv_cache import KVStore
from ocr_app.decoder.protocol import KVSpec
from ocr_app.decoder.sequence import Sequence
from ocr_app.decoder.step_plan import ReadingList, StepPlan, text_columns

UNLIMITED_WINDOW = 2**39


def text_window(mode: str, sparsity: SparsityConfig) -> int:
    """Latest output tokens that are visible in this mode."""
    return UNLIMITED_WINDOW if mode == "full" else sparsity.text_window


class PlanCache:
    """The plan of the running batch, kept until its members, their pages or the size of the text tables
    change.
    """

    def __init__(self, store: KVStore, spec: KVSpec, sparsity: SparsityConfig, mode: str) -> None:
        self._store, self._spec, self._sparsity, self._mode = store, spec, sparsity, mode
        self._kept: tuple[Hashable, StepPlan] | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the plan's tensors."""
        return self._kept[1].nbytes if self._kept else 0

    def forget(self) -> None:
        """Let go of the plan's tensors."""
        self._kept = None

    def plan_for(self, sequences: list[Sequence], num_tokens: int) -> StepPlan:
        """A plan for up to `num_tokens` output tokens of each sequence."""
        key = tuple((sequence.id, sequence.blocks.reference_version) for sequence in sequences)
        max_tokens = num_tokens
        if self._kept is not None:
            kept_key, plan = self._kept
            max_tokens = max(num_tokens, plan.max_tokens)
            has_room = self._text_columns(sequences, max_tokens) <= plan.num_text_blocks
            if key == kept_key and max_tokens == plan.max_tokens and has_room:
                return plan
        plan = StepPlan(
            [self._reading_list(sequence) for sequence in sequences],
            self._store,
            self._spec,
            self._sparsity,
            num_text_blocks=self._text_columns(sequences, max_tokens),
            max_tokens=max_tokens,
        )
        self._kept = (key, plan)
        return plan

    def _reading_list(self, sequence: Sequence) -> ReadingList:
        window = text_window(self._mode, self._sparsity)
        if self._mode != "sparse":
            return ReadingList(sequence.records, [], [], window, scores_relevance=False)
        current = sequence.chunk[-1]
        always = sequence.chunk[-1 - self._sparsity.overlap_pages :]
        fixed: list[BlockRecord] = []
        candidates: list[tuple[int, BlockRecord]] = []
        for page_index, page in sequence.pages.items():
            if page_index in always:
                fixed += page.records
            elif current - page_index <= self._sparsity.page_window:
                candidates += [(page_index, record) for record in page.records]
        records, pages = [record for _, record in candidates], [page_index for page_index, _ in candidates]
        return ReadingList(fixed, records, pages, window, scores_relevance=True)

    def _text_columns(self, sequences: list[Sequence], max_tokens: int) -> int:
        window = None if self._mode == "full" else self._sparsity.text_window
        return max(
            text_columns(sequence.blocks.text, window, self._sparsity, max_tokens) for sequence in sequences
        )
