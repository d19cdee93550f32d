"""Counters of the machine and of progress: device and process memory, rates, time left.

Every field can fail alone and is then None, never 0; the next reading tries again. Nothing here knows
documents, KV caches or screens. NVML is asked by UUID, because CUDA counts devices in another order than NVML
and only among those that CUDA_VISIBLE_DEVICES names.
"""

import logging
import math
import os
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import psutil

from ocr_app.types import DeviceMemory

logger = logging.getLogger(__name__)

T = TypeVar("T")

MAX_SAMPLES_PER_S = 4
WINDOW_PAGES = 32  # pages behind a rate: enough for a spread, few enough to follow a change of pace
WINDOW_S = 5.0  # seconds behind tokens per second
Z_80_PCT = 1.2816  # four of five times the truth lies between the low and the high estimate


@dataclass(frozen=True, slots=True)
class _Gpu:
    """One device or MIG slice that CUDA can see."""

    handle: Any
    label: str


class MemoryProbe:
    """Reads memory of the visible GPUs and of this process. Open it, read it as often as wanted, close it."""

    def __init__(self, nvml: Any = None, torch: Any = None, environ: Mapping[str, str] = os.environ) -> None:
        self._nvml = _open_nvml(nvml)
        self._given_torch = torch
        self._environ = environ
        self._gpus: list[_Gpu] | None = (
            None  # resolved at the first reading, when a model on the GPU has been loaded
        )

    def devices(self) -> tuple[DeviceMemory, ...]:
        """Memory of every visible GPU; of this process, labelled so, where there is none."""
        return self._nvml_devices() or self._torch_devices() or (self._process_memory(),)

    def process_bytes(self) -> int | None:
        """Resident memory of this process."""
        return _try(lambda: int(psutil.Process().memory_info().rss))

    def close(self) -> None:
        if self._nvml is not None:
            _try(self._nvml.nvmlShutdown)
            self._nvml = None

    def _nvml_devices(self) -> tuple[DeviceMemory, ...]:
        if self._nvml is None:
            return ()
        if not self._gpus:
            self._gpus = _visible_gpus(self._nvml, self._environ, _cuda_uuids(self._torch))
        return tuple(self._read(position, gpu) for position, gpu in enumerate(self._gpus))

    def _read(self, position: int, gpu: _Gpu) -> DeviceMemory:
        memory = _try(lambda: self._nvml.nvmlDeviceGetMemoryInfo(gpu.handle))
        if (
            memory is None
        ):  # not supported where CPU and GPU share memory, or the GPU is lost: CUDA may still know
            return _torch_memory(self._torch, position, gpu.label)
        return DeviceMemory(gpu.label, int(memory.used), int(memory.total))

    @property
    def _torch(self) -> Any:
        """torch with CUDA running, or None. It is never imported for the sake of a counter."""
        torch = self._given_torch or sys.modules.get("torch")
        return torch if torch is not None and _try(torch.cuda.is_initialized) else None

    def _torch_devices(self) -> tuple[DeviceMemory, ...]:
        torch = self._torch
        count = _try(torch.cuda.device_count) if torch else None
        return tuple(_torch_memory(torch, i, f"GPU {i}") for i in range(count or 0))

    def _process_memory(self) -> DeviceMemory:
        total = _try(lambda: int(psutil.virtual_memory().total))
        return DeviceMemory("process memory (no GPU)", self.process_bytes(), total)


def _try(read: Callable[[], T]) -> T | None:
    """One counter, or None where it cannot be read: drivers raise anything from NVMLError to OSError."""
    try:
        return read()
    except Exception as error:
        logger.debug("a counter could not be read: %s", error)
        return None


def _open_nvml(nvml: Any) -> Any:
    """An initialised NVML module, or None on a machine without NVIDIA's library or driver."""
    if nvml is None:
        import pynvml as nvml
    try:
        nvml.nvmlInit()
    except Exception as error:
        logger.debug("no NVML: %s", error)
        return None
    return nvml


def _torch_memory(torch: Any, index: int, label: str) -> DeviceMemory:
    memory = _try(lambda: torch.cuda.mem_get_info(index)) if torch else None
    if memory is None:
        return DeviceMemory(label, None, None)
    free, total = memory
    return DeviceMemory(label, int(total - free), int(total))


def _cuda_uuids(torch: Any) -> list[str] | None:
    """UUIDs in CUDA's own order, exact whatever the environment says; None while CUDA is not running."""
    if not torch:
        return None
    return _try(
        lambda: [str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())]
    )


def _visible_gpus(nvml: Any, environ: Mapping[str, str], cuda_uuids: list[str] | None) -> list[_Gpu]:
    """The devices CUDA sees, in CUDA's order: by UUID where CUDA runs, else as CUDA_VISIBLE_DEVICES is read
    by CUDA.
    """
    handles = list(_physical_handles(nvml))
    visible = environ.get("CUDA_VISIBLE_DEVICES")
    if cuda_uuids is not None:
        wanted = [_by_uuid(nvml, handles, uuid) for uuid in cuda_uuids]
    elif visible is None:
        wanted = [_first_slice(nvml, handle) for handle in handles]
    else:
        wanted = list(_named(nvml, handles, visible))
    return [
        _Gpu(handle, _label(nvml, i, handle)) for i, handle in enumerate(h for h in wanted if h is not None)
    ]


