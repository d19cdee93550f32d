"""Counters that fail alone and are None then; the GPUs CUDA sees, not those NVML counts; rates and time left
from what was measured.
"""

import os
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.telemetry import MemoryProbe, Progress, Throttle


class NVMLError(Exception):
    pass


@dataclass
class FakeGpu:
    uuid: str
    used: int = 0
    name: str = "H200"
    slices: list["FakeGpu"] = field(default_factory=list)
    is_lost: bool = False
    has_memory_counter: bool = True
    has_name: bool = True
    held: int | None = None  # by this process; None: it is not listed
    counts_processes: bool = True


@dataclass
class FakeNvml:
    """The part of NVML that is used, with the ways it fails. A handle is the FakeGpu itself."""

    gpus: list[FakeGpu]
    has_library: bool = True
    num_open: int = 0

    def nvmlInit(self) -> None:
        if not self.has_library:
            raise NVMLError("NVML Shared Library Not Found")
        self.num_open += 1

    def nvmlShutdown(self) -> None:
        self.num_open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int) -> FakeGpu:
        return self.gpus[index]

    def nvmlDeviceGetUUID(self, gpu: FakeGpu) -> str:
        return gpu.uuid

    def nvmlDeviceGetName(self, gpu: FakeGpu) -> str:
        if not gpu.has_name:
            raise NVMLError("Not Supported")
        return gpu.name

    def nvmlDeviceGetMemoryInfo(self, gpu: FakeGpu) -> SimpleNamespace:
        if gpu.is_lost or not gpu.has_memory_counter:
            raise NVMLError("GPU is lost" if gpu.is_lost else "Not Supported")
        return SimpleNamespace(used=gpu.used, total=1000)

    def nvmlDeviceGetComputeRunningProcesses(self, gpu: FakeGpu) -> list[SimpleNamespace]:
        if gpu.is_lost:
            raise NVMLError("GPU is lost")
        others = SimpleNamespace(pid=os.getpid() + 1, usedGpuMemory=7)
        ours = SimpleNamespace(pid=os.getpid(), usedGpuMemory=gpu.held if gpu.counts_processes else None)
        return [others] if gpu.held is None else [others, ours]

    def nvmlDeviceGetMigMode(self, gpu: FakeGpu) -> tuple[int, int]:
        if gpu.uuid.startswith("MIG-"):
            raise NVMLError("Invalid Argument")
        return bool(gpu.slices), bool(gpu.slices)

    def nvmlDeviceGetMaxMigDeviceCount(self, gpu: FakeGpu) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, gpu: FakeGpu, index: int) -> FakeGpu:
        if index >= len(gpu.slices):
            raise NVMLError("Not Found")
        return gpu.slices[index]


class FakeTorch:
    """torch with CUDA running on the GPUs of these UUIDs, in CUDA's order."""

    def __init__(self, *uuids: str) -> None:
        self.is_running = True
        self.cuda = SimpleNamespace(
            is_initialized=lambda: self.is_running,
            device_count=lambda: len(uuids),
            get_device_properties=lambda index: SimpleNamespace(uuid=uuids[index]),
            mem_get_info=lambda index: (400, 1000 + index),
            memory_allocated=lambda index: 3,
            memory_reserved=lambda index: 5,
        )


def four_gpus(**options: Any) -> FakeNvml:
    """This process holds a little of each."""
    slices = [FakeGpu("MIG-c1", 31, held=1, **options), FakeGpu("MIG-c2", 32, held=1, **options)]
    return FakeNvml(
        [
            FakeGpu("GPU-aa11", 10, held=1, **options),
            FakeGpu("GPU-ab12", 20, held=1, **options),
            FakeGpu("GPU-cc13", 30, held=1, slices=slices, **options),
            FakeGpu("GPU-dd14", 40, held=1, **options),
        ]
    )


def readings(probe: MemoryProbe) -> dict[str, tuple[int | None, int | None]]:
    """What is used and the total, by label, without the resident memory, which comes first."""
    resident, *others = probe.devices()
    assert (resident.label, resident.is_own) == ("process memory", True)
    assert 0 < resident.used_bytes < resident.total_bytes
    return {reading.label: (reading.used_bytes, reading.total_bytes) for reading in others}


