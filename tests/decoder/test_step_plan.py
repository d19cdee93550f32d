"""What a step reads, as the attention backend sees it: right blocks, no block twice, shapes that stay."""

import pytest
import torch
from decoder_support import Reader, Script, small
from torch import Tensor

from ocr_app.config import ROUTING_NAMES
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.kv_blocks import NULL_BLOCK
from ocr_app.decoder.kv_cache import KVStore
from ocr_app.models.toy import ToyModel, toy_spec


class WatchingEngine(Engine):
    """Keeps the block ids and biases that its backend was given."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.seen: list[tuple[Tensor, Tensor]] = []
        backend = self._attend

        def attend(queries: Tensor, store: KVStore, layer: int, block_ids: Tensor, bias: Tensor) -> Tensor:
            self.seen.append((block_ids.clone(), bias.clone()))
            return backend(queries, store, layer, block_ids, bias)

        self._attend = attend


@pytest.mark.parametrize("routing", ROUTING_NAMES)
@pytest.mark.parametrize("num_tokens", [1, 3])
def test_a_step_reads_every_forced_block_and_its_budget_of_others(routing: str, num_tokens: int):
    config = small(routing=routing)
    with WatchingEngine(ToyModel(toy_spec(), has_router=True), config) as engine:
        reader = Reader(engine, Script.draw([50] * 8, 6))
        for page_index, tokens in enumerate(reader.script.tokens):
            reader.open_page(page_index)
            reader.step(*tokens)
        engine.seen.clear()
        reader.step(*range(num_tokens))
        pages, text = reader.sequence.pages, reader.sequence.blocks.text
        forced = {*pages[7].block_ids, *pages[6].block_ids, *text.block_ids}
        earlier = {
            block_id for page_index, page in pages.items() if page_index < 6 for block_id in page.block_ids
        }
        page_of = {block_id: page_index for page_index, page in pages.items() for block_id in page.block_ids}
        newest = text.block_ids[-1]
    num_blocks, num_pages = (18, 6) if routing == "all" else (config.block_budget, config.page_budget)
    assert len(engine.seen) == 2
    assert len(earlier) == 18
    for block_ids, bias in engine.seen:
        listed = [block_id for block_id in block_ids[0].tolist() if block_id != NULL_BLOCK]
        assert len(listed) == len(set(listed))
        assert forced <= set(listed) <= forced | earlier
        assert newest in listed
        for row in bias[0].unflatten(-1, (-1, 8)):
            read = {
                int(block_id)
                for block_id, slots in zip(block_ids[0], row, strict=True)
                if slots.gt(float("-inf")).any()
            }
            assert NULL_BLOCK not in read
            assert 0 < len(read & earlier) <= num_blocks
            assert len({page_of[block_id] for block_id in read & earlier}) <= num_pages


def test_shapes_stay_constant_while_pages_and_text_go_on():
    """Once the page window is full, every step of every page reads tables of one shape."""
    with WatchingEngine(ToyModel(toy_spec(), has_router=True), small(page_window=4)) as engine:
        reader = Reader(engine, Script.draw([50] * 9, 10))
        for page_index in range(9):
            if page_index == 6:  # the page window is full, and the text window
                engine.seen.clear()
            reader.open_page(page_index)
            for token in reader.script.tokens[page_index]:
                reader.step(token)
    shapes = {(tuple(block_ids.shape), tuple(bias.shape)) for block_ids, bias in engine.seen}
    assert len(engine.seen) == 3 * 10 * 2
    assert shapes == {((1, 7 + 7 + 3 + 3), (1, 1, 20 * 8))}


def test_the_plan_is_built_once_per_page_not_per_step():
    with WatchingEngine(ToyModel(toy_spec(), has_router=True), small()) as engine:
        reader = Reader(engine, Script.draw([50] * 3, 40))
        plans = set()
        for page_index in range(3):
            reader.open_page(page_index)
            for token in reader.script.tokens[page_index]:
                reader.step(token)
                plans.add(engine._plans._kept[1])
    assert len(plans) == 3


def test_steps_reuse_their_scratch_memory():
    with Engine(ToyModel(toy_spec()), small()) as engine:
        reader = Reader(engine, Script.draw([50], 60))
        reader.open_page(0)
        reader.step(0)
        scratch, places = (
            engine.store.scratch_bytes,
            {name: buffer.data_ptr() for name, buffer in engine.store._scratch.items()},
        )
        for token in range(59):
            reader.step(token)
        assert engine.store.scratch_bytes == scratch
        assert {name: buffer.data_ptr() for name, buffer in engine.store._scratch.items()} == places
        assert scratch == 2 * (7 + 3) * 8 * 2 * 16 * 4  # keys and values of one layer: page, window


def test_a_batch_pads_with_the_null_block_under_a_hiding_bias():
    with WatchingEngine(ToyModel(toy_spec()), small()) as engine:
        readers = [Reader(engine, Script.draw([size], 1)) for size in (9, 60)]
        for reader in readers:
            reader.open_page(0)
        engine.seen.clear()
        engine.decode_step([reader.sequence for reader in readers], [[1], [2, 3]])
        (block_ids, bias), _ = engine.seen
    hidden = bias.unflatten(-1, (-1, 8)).eq(float("-inf")).all(-1).all(1)
    assert (block_ids.eq(NULL_BLOCK) <= hidden).all()
    assert block_ids[0].ne(NULL_BLOCK).sum() == 2 + 1
    assert block_ids[1].ne(NULL_BLOCK).sum() == 8 + 1


def test_gather_equals_plain_indexing():
    spec = toy_spec()
    store = KVStore(spec, 20, 4, dtype=torch.float32, device="cpu")
    keys, values = torch.randn(2, 60, 2, 16)
    store.write(1, torch.arange(4, 64), keys, values)
    block_ids = torch.tensor([[3, 0, 7], [15, 2, 1]])
    gathered = [tensor.clone() for tensor in store.gather(1, block_ids, torch.float32)]
    for tensor, written in zip(gathered, (keys, values), strict=True):
        assert tensor.shape == (2, 2, 12, 16)
        for row in range(2):
            for column, block_id in enumerate(block_ids[row].tolist()):
                expected = written[4 * block_id - 4 : 4 * block_id] if block_id else torch.zeros(4, 2, 16)
                assert torch.equal(tensor[row, :, 4 * column : 4 * column + 4].transpose(0, 1), expected)


def test_growing_keeps_what_is_stored():
    spec = toy_spec()
    for dtype in (torch.float32, torch.int8):
        store = KVStore(spec, 5, 4, dtype=dtype, device="cpu", has_key_range=True)
        keys, values = torch.randn(2, 14, 2, 16)
        store.write_page(0, torch.tensor([2, 1, 4, 3]), keys, values, None)
        before = [tensor.clone() for tensor in store.gather(0, torch.tensor([[1, 2, 3, 4]]), torch.float32)]
        summaries = store.summaries[0].clone()
        store.grow(9)
        assert all(map(torch.equal, before, store.gather(0, torch.tensor([[1, 2, 3, 4]]), torch.float32)))
        assert torch.equal(store.summaries[0][:5], summaries)
        assert store.num_blocks == 9


def test_int8_error_is_at_most_half_a_step_of_its_row():
    store = KVStore(toy_spec(), 5, 4, dtype=torch.int8, device="cpu")
    keys, values = torch.randn(2, 16, 2, 16) * torch.logspace(-3, 3, 16).view(1, 16, 1, 1)
    store.write(0, torch.arange(4, 20), keys, values)
    for stored, written in zip(
        store.gather(0, torch.tensor([[1, 2, 3, 4]]), torch.float32), (keys, values), strict=True
    ):
        step = written.abs().amax(-1, keepdim=True) / 127
        assert (
            (stored[0].transpose(0, 1) - written).abs() <= 0.6 * step
        ).all()  # a half, and the rounding of the scale to 16 bits


def test_summaries_of_a_partly_filled_block_ignore_the_rest():
    store = KVStore(toy_spec(), 4, 4, dtype=torch.float32, device="cpu", has_key_range=True)
    keys = torch.randn(6, 2, 16) + 3
    store.write_page(0, torch.tensor([3, 1]), keys, keys, None)
    pooled, least, greatest = store.summaries[0][1]
    assert torch.allclose(pooled, keys[4:].mean(0), atol=1e-6)
    assert torch.equal(least, keys[4:].amin(0))
    assert torch.equal(greatest, keys[4:].amax(0))
