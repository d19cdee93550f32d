"""Who stays and who goes, in numbers alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.config import SparsityConfig
from ocr_app.decoder.kv_blocks import BlockRecord, PageBlocks
from ocr_app.decoder.retention import blocks_leaving, blocks_over_room, plan_room, text_reserve_blocks
from ocr_app.errors import OutOfMemoryError


def page(page_index: int, *relevance: float, last_read: int = 0) -> PageBlocks:
    first = 100 * page_index
    return PageBlocks(
        page_index,
        [BlockRecord(first + place, place, 32, score, last_read) for place, score in enumerate(relevance)],
    )


@pytest.mark.parametrize(
    ("ratio", "num_blocks", "num_kept"),
    [(0.1, 20, 2), (0.1, 21, 3), (0.0, 9, 1), (1.0, 7, 7), (0.3, 10, 3), (0.5, 1, 1)],
)
def test_the_ratio_is_rounded_up_and_never_below_the_floor(ratio: float, num_blocks: int, num_kept: int):
    config = SparsityConfig(sparsity_ratio=ratio)
    assert num_blocks - len(blocks_leaving(page(0, *[0.5] * num_blocks), config)) == num_kept


def test_the_most_relevant_stay_and_among_equals_the_first():
    config = SparsityConfig(sparsity_ratio=0.5)
    assert blocks_leaving(page(0, 0.2, 0.9, 0.2, 0.8), config) == {0, 2}
    assert blocks_leaving(page(0, 0.5, 0.5, 0.5, 0.5), config) == {2, 3}


def test_nothing_goes_while_there_is_room():
    assert blocks_over_room([page(0, 0.1, 0.1), page(1, 0.1)], 3, SparsityConfig()) == {}


def test_irrelevant_blocks_go_first_oldest_page_first():
    pages = [page(1, 0.9, 0.25, 0.29, last_read=1), page(2, 0.9, 0.01, 0.8, last_read=0)]
    config = SparsityConfig(relevance_threshold=0.3)
    assert blocks_over_room(pages, 5, config) == {1: {101}}
    assert blocks_over_room(pages, 4, config) == {1: {101, 102}}
    assert blocks_over_room(pages, 3, config) == {1: {101, 102}, 2: {201}}


def test_relevant_blocks_go_by_least_recent_read():
    pages = [
        page(1, 0.9, 0.5, last_read=40),
        page(2, 0.9, 0.8, last_read=10),
        page(3, 0.9, 0.4, last_read=30),
    ]
    assert blocks_over_room(pages, 5, SparsityConfig()) == {2: {201}}
    assert blocks_over_room(pages, 4, SparsityConfig()) == {2: {201}, 3: {301}}


def test_whole_pages_leave_only_when_the_floors_do_not_fit():
    pages = [page(1, 0.9, 0.5), page(2, 0.1, 0.8), page(3, 0.9, 0.4)]
    assert blocks_over_room(pages, 3, SparsityConfig()) == {1: {101}, 2: {200}, 3: {301}}
    assert blocks_over_room(pages, 2, SparsityConfig()) == {1: {100, 101}, 2: {200}, 3: {301}}
    assert blocks_over_room(pages, 0, SparsityConfig()) == {1: {100, 101}, 2: {200, 201}, 3: {300, 301}}


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=1, max_size=6), max_size=6),
    st.integers(0, 40),
    st.integers(1, 3),
    st.floats(0, 1),
)
def test_what_stays_fits_and_nothing_goes_needlessly(
    relevance: list[list[float]], room: int, floor: int, threshold: float
):
    pages = [page(index, *scores) for index, scores in enumerate(relevance)]
    config = SparsityConfig(min_blocks_per_page=floor, relevance_threshold=threshold)
    leaving = blocks_over_room(pages, room, config)
    left = {each.page_index: each.num_blocks - len(leaving.get(each.page_index, ())) for each in pages}
    total, floors = sum(map(len, relevance)), sum(min(floor, len(scores)) for scores in relevance)
    assert sum(left.values()) <= room
    assert total <= room or sum(left.values()) > room - floor
    if floors <= room:
        assert all(left[each.page_index] >= min(floor, each.num_blocks) for each in pages)


def test_automatic_cap_is_the_chunk_and_1_75_median_pages():
    """The published shape: pages of 3,586 tokens, 131,072 bytes each, two a chunk: at most 1.77 GB."""
    config = SparsityConfig()
    room = plan_room(config, 2 * 113, [3586] * 100)
    assert room.limit == 2 * 113 + 196
    assert room.limit * 32 * 131_072 <= 1.77e9
    assert room.retained == 196 - text_reserve_blocks(config)


def test_automatic_cap_leaves_short_pages_their_floor():
    config = SparsityConfig(page_window=10, min_blocks_per_page=2)
    room = plan_room(config, 4, [40, 40])
    assert room.retained >= 20


def test_a_cap_below_the_chunk_is_refused_with_numbers():
    with pytest.raises(
        OutOfMemoryError, match=r"need 46 KV blocks and max_resident_blocks is 45\. Raise it to 46 or more"
    ):
        plan_room(SparsityConfig(max_resident_blocks=45), 40, [640])