def whole_devices(probe: MemoryProbe) -> list[int | None]:
    return [reading.used_bytes for reading in probe.devices() if not reading.is_own]


@pytest.mark.parametrize(
    ("visible", "used"),
    [
        (None, [10, 20, 31, 40]),  # of a GPU cut into slices, CUDA takes the first
        ("1", [20]),
        ("3,0", [40, 10]),
        (" 3 , 1 ", [40, 20]),
        ("GPU-ab12", [20]),
        ("GPU-ab", [20]),
        ("GPU-dd14,GPU-aa", [40, 10]),
        ("MIG-c2", [32]),
        ("2", [31]),
        ("0,9,1", [10]),  # what names nothing ends the list
        ("0,-1,1", [10]),
        ("0,junk", [10]),
    ],
)
def test_the_gpus_read_are_those_cuda_sees(visible: str | None, used: list[int]):
    environ = {} if visible is None else {"CUDA_VISIBLE_DEVICES": visible}
    assert whole_devices(MemoryProbe(four_gpus(), environ=environ)) == used


@pytest.mark.parametrize("visible", ["", "-1", "GPU-", "none"])
def test_hidden_gpus_are_not_read(visible: str):
    assert readings(MemoryProbe(four_gpus(), environ={"CUDA_VISIBLE_DEVICES": visible})) == {}


def test_a_gpu_that_only_others_use_is_left_out():
    """A reader on the CPU must not show other people's memory as its own."""
    nvml = FakeNvml([FakeGpu("GPU-a", 900, name="H200"), FakeGpu("GPU-b", 20, held=5)])
    assert readings(MemoryProbe(nvml, environ={})) == {
        "GPU 1 (H200), this process": (5, 1000),
        "GPU 1 (H200), PyTorch allocated": (None, None),
        "GPU 1 (H200), PyTorch reserved": (None, None),
        "GPU 1 (H200), all processes": (20, 1000),
    }


def test_a_gpu_in_use_has_the_process_of_its_own_pytorch_and_the_whole():
    nvml = FakeNvml([FakeGpu("GPU-a", 900, held=8)])
    assert readings(MemoryProbe(nvml, FakeTorch("a"), {})) == {
        "GPU 0 (H200), this process": (8, 1000),
        "GPU 0 (H200), PyTorch allocated": (3, None),
        "GPU 0 (H200), PyTorch reserved": (5, None),
        "GPU 0 (H200), all processes": (900, 1000),
    }


def test_gpus_are_looked_up_again_when_cuda_starts():
    torch = FakeTorch("dd14", "ab12", "c2")
    torch.is_running = False
    probe = MemoryProbe(four_gpus(), torch, {"CUDA_VISIBLE_DEVICES": "0"})
    assert whole_devices(probe) == [10]
    torch.is_running = True  # the order of a running CUDA wins over the environment
    assert whole_devices(probe) == [40, 20, 32]


def test_a_reading_keeps_its_place_when_another_gpu_comes_into_use():
    nvml = FakeNvml([FakeGpu("GPU-a", 10), FakeGpu("GPU-b", 20, held=1)])
    probe = MemoryProbe(nvml, environ={})
    before = [reading.label for reading in probe.devices()]
    nvml.gpus[0].held = 1
    assert [reading.label for reading in probe.devices()][: len(before)] == before
    assert whole_devices(probe) == [20, 10]


def test_without_the_library_and_without_cuda_there_is_the_process():
    probe = MemoryProbe(FakeNvml([], has_library=False))
    assert readings(probe) == {}
    probe.close()


def test_a_lost_gpu_is_unknown_and_polling_goes_on():
    nvml = four_gpus()
    probe = MemoryProbe(nvml, environ={"CUDA_VISIBLE_DEVICES": "0,1"})
    assert whole_devices(probe) == [10, 20]
    nvml.gpus[0].is_lost = True
    assert readings(probe)["GPU 0 (H200), this process"] == (None, None)
    assert whole_devices(probe) == [None, 20]
    nvml.gpus[0].is_lost = False
    nvml.gpus[1].used = 21
    assert whole_devices(probe) == [10, 21]


