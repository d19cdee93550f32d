"""Memory of the machine and of this process. Every field can fail alone and is then None, never 0; the next
reading tries again.
"""

import os
import sys
from collections.abc import Mapping
from typing import Any

import psutil

from ocr_app.telemetry.nvml import Gpu, open_nvml, read_or_none, visible_gpus
from ocr_app.types import DeviceMemory


class MemoryProbe:
    """Reads memory of the visible GPUs and of this process. Open it, read it as often as wanted, close it."""

    def __init__(self, nvml: Any = None, torch: Any = None, environ: Mapping[str, str] = os.environ) -> None:
        self._nvml = open_nvml(nvml)
        self._given_torch = torch
        self._environ = environ
        self._gpus: list[Gpu] | None = (
            None  # resolved at the first reading, when a model on the GPU has been loaded
        )

    def devices(self) -> tuple[DeviceMemory, ...]:
        """Memory of every visible GPU; of this process, labelled so, where there is none."""
        return self._nvml_devices() or self._torch_devices() or (self._process_memory(),)

    def process_bytes(self) -> int | None:
        """Resident memory of this process."""
        return read_or_none(lambda: int(psutil.Process().memory_info().rss))

    def close(self) -> None:
        if self._nvml is not None:
            read_or_none(self._nvml.nvmlShutdown)
            self._nvml = None

    def _nvml_devices(self) -> tuple[DeviceMemory, ...]:
        if self._nvml is None:
            return ()
        if not self._gpus:
            self._gpus = visible_gpus(self._nvml, self._environ, _cuda_uuids(self._torch))
        return tuple(self._read(position, gpu) for position, gpu in enumerate(self._gpus))

    def _read(self, position: int, gpu: Gpu) -> DeviceMemory:
        memory = read_or_none(lambda: self._nvml.nvmlDeviceGetMemoryInfo(gpu.handle))
        if (
            memory is None
        ):  # not supported where CPU and GPU share memory, or the GPU is lost: CUDA may still know
            return _torch_memory(self._torch, position, gpu.label)
        return DeviceMemory(gpu.label, int(memory.used), int(memory.total))

    @property
    def _torch(self) -> Any:
        """torch with CUDA running, or None. It is never imported for the sake of a counter."""
        torch = self._given_torch or sys.modules.get("torch")
        return torch if torch is not None and read_or_none(torch.cuda.is_initialized) else None

    def _torch_devices(self) -> tuple[DeviceMemory, ...]:
        torch = self._torch
        count = read_or_none(torch.cuda.device_count) if torch else None
        return tuple(_torch_memory(torch, i, f"GPU {i}") for i in range(count or 0))

    def _process_memory(self) -> DeviceMemory:
        total = read_or_none(lambda: int(psutil.virtual_memory().total))
        return DeviceMemory("process memory (no GPU)", self.process_bytes(), total)


def _torch_memory(torch: Any, index: int, label: str) -> DeviceMemory:
    memory = read_or_none(lambda: torch.cuda.mem_get_info(index)) if torch else None
    if memory is None:
        return DeviceMemory(label, None, None)
    free, total = memory
    return DeviceMemory(label, int(total - free), int(total))


def _cuda_uuids(torch: Any) -> list[str] | None:
    """UUIDs in CUDA's own order, exact whatever the environment says; None while CUDA is not running."""
    if not torch:
        return None
    return read_or_none(
        lambda: [str(torch.cuda.get_device_properties(i).uuid) for i in range(torch.cuda.device_count())]
    )
