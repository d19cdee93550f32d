"""The decoder against slow references: whatever is read, kept or batched, the logits are those of plain
attention with the same mask.
"""

import pytest
import torch
from decoder_support import (
    EXACT,
    UNLIMITED,
    Reader,
    Script,
    assert_close,
    read_beside_oracle,
    read_with_engine,
    small,
    stored_kv,
)
from oracle import Oracle
from torch import Tensor

from ocr_app.config import ROUTING_NAMES
from ocr_app.decoder.attention import explicit_attention
from ocr_app.decoder.engine import Engine
from ocr_app.models.toy import ToyModel, ToyState, toy_spec


@pytest.fixture(scope="module")
def long_script() -> Script:
    return Script.draw([61, 64, 70], num_steps=100)


@pytest.fixture(scope="module")
def full_logits(long_script: Script) -> Tensor:
    return read_with_engine(long_script, small(), mode="full")


@pytest.mark.parametrize(
    ("routing", "has_router"), [*((name, False) for name in ROUTING_NAMES), ("dash", True)]
)
def test_sparse_without_limits_equals_full(
    routing: str, has_router: bool, long_script: Script, full_logits: Tensor
):
    model = ToyModel(EXACT, has_router=has_router)
    assert_close(read_with_engine(long_script, small(**UNLIMITED, routing=routing), model), full_logits)


def test_window_over_everything_equals_full(long_script: Script, full_logits: Tensor):
    assert_close(read_with_engine(long_script, small(text_window=300), mode="rswa"), full_logits)


def test_the_limits_bite(long_script: Script, full_logits: Tensor):
    """Otherwise the two tests above would compare a thing with itself."""
    sparse = read_with_engine(long_script, small(), mode="sparse")
    windowed = read_with_engine(long_script, small(), mode="rswa")
    for logits in (sparse, windowed):
        assert (logits - full_logits)[150:].abs().amax() > 0.1


@pytest.mark.parametrize("mode", ["full", "rswa", "sparse"])
def test_engine_equals_oracle_in_every_mode(mode: str):
    ours, theirs = read_beside_oracle(Script.draw([21, 24, 17], 20), small(), ToyModel(EXACT), mode)
    assert_close(ours, theirs)


def test_a_float32_engine_differs_from_the_oracle_by_rounding_only():
    ours, theirs = read_beside_oracle(Script.draw([21, 24, 17], 20), small(), ToyModel(toy_spec()))
    assert ours.dtype == torch.float32
    assert_close(ours, theirs, "float32")


@pytest.mark.parametrize("routing", ROUTING_NAMES)
def test_routed_blocks_equal_the_oracles_choice(routing: str):
    script = Script.draw([40, 33, 41, 35, 39, 38], 6)
    config = small(routing=routing, chunk_pages=3, overlap_pages=1)
    ours, theirs = read_beside_oracle(script, config, ToyModel(EXACT, has_router=routing == "dash"))
    assert_close(ours, theirs)


@pytest.mark.parametrize("window", [7, 8, 9, 15, 16, 17])
def test_windows_around_block_edges_equal_the_oracle(window: int):
    ours, theirs = read_beside_oracle(
        Script.draw([11], 40), small(text_window=window), ToyModel(EXACT), "rswa"
    )
    assert_close(ours, theirs)


@pytest.mark.parametrize("seed", range(4))
def test_decode_after_random_eviction_equals_the_oracle(seed: int):
    model, config, script = (
        ToyModel(EXACT, has_router=True),
        small(chunk_pages=4),
        Script.draw([37, 40, 45], 8, seed),
    )
    oracle, oracle_state, random = (
        Oracle(model, config, "sparse"),
        ToyState(),
        torch.Generator().manual_seed(seed),
    )
    with Engine(model, config) as engine:
        reader = Reader(engine, script)
        for page_index, page in enumerate(script.pages):
            reader.open_page(page_index)
            oracle_state.page_index, oracle_state.num_reference_tokens = page_index, 0
            oracle.prefill(oracle_state, page_index, page)
            for token in script.tokens[page_index]:
                _evict_at_random(reader, random)
                logits = oracle.step(oracle_state, [token], reader.resident)
                oracle_state.num_output_tokens += 1
                assert_close(reader.step(token), logits)


def _evict_at_random(reader: Reader, random: torch.Generator) -> None:
    pages = list(reader.sequence.pages.values())
    page = pages[int(torch.randint(len(pages), (), generator=random))]
    if page.num_blocks > 1:
        record = page.records[int(torch.randint(page.num_blocks, (), generator=random))]
        reader.sequence.blocks.drop_blocks(page.page_index, {record.block_id})


@pytest.mark.parametrize("num_prefilled", [1, 7, 8, 9, 15, 16])
def test_one_pass_equals_prefill_and_steps(num_prefilled: int):
    """A causal model over 24 tokens: the first as reference, the others as output, against one plain pass
    over all.
    """
    model = ToyModel(EXACT, reference_is_causal=True)
    tokens = Script.draw([24], 0).pages[0]
    expected = _plain_pass(model, tokens)
    with Engine(model, small(), mode="full") as engine:
        reader = Reader(engine, Script([tokens[:num_prefilled]], [[]]))
        reader.open_page(0)
        logits = torch.cat([reader.step(token) for token in tokens[num_prefilled:].tolist()])
    assert_close(logits, expected[num_prefilled:])


