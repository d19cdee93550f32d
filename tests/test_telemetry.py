"""Counters that fail alone and are None then; the GPUs CUDA sees, not those NVML counts; rates and time left
from what was measured.
"""

from dataclasses import dataclass, field
from types import SimpleNamespace

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
        self.cuda = SimpleNamespace(
            is_initialized=lambda: True,
            device_count=lambda: len(uuids),
            get_device_properties=lambda index: SimpleNamespace(uuid=uuids[index]),
            mem_get_info=lambda index: (400, 1000 + index),
        )


def four_gpus() -> FakeNvml:
    slices = [FakeGpu("MIG-c1", 31), FakeGpu("MIG-c2", 32)]
    return FakeNvml(
        [
            FakeGpu("GPU-aa11", 10),
            FakeGpu("GPU-ab12", 20),
            FakeGpu("GPU-cc13", 30, slices=slices),
            FakeGpu("GPU-dd14", 40),
        ]
    )


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
    assert [device.used_bytes for device in MemoryProbe(four_gpus(), environ=environ).devices()] == used


@pytest.mark.parametrize("visible", ["", "-1", "GPU-", "none"])
def test_hidden_gpus_are_not_read(visible: str):
    (device,) = MemoryProbe(four_gpus(), environ={"CUDA_VISIBLE_DEVICES": visible}).devices()
    assert "no GPU" in device.label
    assert device.used_bytes > 0


def test_the_order_of_a_running_cuda_wins_over_the_environment():
    probe = MemoryProbe(four_gpus(), FakeTorch("dd14", "ab12", "c2"), {"CUDA_VISIBLE_DEVICES": "0,1,2"})
    assert [device.used_bytes for device in probe.devices()] == [40, 20, 32]


def test_without_the_library_the_process_stands_in_and_says_so():
    probe = MemoryProbe(FakeNvml([], has_library=False))
    (device,) = probe.devices()
    assert device.label == "process memory (no GPU)"
    assert device.used_bytes < device.total_bytes
    probe.close()


def test_a_lost_gpu_is_unknown_and_polling_goes_on():
    nvml = four_gpus()
    probe = MemoryProbe(nvml, environ={"CUDA_VISIBLE_DEVICES": "0,1"})
    nvml.gpus[0].is_lost = True
    assert [(d.used_bytes, d.total_bytes) for d in probe.devices()] == [(None, None), (20, 1000)]
    nvml.gpus[0].is_lost = False
    nvml.gpus[1].used = 21
    assert [device.used_bytes for device in probe.devices()] == [10, 21]


def test_one_unsupported_field_leaves_the_others():
    (device,) = MemoryProbe(FakeNvml([FakeGpu("GPU-a", 5, has_name=False)]), environ={}).devices()
    assert (device.label, device.used_bytes) == ("GPU 0 (all processes)", 5)


def test_memory_that_nvml_does_not_support_is_asked_of_a_running_cuda():
    nvml = FakeNvml([FakeGpu("GPU-a", has_memory_counter=False)])
    (device,) = MemoryProbe(nvml, FakeTorch("a"), {}).devices()
    assert (device.used_bytes, device.total_bytes) == (600, 1000)
    (device,) = MemoryProbe(nvml, environ={}).devices()
    assert device.used_bytes is None


def test_cuda_is_asked_where_nvml_is_missing():
    devices = MemoryProbe(FakeNvml([], has_library=False), FakeTorch("a", "b")).devices()
    assert [(device.label, device.total_bytes) for device in devices] == [("GPU 0", 1000), ("GPU 1", 1001)]


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