def _named(nvml: Any, handles: list[Any], visible: str) -> Iterator[Any]:
    """Handles for entries like `1`, `GPU-ab12` or `MIG-…`. As in CUDA, the first entry that names nothing
    ends the list.
    """
    for entry in (part.strip() for part in visible.split(",")):
        if entry.isdecimal():
            handle = _first_slice(nvml, handles[int(entry)]) if int(entry) < len(handles) else None
        else:
            handle = _by_uuid(nvml, handles, entry) if entry.startswith(("GPU-", "MIG-")) else None
        if handle is None:
            return
        yield handle


def _physical_handles(nvml: Any) -> Iterator[Any]:
    for index in range(_try(nvml.nvmlDeviceGetCount) or 0):
        handle = _try(lambda index=index: nvml.nvmlDeviceGetHandleByIndex(index))
        if handle is not None:
            yield handle


def _mig_handles(nvml: Any, handle: Any) -> Iterator[Any]:
    """The MIG slices of a device; none where MIG is off or unknown to the driver."""
    mode = _try(lambda: nvml.nvmlDeviceGetMigMode(handle))
    if not mode or not mode[0]:
        return
    for index in range(_try(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) or 0):
        mig = _try(lambda index=index: nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
        if mig is not None:
            yield mig


def _first_slice(nvml: Any, handle: Any) -> Any:
    """CUDA uses the first MIG slice of a device chosen by number; the whole device where MIG is off."""
    return next(_mig_handles(nvml, handle), handle)


def _by_uuid(nvml: Any, handles: list[Any], wanted: str) -> Any:
    """The device or MIG slice whose UUID begins like `wanted`, with or without its kind in front; None if
    there is none.
    """
    bare = _bare_uuid(wanted)
    for handle in handles:
        for candidate in (handle, *_mig_handles(nvml, handle)):
            uuid = _try(lambda candidate=candidate: _text(nvml.nvmlDeviceGetUUID(candidate)))
            if bare and uuid and _bare_uuid(uuid).startswith(bare):
                return candidate
    return None


def _bare_uuid(uuid: str) -> str:
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()


def _label(nvml: Any, position: int, handle: Any) -> str:
    name = _try(lambda: _text(nvml.nvmlDeviceGetName(handle)))
    return f"GPU {position} ({name}, all processes)" if name else f"GPU {position} (all processes)"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value


class Throttle:
    """Says at most `per_s` times a second that a reading is due."""

    def __init__(self, per_s: float = MAX_SAMPLES_PER_S) -> None:
        self._interval_s = 1 / per_s
        self._next_s = -math.inf

    def is_due(self, now_s: float) -> bool:
        return now_s >= self._next_s

    def mark(self, now_s: float) -> None:
        self._next_s = now_s + self._interval_s


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds until the last page is done. Low and high are None until two pages show a spread."""

    expected_s: float
    low_s: float | None = None
    high_s: float | None = None


class Progress:
    """Rates and time left, from what was measured: seconds per page over the latest pages, tokens over the
    latest seconds.
    """

    def __init__(self, num_pages_total: int, begin_s: float = 0.0) -> None:
        """`begin_s`: when reading began; opening the file and loading the model before it say nothing about
        the pages to come.
        """
        self.num_pages_total = num_pages_total
        self.num_pages_done = 0
        self._last_page_s = begin_s
        self._page_durations: deque[float] = deque(maxlen=WINDOW_PAGES)
        self._token_counts: deque[tuple[float, int]] = deque()

    def page_done(self, time_s: float) -> None:
        """Count a page as finished at `time_s` since the job began."""
        self._page_durations.append(time_s - self._last_page_s)
        self._last_page_s = time_s
        self.num_pages_done += 1

    def tokens_written(self, time_s: float, num_tokens: int) -> None:
        """Note how many tokens the document has at `time_s`."""
        self._token_counts.append((time_s, num_tokens))
        while len(self._token_counts) > 2 and time_s - self._token_counts[1][0] > WINDOW_S:
            self._token_counts.popleft()

    @property
    def pages_per_s(self) -> float | None:
        total_s = sum(self._page_durations)
        return len(self._page_durations) / total_s if total_s > 0 else None

    @property
    def tokens_per_s(self) -> float | None:
        if len(self._token_counts) < 2:
            return None
        (first_s, first), (last_s, last) = self._token_counts[0], self._token_counts[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None

    def time_left(self) -> TimeLeft | None:
        """Time for the pages still to come, as long as the latest ones took, with the range that holds four
        times of five.
        """
        num_seen = len(self._page_durations)
        if not num_seen:
            return None
        num_left = self.num_pages_total - self.num_pages_done
        mean_s = sum(self._page_durations) / num_seen
        expected_s = num_left * mean_s
        if num_seen < 2:
            return TimeLeft(expected_s)
        variance = sum((duration - mean_s) ** 2 for duration in self._page_durations) / (num_seen - 1)
        # two doubts add up: each page to come differs from the mean, and the mean itself is known from
        # num_seen pages only
        spread_s = Z_80_PCT * math.sqrt(variance * (num_left + num_left**2 / num_seen))
        return TimeLeft(expected_s, max(0.0, expected_s - spread_s), expected_s + spread_s)
