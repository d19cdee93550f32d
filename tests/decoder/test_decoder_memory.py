"""What stays in memory: bounded for any document, counted as it is, and given back whatever happens."""

import gc
import re

import pytest
import torch
from decoder_support import Reader, Script, read_with_engine, small
from torch import Tensor

from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.kv_blocks import ceil_div
from ocr_app.errors import BackendUnavailableError, ConfigError, NonFiniteLogitsError, OutOfMemoryError
from ocr_app.models.toy import ToyModel, ToyState, toy_spec
from ocr_app.types import ResidentState


class CountingModel(ToyModel):
    """Counts prefills, and fails at a chosen step in a chosen way."""

    def __init__(
        self, fail_at_step: int | None = None, failure: float | BaseException = float("nan")
    ) -> None:
        super().__init__(toy_spec(), has_router=True)
        self.prefilled: list[int] = []
        self.num_steps = 0
        self.fail_at_step, self.failure = fail_at_step, failure

    def embed_reference(self, state: ToyState, page: Tensor) -> tuple[Tensor, Tensor]:
        self.prefilled.append(state.page_index)
        return super().embed_reference(state, page)

    def logits(self, states: list[ToyState], tokens: Tensor, hidden: Tensor) -> Tensor:
        self.num_steps += 1
        if self.num_steps == self.fail_at_step:
            if isinstance(self.failure, BaseException):
                raise self.failure
            hidden = hidden * self.failure
        return super().logits(states, tokens, hidden)


def peaks(num_pages: int, config: SparsityConfig) -> tuple[int, int]:
    """Peak blocks of the sequence and bytes of the pool after so many pages."""
    with Engine(ToyModel(toy_spec(), has_router=True), config) as engine:
        reader = Reader(engine, Script.draw([50] * num_pages, 3))
        reader.read()
        return engine.counters(reader.sequence).peak_blocks, engine.counters().allocated_bytes


@pytest.mark.parametrize("changes", [{}, {"chunk_pages": 3, "overlap_pages": 0}, {"page_window": 8}], ids=str)
def test_peak_memory_does_not_grow_with_the_document(changes: dict[str, int]):
    config = small(**({"page_window": 6} | changes))
    assert peaks(30, config) == peaks(15, config)


def test_each_page_is_prefilled_once_overlap_included():
    model = CountingModel()
    with Engine(model, small(chunk_pages=3, overlap_pages=2)) as engine:
        reader = Reader(engine, Script.draw([30] * 12, 2))
        reader.read()
        assert model.prefilled == list(range(12))
        assert reader.sequence.num_prefills == 12
        with pytest.raises(AssertionError, match="page 11 comes after page 11"):
            reader.open_page(11)


@pytest.mark.parametrize("cap", [24, 40])
def test_hard_cap_holds_at_every_moment(cap: int):
    config = small(max_resident_blocks=cap, page_window=50)
    with Engine(ToyModel(toy_spec(), has_router=True), config) as engine:
        reader = Reader(engine, Script.draw([50, 20, 64, 33, 50, 41] * 3, 8))
        reader.read()
        assert engine.counters(reader.sequence).peak_blocks <= cap
        assert reader.sequence.blocks.limit == cap


def test_a_cap_below_the_floor_of_the_window_is_said_once_with_the_number_to_set(caplog):
    text = Script.draw([50] * 6, 2)
    with Engine(ToyModel(toy_spec()), small(page_window=9, max_resident_blocks=23)) as engine:
        Reader(engine, text).read()
    (message,) = (record.message for record in caplog.records)
    assert "max_resident_blocks is 23 and leaves 2 blocks to 3 earlier pages" in message
    wanted = int(re.search(r"Raise it to (\d+)", message)[1])
    caplog.clear()
    with Engine(ToyModel(toy_spec()), small(page_window=9, max_resident_blocks=wanted)) as engine:
        Reader(engine, text).read()
    assert not caplog.records


def test_a_chunk_over_the_cap_names_the_number_to_set():
    with Engine(ToyModel(toy_spec()), small(max_resident_blocks=20)) as engine:
        reader = Reader(engine, Script.draw([50, 90], 3))
        reader.open_page(0)
        with pytest.raises(
            OutOfMemoryError, match=r"need 26 KV blocks and max_resident_blocks is 20\. Raise it to 26"
        ):
            reader.open_page(1)
        engine.check_integrity()