def test_causal_prefill_in_two_pages_equals_one_pass():
    model = ToyModel(EXACT, reference_is_causal=True)
    tokens = Script.draw([27], 0).pages[0]
    with Engine(model, small(), mode="full") as engine:
        reader = Reader(engine, Script([tokens[:11], tokens[11:22]], [[], []]))
        reader.open_page(0)
        reader.open_page(1)
        logits = torch.cat([reader.step(token) for token in tokens[22:].tolist()])
    assert_close(logits, _plain_pass(model, tokens)[22:])


def _plain_pass(model: ToyModel, tokens: Tensor) -> Tensor:
    hidden, positions = model.embed_reference(ToyState(), tokens)
    bias = torch.full((1, len(tokens), len(tokens)), float("-inf"), dtype=torch.float64).triu(1)
    for layer in range(model.kv_spec.num_layers):
        queries, keys, values = model.project(layer, hidden, positions)
        hidden = model.finish_layer(layer, hidden, explicit_attention(queries, keys, values, bias))
    return model.logits([], tokens, hidden)[0]


@pytest.mark.parametrize("mode", ["full", "rswa", "sparse"])
@pytest.mark.parametrize("draft", [2, 7, 8, 9])
def test_drafts_equal_single_steps(mode: str, draft: int):
    """Drafts of several tokens, their tail rolled back and written again: the logits of single steps."""
    script, config = Script.draw([40, 33, 41, 35, 39], 20), small()
    model = ToyModel(EXACT, has_router=True)
    single = read_with_engine(script, config, model, mode=mode)
    drafted = []
    with Engine(model, config, mode=mode) as engine:
        reader = Reader(engine, script)
        for page_index, tokens in enumerate(script.tokens):
            reader.open_page(page_index)
            place = 0
            while place < len(tokens):
                proposal = tokens[place : place + draft]
                accepted = max(len(proposal) - 1, 1)
                wrong = [*proposal[:accepted], *[0] * (len(proposal) - accepted)]
                drafted.append(reader.step(*wrong)[:accepted])
                reader.back(len(proposal) - accepted)
                place += accepted
            engine.check_integrity()
    assert_close(torch.cat(drafted), single)


def test_permuted_block_ids_change_nothing(long_script: Script):
    config, model = small(), ToyModel(EXACT, has_router=True)
    expected = read_with_engine(long_script, config, model)
    with Engine(model, config, capacity_blocks=64) as engine:
        order = torch.randperm(64, generator=torch.Generator().manual_seed(3)) + 1
        held = engine.pool.allocate(64)
        assert sorted(order.tolist()) == held
        engine.pool.free(order.tolist())
        assert torch.equal(Reader(engine, long_script).read(), expected)


def test_backends_agree():
    script, config = Script.draw([61, 64, 70, 55], 25), small(chunk_pages=3)
    assert_close(
        read_with_engine(script, config, backend="dense"), read_with_engine(script, config, backend="gather")
    )


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "int8"])
def test_narrow_caches_stay_within_tolerance(dtype: str, long_script: Script, full_logits: Tensor):
    logits = read_with_engine(long_script, small(), mode="full", dtype=dtype)
    assert_close(logits, full_logits, dtype)
    assert not torch.equal(logits, full_logits)


def test_written_reference_equals_prefilled(long_script: Script):
    """KV copied out of one engine and into another, page by page: the same logits."""
    model, config = ToyModel(EXACT, has_router=True), small()
    expected = read_with_engine(long_script, config, model)
    with Engine(model, small(max_resident_blocks=500)) as source, Engine(model, config) as engine:
        original, copy = Reader(source, long_script), Reader(engine, long_script)
        logits = []
        for page_index, page in enumerate(long_script.pages):
            original.open_page(page_index)
            kv = [stored_kv(source, page_index, original.sequence, layer) for layer in range(2)]
            copy.state.page_index = page_index
            copy.state.num_reference_tokens = len(page)
            engine.write_reference(copy.sequence, page_index, [k for k, _ in kv], [v for _, v in kv])
            logits += [copy.step(token) for token in long_script.tokens[page_index]]
    assert_close(torch.cat(logits), expected)


def test_page_keys_do_not_depend_on_neighbours_or_text():
    script = Script.draw([20, 30, 25], 10)
    alone = Script([torch.empty(0), script.pages[1]], [[], []])
    kept = []
    for each, earlier in ((script, True), (alone, False)):
        with Engine(ToyModel(EXACT), small()) as engine:
            reader = Reader(engine, each)
            if earlier:
                reader.open_page(0)
                reader.step(*each.tokens[0])
            reader.open_page(1)
            kept.append(
                [tensor for layer in range(2) for tensor in stored_kv(engine, 1, reader.sequence, layer)]
            )
    for ours, theirs in zip(*kept, strict=True):
        assert torch.equal(ours, theirs)