def test_one_unsupported_field_leaves_the_others():
    nvml = FakeNvml([FakeGpu("GPU-a", 5, has_name=False, held=2)])
    assert readings(MemoryProbe(nvml, environ={}))["GPU 0, all processes"] == (5, 1000)


def test_a_driver_that_does_not_count_by_process_leaves_pytorchs_count():
    nvml = FakeNvml([FakeGpu("GPU-a", 5, held=2, counts_processes=False)])
    read = readings(MemoryProbe(nvml, FakeTorch("a"), {}))
    assert read["GPU 0 (H200), this process"] == (None, 1000)
    assert read["GPU 0 (H200), PyTorch reserved"] == (5, None)


def test_memory_that_nvml_does_not_support_is_asked_of_a_running_cuda():
    nvml = FakeNvml([FakeGpu("GPU-a", has_memory_counter=False, held=1)])
    assert readings(MemoryProbe(nvml, FakeTorch("a"), {}))["GPU 0 (H200), all processes"] == (600, 1000)
    assert readings(MemoryProbe(nvml, environ={}))["GPU 0 (H200), all processes"] == (None, None)


def test_cuda_is_asked_where_nvml_is_missing():
    read = readings(MemoryProbe(FakeNvml([], has_library=False), FakeTorch("a", "b")))
    assert read["GPU 0, all processes"] == (600, 1000)
    assert read["GPU 1, all processes"] == (601, 1001)
    assert read["GPU 1, this process"] == (None, 1001)


def test_closing_gives_nvml_back_once():
    nvml = four_gpus()
    probe = MemoryProbe(nvml)
    assert nvml.num_open == 1
    probe.close()
    probe.close()
    assert nvml.num_open == 0


def test_throttle_lets_four_a_second_through():
    throttle, due = Throttle(), []
    for tick in range(100):  # two seconds
        if throttle.is_due(tick * 0.02):
            throttle.mark(tick * 0.02)
            due.append(tick)
    assert len(due) == 8


def test_before_the_first_page_nothing_is_guessed():
    progress = Progress(5)
    assert progress.time_left() is progress.pages_per_s is progress.tokens_per_s is None


def test_time_left_is_the_measured_pace_times_the_pages_left():
    progress = Progress(10)
    for end_s in (2.0, 4.0, 6.0):
        progress.page_done(end_s)
    left = progress.time_left()
    assert progress.pages_per_s == pytest.approx(0.5)
    assert (left.expected_s, left.low_s, left.high_s) == pytest.approx((14.0, 14.0, 14.0))


def test_one_page_gives_an_expectation_without_a_spread():
    progress = Progress(3)
    progress.page_done(2.0)
    left = progress.time_left()
    assert (left.expected_s, left.low_s, left.high_s) == (4.0, None, None)


@given(st.lists(st.floats(0, 100), min_size=2, max_size=60), st.integers(0, 500))
def test_the_spread_holds_the_expectation(durations: list[float], num_left: int):
    progress = Progress(len(durations) + num_left)
    end_s = 0.0
    for duration in durations:
        end_s += duration
        progress.page_done(end_s)
    left = progress.time_left()
    assert 0 <= left.low_s <= left.expected_s + 1e-6
    assert left.expected_s <= left.high_s + 1e-6
    assert num_left or left.expected_s == 0


def test_four_of_five_documents_end_within_the_spread():
    import random

    rng = random.Random(7)
    hits = 0
    for _ in range(300):
        durations = [rng.gammavariate(4, 0.5) for _ in range(40)]
        progress = Progress(40)
        for page in range(12):
            progress.page_done(sum(durations[: page + 1]))
        left = progress.time_left()
        hits += left.low_s <= sum(durations[12:]) <= left.high_s
    assert 0.7 < hits / 300 < 0.9


def test_tokens_a_second_follow_the_latest_seconds():
    progress = Progress(1)
    for tick in range(100):  # 10 tokens a second for 50 s, then 100 a second
        progress.tokens_written(tick * 0.5, tick * 5)
    assert progress.tokens_per_s == pytest.approx(10)
    for tick in range(1, 21):
        progress.tokens_written(49.5 + tick * 0.5, 495 + tick * 50)
    assert progress.tokens_per_s == pytest.approx(100)
