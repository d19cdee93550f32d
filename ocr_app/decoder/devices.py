"""Where tensors live: the device a setting names, if this machine has it."""

import torch

from ocr_app.errors import BackendUnavailableError, ConfigError

KINDS = ("cpu", "cuda")


def resolve_device(name: str) -> torch.device:
    """The device of that name: `cpu`, `cuda` or `cuda:1`. Raises ConfigError for a name that means nothing,
    BackendUnavailableError for a device that this machine or this build of PyTorch lacks.
    """
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in KINDS or (device.type == "cpu" and device.index):
        raise ConfigError(f"device is {name!r}; it must be cpu, cuda, or cuda: and a number.")
    if device.type == "cuda":
        _require_cuda(name, device.index or 0)
    return device


def _require_cuda(name: str, index: int) -> None:
    if torch.version.cuda is None and torch.version.hip is None:
        raise BackendUnavailableError(
            f"Device {name!r} was asked for and PyTorch {torch.__version__} is built without CUDA. "
            "Install a CUDA build of it, or set device to cpu."
        )
    if index >= torch.cuda.device_count():
        raise BackendUnavailableError(
            f"Device {name!r} was asked for and CUDA sees {torch.cuda.device_count()} devices here. "
            "Check the driver and CUDA_VISIBLE_DEVICES, or set device to cpu."
        )