def test_least_retention_still_reads():
    config = small(page_window=1, sparsity_ratio=0.0, chunk_pages=1, overlap_pages=0)
    with Engine(ToyModel(toy_spec()), config) as engine:
        reader = Reader(engine, Script.draw([50] * 4, 5))
        for page_index in range(4):
            reader.open_page(page_index)
            assert {index: len(places) for index, places in reader.resident.items()} == (
                {page_index: 7} | {page_index - 1: 1} if page_index else {0: 7}
            )
            assert reader.step(*reader.script.tokens[page_index]).isfinite().all()


def test_every_page_in_the_window_keeps_its_floor():
    config = small(page_window=9, sparsity_ratio=0.9, min_blocks_per_page=2)
    with Engine(ToyModel(toy_spec()), config) as engine:
        reader = Reader(engine, Script.draw([50] * 15, 5))
        reader.read()
        blocks = {
            page.page_index: (page.state, page.num_blocks)
            for page in engine.counters(reader.sequence).resident_pages
        }
    assert list(blocks) == list(range(5, 15))
    assert blocks[14] == (ResidentState.ACTIVE, 7)
    assert blocks[13] == (ResidentState.OVERLAP, 7)
    assert all(state is ResidentState.RETAINED and count >= 2 for state, count in list(blocks.values())[:-2])


def test_cap_wins_over_the_floor_oldest_page_first():
    config = small(page_window=9, max_resident_blocks=7 + 7 + 7 + 3)  # two pages, the text, three blocks more
    with Engine(ToyModel(toy_spec()), config) as engine:
        reader = Reader(engine, Script.draw([50] * 12, 5))
        reader.read()
        assert {page: len(places) for page, places in reader.resident.items()} == {
            7: 1,
            8: 1,
            9: 1,
            10: 7,
            11: 7,
        }


def test_the_most_relevant_blocks_are_retained():
    with Engine(ToyModel(toy_spec(), has_router=True), small()) as engine:
        reader = Reader(engine, Script.draw([50] * 3, 9))
        for page_index in range(2):
            reader.open_page(page_index)
            for token in reader.script.tokens[page_index]:
                reader.step(token)
        engine._settle()
        sums = engine.store.relevance[torch.tensor(reader.sequence.pages[0].block_ids)]
        reader.open_page(2)
        assert reader.resident[0] == sorted(sums.topk(3).indices.tolist())  # 0.4 of 7 blocks


@pytest.mark.parametrize("mode", ["sparse", "rswa"])
def test_blocks_in_use_stay_bounded_for_any_output_length(mode: str):
    config = small(text_window=21)
    bound = ceil_div(50, 8) + ceil_div(21, 8) + 1
    with Engine(ToyModel(toy_spec()), config, mode=mode) as engine:
        reader = Reader(engine, Script.draw([50], 200))
        reader.read()
        assert engine.counters(reader.sequence).peak_blocks <= bound


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
def test_allocated_bytes_are_the_bytes_that_exist(dtype: str):
    before = tensor_bytes()
    with Engine(ToyModel(toy_spec()), small(), dtype=dtype, capacity_blocks=50) as engine:
        weights = sum(
            t.nbytes
            for t in [
                engine.model.embedding,
                *engine.model.qkv,
                *engine.model.out,
                *engine.model.up,
                *engine.model.down,
            ]
        )
        rotary = engine.model._axes.nbytes + engine.model._rates.nbytes
        others = before + weights + rotary
        assert engine.counters().allocated_bytes == tensor_bytes() - others
        reader = Reader(engine, Script.draw([50] * 3, 5))
        logits = reader.read()
        engine._settle()  # what the last step observed is not kept
        pages = sum(page.nbytes for page in reader.script.pages)
        others += logits.nbytes + pages + reader.sequence.attended[0].nbytes
        assert engine.counters().allocated_bytes == tensor_bytes() - others
        assert engine.store.scratch_bytes > 0
        assert engine._plans.nbytes > 0


def tensor_bytes() -> int:
    """Bytes of every tensor storage that is alive in this process."""
    gc.collect()
    storages = {
        t.untyped_storage().data_ptr(): t.untyped_storage().nbytes()
        for t in gc.get_objects()
        if type(t) is Tensor
    }
    return sum(storages.values())


