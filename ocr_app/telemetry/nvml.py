"""Which GPUs CUDA sees, as NVML handles. NVML is asked by UUID, because CUDA counts devices in another order
than NVML and only among those that CUDA_VISIBLE_DEVICES names.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

logger = logging.getLogger(__name__)

T = TypeVar("T")


def read_or_none(read: Callable[[], T]) -> T | None:
    """One counter, or None where it cannot be read: drivers raise anything from NVMLError to OSError."""
    try:
        return read()
    except Exception as error:
        logger.debug("a counter could not be read: %s", error)
        return None


def open_nvml(nvml: Any) -> Any:
    """An initialised NVML module, or None on a machine without NVIDIA's library or driver."""
    if nvml is None:
        import pynvml as nvml
    try:
        nvml.nvmlInit()
    except Exception as error:
        logger.debug("no NVML: %s", error)
        return None
    return nvml


@dataclass(frozen=True, slots=True)
class Gpu:
    """One device or MIG slice that CUDA can see."""

    handle: Any
    label: str


def process_bytes_on(nvml: Any, gpu: Gpu, pid: int) -> int | None:
    """Bytes of the GPU that the driver counts for a process: 0 where it is not listed, None where the driver
    cannot tell. In a container the driver may know its processes by other numbers.
    """
    processes = read_or_none(lambda: nvml.nvmlDeviceGetComputeRunningProcesses(gpu.handle))
    if processes is None:
        return None
    used = [process.usedGpuMemory for process in processes if process.pid == pid]
    return None if None in used else sum(used)


def visible_gpus(nvml: Any, environ: Mapping[str, str], cuda_uuids: list[str] | None) -> list[Gpu]:
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
        Gpu(handle, _label(nvml, i, handle)) for i, handle in enumerate(h for h in wanted if h is not None)
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
    for index in range(read_or_none(nvml.nvmlDeviceGetCount) or 0):
        handle = read_or_none(lambda index=index: nvml.nvmlDeviceGetHandleByIndex(index))
        if handle is not None:
            yield handle


def _mig_handles(nvml: Any, handle: Any) -> Iterator[Any]:
    """The MIG slices of a device; none where MIG is off or unknown to the driver."""
    mode = read_or_none(lambda: nvml.nvmlDeviceGetMigMode(handle))
    if not mode or not mode[0]:
        return
    for index in range(read_or_none(lambda: nvml.nvmlDeviceGetMaxMigDeviceCount(handle)) or 0):
        mig = read_or_none(lambda index=index: nvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, index))
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
            uuid = read_or_none(lambda candidate=candidate: _text(nvml.nvmlDeviceGetUUID(candidate)))
            if bare and uuid and _bare_uuid(uuid).startswith(bare):
                return candidate
    return None


def _bare_uuid(uuid: str) -> str:
    return uuid.removeprefix("GPU-").removeprefix("MIG-").lower()


def _label(nvml: Any, position: int, handle: Any) -> str:
    name = read_or_none(lambda: _text(nvml.nvmlDeviceGetName(handle)))
    return f"GPU {position} ({name})" if name else f"GPU {position}"


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value
