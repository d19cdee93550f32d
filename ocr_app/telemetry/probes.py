"""Memory of this process, on the machine and on every GPU it uses, with the whole of each such GPU beside it.

Every field can fail alone and is then None, never 0; the next reading tries again. GPUs that other programs
use and this process does not are left out: their memory says nothing of what is read here.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

import psutil

from ocr_app.telemetry.nvml import Gpu, open_nvml, process_bytes_on, read_or_none, visible_gpus
from ocr_app.types import DeviceMemory


class MemoryProbe:
    """Reads memory of this process and of the GPUs it uses. Open it, read it as often as wanted, close it."""

    def __init__(self, nvml: Any = None, torch: Any = None, environ: Mapping[str, str] = os.environ) -> None:
        self._nvml = open_nvml(nvml)
        self._given_torch = torch
        self._environ = environ
        self._gpus: list[Gpu] = []
        self._found_with: object = _NOT_YET  # the UUIDs that CUDA named when the GPUs were looked up
        self._in_use: list[int] = []  # places of the GPUs this process has used, in the order it began to

    def devices(self) -> tuple[DeviceMemory, ...]:
        """Resident memory first, then four readings of each GPU in use: what the driver counts for this
        process, what PyTorch has allocated and what it has reserved, and the whole device. While CUDA names
        the same GPUs, a reading keeps its place from its first time on.
        """
        torch = self._torch
        self._look_up(torch)
        for place, gpu in enumerate(self._gpus):
            if place not in self._in_use and self._is_used(torch, place, gpu):
                self._in_use.append(place)
        readings = [self._readings(torch, place) for place in self._in_use if place < len(self._gpus)]
        return (self._resident(), *(reading for each in readings for reading in each))

    def process_bytes(self) -> int | None:
        """Resident memory of this process."""
        return read_or_none(lambda: int(psutil.Process().memory_info().rss))

    def close(self) -> None:
        if self._nvml is not None:
            read_or_none(self._nvml.nvmlShutdown)
            self._nvml = None

    @property
    def _torch(self) -> Any:
        """torch with CUDA running, or None. It is never imported for the sake of a counter."""
        torch = self._given_torch or sys.modules.get("torch")
        return torch if torch is not None and read_or_none(torch.cuda.is_initialized) else None

    def _look_up(self, torch: Any) -> None:
        """Find the GPUs anew when CUDA starts, which may be long after the first reading."""
        uuids = _cuda_uuids(torch)
        if uuids == self._found_with:
            return
        self._found_with, self._in_use = uuids, []
        if self._nvml is not None:
            self._gpus = visible_gpus(self._nvml, self._environ, uuids)
        else:
            self._gpus = [Gpu(None, f"GPU {place}") for place in range(len(uuids or ()))]

    def _is_used(self, torch: Any, place: int, gpu: Gpu) -> bool:
        return bool(self._held(gpu) or _reserved(torch, place))

    def _held(self, gpu: Gpu) -> int | None:
        """Bytes of the GPU that the driver counts for this process."""
        return process_bytes_on(self._nvml, gpu, os.getpid()) if self._nvml is not None else None

    def _readings(self, torch: Any, place: int) -> tuple[DeviceMemory, ...]:
        gpu = self._gpus[place]
        whole = self._whole(torch, place, gpu)
        return (
            DeviceMemory(f"{gpu.label}, this process", self._held(gpu), whole.total_bytes),
            DeviceMemory(f"{gpu.label}, PyTorch allocated", _allocated(torch, place), None),
            DeviceMemory(f"{gpu.label}, PyTorch reserved", _reserved(torch, place), None),
            whole,
        )

    def _whole(self, torch: Any, place: int, gpu: Gpu) -> DeviceMemory:
        """The device with all its users. Where NVML cannot say (memory shared with the CPU, a lost GPU), CUDA
        may.
        """
        label = f"{gpu.label}, all processes"
        memory = read_or_none(lambda: self._nvml.nvmlDeviceGetMemoryInfo(gpu.handle)) if self._nvml else None
        if memory is not None:
            return DeviceMemory(label, int(memory.used), int(memory.total), is_own=False)
        free_and_total = read_or_none(lambda: torch.cuda.mem_get_info(place)) if torch else None
        if free_and_total is None:
            return DeviceMemory(label, None, None, is_own=False)
        free, total = free_and_total
        return DeviceMemory(label, int(total - free), int(total), is_own=False)

    def _resident(self) -> DeviceMemory:
        total = read_or_none(lambda: int(psutil.virtual_memory().total))
        return DeviceMemory("process memory", self.process_bytes(), total)


_NOT_YET = object()


def _allocated(torch: Any, place: int) -> int | None:
    return read_or_none(lambda: int(torch.cuda.memory_allocated(place))) if torch else None


def _reserved(torch: Any, place: int) -> int | None:
    return read_or_none(lambda: int(torch.cuda.memory_reserved(place))) if torch else None


def _cuda_uuids(torch: Any) -> list[str] | None:
    """UUIDs in CUDA's own order, exact whatever the environment says; None while CUDA is not running."""
    if not torch:
        return None
    return read_or_none(
        lambda: [str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())]
    )
