"""Block accounting, without tensors: whatever is done in whatever order, no block is lost and none has two
owners.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from ocr_app.decoder.kv_blocks import (
    NULL_BLOCK,
    BlockPool,
    SequenceBlocks,
    TextBlocks,
    ceil_div,
    split_tokens,
)
from ocr_app.errors import OutOfMemoryError

BLOCK_SIZE = 4


class AccountingMachine(RuleBasedStateMachine):
    """Documents that come, take pages, write, roll back, slide, evict, share and go, over one pool of 40
    blocks.
    """

    sequences = Bundle("sequences")

    def __init__(self) -> None:
        super().__init__()
        self.pool = BlockPool(41)
        self.live: list[SequenceBlocks] = []
        self.num_pages = 0

    @rule(target=sequences)
    def join(self) -> SequenceBlocks:
        self.live.append(SequenceBlocks(self.pool, BLOCK_SIZE))
        return self.live[-1]

    @rule(sequence=sequences, num_tokens=st.integers(0, 40))
    def add_page(self, sequence: SequenceBlocks, num_tokens: int) -> None:
        free = self.pool.num_free_blocks
        self.num_pages += 1
        try:
            page = sequence.add_page(self.num_pages, num_tokens)
        except OutOfMemoryError:
            assert ceil_div(num_tokens, BLOCK_SIZE) > free == self.pool.num_free_blocks
        else:
            assert page.num_tokens == num_tokens
            assert NULL_BLOCK not in page.block_ids

    @rule(sequence=sequences, source=sequences)
    def share_newest_page(self, sequence: SequenceBlocks, source: SequenceBlocks) -> None:
        if source.pages and sequence is not source:
            page = source.pages[max(source.pages)]
            if page.page_index not in sequence.pages:
                sequence.share_page(page.page_index, page)

    @rule(sequence=sequences, data=st.data())
    def evict(self, sequence: SequenceBlocks, data: st.DataObject) -> None:
        pages = [page for page in sequence.pages.values() if page.records]
        if pages:
            page = data.draw(st.sampled_from(pages))
            sequence.drop_blocks(
                page.page_index, set(data.draw(st.lists(st.sampled_from(page.block_ids), min_size=1)))
            )

    @rule(sequence=sequences, num_tokens=st.integers(1, 6))
    def write(self, sequence: SequenceBlocks, num_tokens: int) -> None:
        try:
            sequence.reserve_text(num_tokens)
        except OutOfMemoryError:
            return
        slots = sequence.text.append(num_tokens)
        assert len(set(slots)) == num_tokens
        assert {slot // BLOCK_SIZE for slot in slots} <= set(sequence.text.block_ids)

    @rule(sequence=sequences, share=st.floats(0, 1))
    def roll_back(self, sequence: SequenceBlocks, share: float) -> None:
        sequence.rollback_text(int(share * sequence.text.num_live_tokens))

    @rule(sequence=sequences, window=st.integers(1, 12))
    def slide(self, sequence: SequenceBlocks, window: int) -> None:
        before = sequence.text.num_live_tokens
        sequence.slide_text(window)
        assert sequence.text.num_live_tokens >= min(window - 1, before), (
            "what an earlier, smaller window let go does not come back"
        )
        assert sequence.text.num_live_tokens < window - 1 + BLOCK_SIZE or sequence.text.num_live_tokens == 0

    @rule(sequence=consumes(sequences))
    def leave(self, sequence: SequenceBlocks) -> None:
        sequence.release()
        self.live.remove(sequence)

    @rule(count=st.integers(1, 5))
    def grow(self, count: int) -> None:
        self.pool.grow(self.pool.num_blocks + count)

    @invariant()
    def nothing_is_lost(self) -> None:
        self.pool.check_integrity(self.live)


TestAccounting = AccountingMachine.TestCase
TestAccounting.settings = settings(max_examples=60, stateful_step_count=30, deadline=None)


@given(st.integers(0, 200), st.integers(1, 33))
def test_a_page_fills_its_blocks_in_order(num_tokens: int, block_size: int):
    fills = split_tokens(num_tokens, block_size)
    assert sum(fills) == num_tokens
    assert len(fills) == ceil_div(num_tokens, block_size)
    assert all(fill == block_size for fill in fills[:-1])


@given(st.integers(1, 40), st.lists(st.integers(1, 5), max_size=30))
def test_the_window_never_loses_a_visible_token(window: int, steps: list[int]):
    """Against the plain rule: before each step, the next token must find the window - 1 tokens before it."""
    text, next_id = TextBlocks(BLOCK_SIZE), iter(range(1, 1000))
    for count in steps:
        text.slide(window)
        assert text.first_token <= max(text.num_tokens - window + 1, 0)
        text.block_ids += [next(next_id) for _ in range(text.num_missing_blocks(count))]
        text.append(count)
        assert len(text.block_ids) <= ceil_div(window - 1 + count, BLOCK_SIZE) + 1


def test_out_of_blocks_takes_nothing_and_names_the_remedy():
    pool = BlockPool(4)
    pool.allocate(2)
    with pytest.raises(
        OutOfMemoryError, match=r"1 of 3 blocks free and 2 are needed\. .*lower the page window"
    ):
        pool.allocate(2)
    assert pool.num_free_blocks == 1


def test_growing_past_the_limit_is_caught():
    sequence = SequenceBlocks(BlockPool(20), BLOCK_SIZE)
    sequence.limit = 5
    sequence.add_page(0, 5 * BLOCK_SIZE)
    with pytest.raises(AssertionError, match="pass the limit of 5"):
        sequence.reserve_text(1)
    with pytest.raises(AssertionError, match="pass the limit of 5"):
        sequence.add_page(1, 1)


def test_integrity_check_finds_a_leak_and_a_double_owner():
    pool = BlockPool(8)
    first, second = SequenceBlocks(pool, BLOCK_SIZE), SequenceBlocks(pool, BLOCK_SIZE)
    first.add_page(0, 8)
    pool.check_integrity([first, second])
    with pytest.raises(AssertionError, match="tables hold"):
        pool.check_integrity([second])
    second.pages[0] = first.pages[0]
    with pytest.raises(AssertionError, match="tables hold"):
        pool.check_integrity([first, second])


def test_freeing_a_free_block_is_caught():
    pool = BlockPool(3)
    taken = pool.allocate(1)
    pool.free(taken)
    with pytest.raises(AssertionError, match="not in use"):
        pool.free(taken)
