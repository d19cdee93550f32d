"""Continuous batching: what a document gets does not depend on its neighbours, and nobody waits for more than
a page.
"""

import pytest
from decoder_support import EXACT, Reader, Script, assert_close, small
from torch import Tensor

from ocr_app.decoder.engine import Engine
from ocr_app.decoder.sampling import PageGuard, SamplingConfig
from ocr_app.decoder.scheduler import Request, RequestStatus, Scheduler
from ocr_app.errors import NonFiniteLogitsError, OutOfMemoryError
from ocr_app.models.toy import ToyModel, ToyState

PAGE, END = 62, 63
GUARD = PageGuard(PAGE, END, max_page_tokens=12)
SAMPLING = SamplingConfig(temperature=1.0, ngram_size=4, ngram_window=20)


class PoisonedState(ToyState):
    """A document whose logits turn NaN after a number of tokens."""


class PoisonedModel(ToyModel):
    def logits(self, states: list[ToyState], tokens: Tensor, hidden: Tensor) -> Tensor:
        logits = super().logits(states, tokens, hidden)
        for row, state in enumerate(states):
            if isinstance(state, PoisonedState) and state.num_output_tokens >= 5:
                logits[row] = float("nan")
        return logits


def pages(count: int, seed: int) -> list[Tensor]:
    return Script.draw([20 + 7 * (seed + page) % 30 for page in range(count)], 0, seed).pages


def submit(scheduler: Scheduler, seed: int, count: int = 3, state: ToyState | None = None) -> Request:
    return scheduler.submit(state or ToyState(), pages(count, seed), count, sampling=SAMPLING, seed=seed)


def run_alone(seed: int, count: int = 3, mode: str = "sparse") -> list[list[int]]:
    with Engine(ToyModel(EXACT, has_router=True), small(), mode=mode) as engine:
        scheduler = Scheduler(engine, GUARD)
        request = submit(scheduler, seed, count)
        assert len(list(scheduler.run())) >= count
        return request.output


@pytest.mark.parametrize("mode", ["sparse", "full", "rswa"])
def test_sixteen_documents_at_once_read_as_each_alone(mode: str):
    """Lengths and joining times differ, so that every step has another batch."""
    with Engine(ToyModel(EXACT, has_router=True), small(), mode=mode) as engine:
        scheduler, requests, sizes = Scheduler(engine, GUARD, max_running=16), [], set()
        for seed in range(16):
            requests.append(submit(scheduler, seed, 1 + seed % 4))
            scheduler.step()
            sizes.add(len({token.request for token in scheduler.step()}))
            engine.check_integrity()
        for _ in scheduler.run():
            pass
        assert engine.pool.num_used_blocks == 0
    assert len(sizes) > 4
    for seed, request in enumerate(requests):
        assert request.status is RequestStatus.DONE
        assert request.output == run_alone(seed, 1 + seed % 4, mode)


def test_batched_logits_equal_single_with_ragged_drafts():
    scripts = [Script.draw([15 + 9 * seed % 40, 30], 12, seed) for seed in range(5)]
    model, config = ToyModel(EXACT, has_router=True), small()
    with Engine(model, config) as together:
        readers = [Reader(together, script) for script in scripts]
        alone = [Reader(Engine(model, config), script) for script in scripts]
        for page_index in range(2):
            for reader in readers + alone:
                reader.open_page(page_index)
            for start in range(0, 12, 3):
                drafts = [
                    script.tokens[page_index][start : start + 1 + (seed + start) % 3]
                    for seed, script in enumerate(scripts)
                ]
                logits = together.decode_step([reader.sequence for reader in readers], drafts)
                for reader, single, draft, ours in zip(readers, alone, drafts, logits, strict=True):
                    reader.state.num_output_tokens += len(draft)
                    assert_close(ours, single.step(*draft))


def test_a_prefill_stalls_running_documents_for_one_page_only():
    with Engine(ToyModel(EXACT), small()) as engine:
        scheduler = Scheduler(engine, GUARD)
        requests = [submit(scheduler, seed, 4) for seed in range(6)]
        reading: list[Request] = []
        while scheduler.requests:
            before = sum(request.sequence.num_prefills for request in requests if request.sequence)
            advanced = [token.request for token in scheduler.step()]
            assert (
                sum(request.sequence.num_prefills for request in requests if request.sequence) - before <= 1
            )
            assert set(reading) <= set(advanced)
            reading = [request for request in requests if request.status is RequestStatus.DECODING]