def test_live_bytes_are_those_of_the_tokens_held():
    with Engine(ToyModel(toy_spec()), small()) as engine:
        reader = Reader(engine, Script.draw([50, 27], 0))
        reader.open_page(0)
        reader.step(1, 2, 3)
        per_token = engine.spec.bytes_per_token()
        assert engine.counters(reader.sequence).live_bytes == 53 * per_token
        reader.open_page(1)
        assert engine.counters(reader.sequence).live_bytes == 80 * per_token
        other = Reader(engine, reader.script)
        other.open_page(0)
        assert engine.counters().live_bytes == 130 * per_token
        assert engine.counters(other.sequence).attended_tokens is None


def test_attended_tokens_count_what_a_step_reads():
    config = small(text_window=16)
    with Engine(ToyModel(toy_spec()), config) as engine:
        reader = Reader(engine, Script.draw([50, 27, 45], 0))
        reader.open_page(0)
        reader.step(1, 2, 3)
        assert engine.counters().attended_tokens == 53
        reader.open_page(1)
        for token in range(20):
            reader.step(token)
        assert engine.counters().attended_tokens == 50 + 27 + 16
        reader.open_page(2)
        reader.step(1)
        assert (
            engine.counters().attended_tokens == 27 + 45 + 16 + 3 * 8
        )  # three of the blocks retained of page 0
        assert engine.counters(reader.sequence).resident_pages[0].num_blocks == 3


def test_cancelling_at_every_step_leaves_the_pool_whole():
    script, config = Script.draw([30, 33, 25], 9), small(text_window=9)
    model = ToyModel(toy_spec())
    for num_actions in range(3 * 10 + 1):
        with Engine(model, config) as engine:
            reader = Reader(engine, script)
            for action in range(num_actions):
                page_index, step = divmod(action, 10)
                reader.open_page(page_index) if step == 0 else reader.step(
                    script.tokens[page_index][step - 1]
                )
            engine.remove(reader.sequence)
            engine.check_integrity()
            assert engine.pool.num_used_blocks == 0
            engine.remove(reader.sequence)


@pytest.mark.parametrize(
    "failure", [RuntimeError("device lost"), KeyboardInterrupt(), float("nan"), float("inf")], ids=repr
)
def test_a_failed_step_appends_nothing(failure: float | BaseException):
    script = Script.draw([30], 20)
    expected = read_with_engine(script, small(), CountingModel())
    with Engine(CountingModel(fail_at_step=12, failure=failure), small()) as engine:
        reader = Reader(engine, script)
        reader.open_page(0)
        logits = [reader.step(token) for token in script.tokens[0][:11]]
        with pytest.raises(NonFiniteLogitsError if isinstance(failure, float) else type(failure)):
            reader.step(script.tokens[0][11])
        engine.check_integrity()
        logits += [reader.step(token) for token in script.tokens[0][11:]]
    assert torch.equal(torch.cat(logits), expected)


class FailingPrefill(ToyModel):
    """Fails in the last layer of page 1, the first time."""

    has_failed = False

    def finish_layer(self, layer: int, hidden: Tensor, attended: Tensor) -> Tensor:
        if layer == 1 and hidden.shape[1] == 27 and not self.has_failed:
            self.has_failed = True
            raise RuntimeError("device lost")
        return super().finish_layer(layer, hidden, attended)


def test_a_failed_prefill_enters_no_page_and_can_be_tried_again():
    script = Script.draw([30, 27], 6)
    expected = read_with_engine(script, small(), ToyModel(toy_spec()))
    with Engine(FailingPrefill(toy_spec()), small()) as engine:
        reader = Reader(engine, script)
        reader.open_page(0)
        logits = [reader.step(token) for token in script.tokens[0]]
        with pytest.raises(RuntimeError, match="device lost"):
            reader.open_page(1)
        engine.check_integrity()
        assert list(reader.resident) == [0]
        reader.open_page(1)
        logits += [reader.step(token) for token in script.tokens[1]]
    assert torch.equal(torch.cat(logits), expected)


