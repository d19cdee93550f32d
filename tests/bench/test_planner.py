"""The planner gives the published pair, and the bytes and blocks the engine really allocates."""

import json
from dataclasses import replace

import pytest

from ocr_app.bench.kv_runs import TOKEN, KVPage, add_document, open_engine, write_pages
from ocr_app.bench.kv_shapes import PUBLISHED_NUM_PAGES, PUBLISHED_PAGE_TOKENS, PUBLISHED_SHAPE, KVShape
from ocr_app.bench.planner import largest_cap, main, peak_sparse_blocks, plan, sparse_blocks_by_page
from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.retention import MAX_STEP_TOKENS, text_reserve_blocks
from ocr_app.models.toy import toy_spec

SMALL = SparsityConfig(block_size=8, text_window=16, page_window=6, sparsity_ratio=0.25)
SETTINGS = {
    "default": SMALL,
    "narrow window": replace(SMALL, page_window=1, min_blocks_per_page=2),
    "long chunk": replace(SMALL, chunk_pages=4, overlap_pages=2),
    "no overlap": replace(SMALL, chunk_pages=3, overlap_pages=0),
    "cap": replace(SMALL, max_resident_blocks=29),
}


def test_the_published_pair_follows_from_the_published_shape():
    full, _, sparse = plan(
        PUBLISHED_SHAPE, SparsityConfig(), PUBLISHED_PAGE_TOKENS, PUBLISHED_NUM_PAGES, 0, 24 * 10**9
    )
    assert f"{full.kv_bytes / 1e9:.2f}" == "47.00"
    assert f"{sparse.kv_bytes / 1e9:.2f}" == "1.77"
    assert sparse.pages_that_fit is None


DRAFT = [[TOKEN] * MAX_STEP_TOKENS]  # two fill the text window and all the room kept for it


def read_pages(engine: Engine, num_tokens: int, num_pages: int) -> list[int]:
    """Read pages with a full text window; the reference blocks held while each was read."""
    sequence, page = add_document(engine), KVPage.random(engine.spec, num_tokens)
    held = []
    for page_index in range(num_pages):
        write_pages(engine, sequence, page, page_index, page_index + 1)
        held.append(len(sequence.blocks.reference_ids))
        for _ in range(2):
            engine.decode_step([sequence], DRAFT)
    return held


@pytest.mark.parametrize("tokens", [20, 61])
@pytest.mark.parametrize("config", SETTINGS.values(), ids=SETTINGS.keys())
def test_sparse_blocks_agree_with_the_engine_page_by_page(config: SparsityConfig, tokens: int):
    with open_engine(toy_spec(layers=1, heads=1, kv_heads=1, head_dim=4), config) as engine:
        held = read_pages(engine, tokens, 14)
        planned = peak_sparse_blocks(tokens, 14, config)
        assert (
            planned - 1 <= engine.pool.num_blocks - 1 <= planned
        )  # the last text block is taken only where a draft straddles it
    assert [count + text_reserve_blocks(config) for count in held] == sparse_blocks_by_page(
        tokens, 14, config
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "int8"])
@pytest.mark.parametrize("mode", ["sparse", "full", "rswa"])
def test_bytes_agree_with_the_tensors_of_the_engine(mode: str, dtype: str):
    shape = KVShape(3, 2, 16, dtype)
    output_tokens = 2 * MAX_STEP_TOKENS
    planned = {each.mode: each for each in plan(shape, SMALL, 61, 8, output_tokens, 10**9)}[mode]
    capacity = planned.pool_bytes // shape.bytes_per_block(SMALL.block_size) - 1
    with open_engine(
        toy_spec(layers=3),
        SMALL,
        mode=mode,
        dtype=dtype,
        capacity_blocks=None if mode == "sparse" else capacity,
    ) as engine:
        read_pages(engine, 61, 8)
        assert engine.store.nbytes == planned.pool_bytes
        assert engine.pool.num_free_blocks <= 1 or mode != "full"


def test_the_pages_that_fit_are_the_most_that_do():
    shape = KVShape(3, 2, 16, "float32")
    for memory_bytes in (60_000, 200_000, 400_000):
        for place, mode in enumerate(("full", "rswa", "sparse")):
            most = plan(shape, SMALL, 61, 1, 30, memory_bytes)[place].pages_that_fit
            if most is None:
                assert plan(shape, SMALL, 61, 10_000, 30, memory_bytes)[place].pool_bytes <= memory_bytes, (
                    mode
                )
            else:
                assert (
                    most == 0
                    or plan(shape, SMALL, 61, most, 30, memory_bytes)[place].pool_bytes <= memory_bytes
                ), mode
                assert plan(shape, SMALL, 61, most + 1, 30, memory_bytes)[place].pool_bytes > memory_bytes, (
                    mode
                )


def test_the_largest_cap_fills_the_memory_to_less_than_a_block():
    block_bytes = PUBLISHED_SHAPE.bytes_per_block(32)
    cap = largest_cap(PUBLISHED_SHAPE, 32, 1_770_000_000)
    assert (cap + 1) * block_bytes <= 1_770_000_000 < (cap + 2) * block_bytes


def test_the_command_prints_the_pair_and_one_json_line(capsys: pytest.CaptureFixture[str]):
    assert main([]) == 0
    *text, last = capsys.readouterr().out.splitlines()
    assert {"| full | 47.00 | 48.14 | 49 |", "| sparse | 1.77 | 1.80 | any number |"} <= set(text)
    assert json.loads(last)["plans"]["full"]["kv_bytes"] == 100 * 3586 * 131072