def test_output_has_one_section_per_page_whatever_the_logits():
    with Engine(ToyModel(EXACT), small()) as engine:
        scheduler = Scheduler(engine, GUARD)
        requests = [submit(scheduler, seed, 5) for seed in range(6)]
        stream: dict[int, list[int]] = {id(request): [] for request in requests}
        for picked in scheduler.run():
            stream[id(picked.request)].append(picked.token)
    assert any(request.cut_pages for request in requests)
    for request in requests:
        tokens = stream[id(request)]
        assert len(request.output) == 5
        assert tokens.count(PAGE) == 4
        assert tokens.count(END) == 1
        assert tokens[-1] == END
        assert all(len(page) <= 12 for page in request.output)
        assert all(
            (len(page) == 12) >= (index in request.cut_pages) for index, page in enumerate(request.output)
        )
        assert all(PAGE not in page for page in request.output)


def test_cancelling_one_changes_nothing_for_the_others():
    expected = [run_alone(seed, 2) for seed in range(3)]
    for cancel_after in range(0, 24, 3):
        with Engine(ToyModel(EXACT, has_router=True), small()) as engine:
            scheduler = Scheduler(engine, GUARD)
            requests = [submit(scheduler, seed, 2) for seed in range(3)]
            for _ in range(cancel_after):
                scheduler.step()
            scheduler.cancel(requests[1])
            engine.check_integrity()
            assert requests[1].sequence is None or requests[1].sequence.blocks.num_blocks == 0
            for _ in scheduler.run():
                pass
            assert engine.pool.num_used_blocks == 0
            assert [requests[0].output, requests[2].output] == [expected[0], expected[2]]


def test_a_document_that_turns_nan_fails_alone():
    with Engine(PoisonedModel(EXACT, has_router=True), small()) as engine:
        scheduler = Scheduler(engine, GUARD)
        healthy = [submit(scheduler, seed) for seed in (1, 2)]
        poisoned = submit(scheduler, 3, state=PoisonedState())
        for _ in scheduler.run():
            pass
    assert poisoned.status is RequestStatus.FAILED
    assert isinstance(poisoned.error, NonFiniteLogitsError)
    assert [request.output for request in healthy] == [run_alone(1), run_alone(2)]


def test_too_little_room_makes_documents_wait_not_fail():
    with Engine(ToyModel(EXACT, has_router=True), small(page_window=1), capacity_blocks=34) as engine:
        scheduler = Scheduler(engine, GUARD)
        requests = [submit(scheduler, seed, 1) for seed in range(4)]
        most = 0
        while scheduler.requests:
            scheduler.step()
            engine.check_integrity()
            most = max(most, len(engine.sequences))
    assert 1 < most < 4
    assert [request.status for request in requests] == [RequestStatus.DONE] * 4


def test_when_all_wait_for_room_the_newest_goes_and_the_oldest_reads_on():
    with Engine(ToyModel(EXACT, has_router=True), small(page_window=0), capacity_blocks=24) as engine:
        scheduler = Scheduler(engine, GUARD)
        requests = [submit(scheduler, seed, 4) for seed in (0, 0)]
        for _ in scheduler.run():
            engine.check_integrity()
        assert engine.pool.num_used_blocks == 0
    assert [request.status for request in requests] == [RequestStatus.DONE, RequestStatus.FAILED]


def test_a_document_that_can_never_fit_fails_and_says_why():
    with Engine(ToyModel(EXACT), small(), capacity_blocks=9) as engine:
        scheduler = Scheduler(engine, GUARD)
        request = submit(scheduler, 0)
        assert list(scheduler.run()) == []
    assert request.status is RequestStatus.FAILED
    assert isinstance(request.error, OutOfMemoryError)


@pytest.mark.parametrize("max_running", [1, 3])
def test_at_most_so_many_run_at_once(max_running: int):
    with Engine(ToyModel(EXACT), small()) as engine:
        scheduler = Scheduler(engine, GUARD, max_running=max_running)
        requests = [submit(scheduler, seed, 2) for seed in range(5)]
        while scheduler.requests:
            assert len({token.request for token in scheduler.step()}) <= max_running
            assert len(engine.sequences) <= max_running
    assert all(request.status is RequestStatus.DONE for request in requests)