def test_a_document_may_leave_before_a_neighbours_draft_is_rolled_back():
    with Engine(ToyModel(toy_spec()), small()) as engine:
        first, second = (Reader(engine, Script.draw([30], 0)) for _ in range(2))
        first.open_page(0)
        second.open_page(0)
        engine.decode_step([first.sequence, second.sequence], [[1, 2, 3], [4, 5, 6]])
        engine.remove(first.sequence)
        engine.rollback(second.sequence, 2)
        assert engine.decode_step([second.sequence], [[7]])[0].isfinite().all()
        engine.check_integrity()


def test_non_finite_logits_name_dtype_and_step():
    with Engine(CountingModel(fail_at_step=4), small(), dtype="float16") as engine:
        reader = Reader(engine, Script.draw([30], 20))
        reader.open_page(0)
        reader.step(1), reader.step(2), reader.step(3)
        with pytest.raises(
            NonFiniteLogitsError, match=r"at step 3 with torch\.float32 weights and a torch\.float16 KV cache"
        ):
            reader.step(4)


@pytest.mark.parametrize("capacity", [3, 9, 12])
def test_out_of_blocks_is_an_error_that_leaves_the_pool_whole(capacity: int):
    with Engine(ToyModel(toy_spec()), small(), mode="full", capacity_blocks=capacity) as engine:
        reader = Reader(engine, Script.draw([50, 50], 40))
        with pytest.raises(OutOfMemoryError, match=f"of {capacity} blocks free"):
            reader.read()
        engine.check_integrity()
        engine.remove(reader.sequence)
        assert engine.pool.num_free_blocks == capacity


def test_identical_page_is_shared_without_computing_or_copying():
    script, model = Script.draw([30, 30], 10), CountingModel()
    expected = read_with_engine(script, small(), CountingModel())
    with Engine(model, small()) as engine:
        first, second = Reader(engine, script), Reader(engine, script)
        engine.prefill(first.sequence, 0, script.pages[0], reuse_key="hash of page 0")
        engine.prefill(second.sequence, 0, script.pages[0], reuse_key="hash of page 0")
        assert model.prefilled == [0]
        assert first.sequence.blocks.reference_ids == second.sequence.blocks.reference_ids
        assert engine.pool.num_used_blocks == 4
        engine.check_integrity()
        engine.remove(first.sequence)
        logits = torch.cat([second.step(token) for token in script.tokens[0]])
        engine.check_integrity()
    assert torch.allclose(logits, expected[:10], atol=1e-6)


def test_a_page_that_left_or_stands_elsewhere_is_computed_again():
    script, model = Script.draw([30] * 4, 2), CountingModel()
    with Engine(model, small(page_window=0)) as engine:
        first = Reader(engine, script)
        for page_index in range(3):
            engine.prefill(first.sequence, page_index, script.pages[0], reuse_key="same")
        assert len(model.prefilled) == 3  # the same content at another place has other positions
        second = Reader(engine, script)
        engine.prefill(second.sequence, 0, script.pages[0], reuse_key="same")
        assert len(model.prefilled) == 4  # page 0 of the first document was evicted
        engine.prefill(second.sequence, 2, script.pages[0], reuse_key="same")
        assert len(model.prefilled) == 4
        engine.check_integrity()


def test_blank_pages_take_no_blocks_and_leave_no_trace():
    script = Script.draw([30, 0, 0, 25, 0], 6)
    with Engine(ToyModel(toy_spec()), small(page_window=2)) as engine:
        reader = Reader(engine, script)
        assert reader.read().isfinite().all()
        assert [page.page_index for page in engine.counters(reader.sequence).resident_pages] == [3, 4]


def test_unavailable_backends_modes_and_dtypes_say_what_to_use():
    with pytest.raises(
        BackendUnavailableError, match="needs a CUDA device and this run uses 'cpu'; use 'gather'"
    ):
        Engine(ToyModel(toy_spec()), small(), backend="flash")
    with pytest.raises(BackendUnavailableError, match="'fast' is unknown; use one of dense, flash, gather"):
        Engine(ToyModel(toy_spec()), small(), backend="fast")
    with pytest.raises(ConfigError, match="mode is 'half'"):
        Engine(ToyModel(toy_spec()), small(), mode="half")
    with pytest.raises(ConfigError, match="kv_dtype is 'int4'"):
        Engine(ToyModel(toy_spec()), small(), dtype="int4")
