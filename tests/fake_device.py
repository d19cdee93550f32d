"""A device that this machine lacks, played by the CPU: a tensor left on the CPU fails as it would there.

Inside `FakeDevice("cuda")` every tensor made on or moved to `cuda` computes on the CPU and remembers where it
should be. Mixing it with a tensor of the CPU in one operation raises, but for single numbers and explicit
copies, as on a GPU; so does NumPy reaching into it. Stricter than a GPU in one thing: an index counts as a
tensor like any other.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

MOVES = {"to", "cpu", "cuda"}
# compute nothing
UNPLACED = {"device", "_parse_to", "_has_compatible_shallow_copy_type", "__set__"}
READS = {"numpy", "__array__"}


class FakeDevice(TorchFunctionMode):
    """Plays the device `name` until left. `num_calls` counts the operations that ran on it."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.device = torch.device(name)
        self.num_calls = 0

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        name = getattr(function, "__name__", "")
        owner = getattr(getattr(function, "__self__", None), "__name__", "")
        if name == "__get__" and owner == "device":
            return self.device if self._is_here(args[0]) else torch.device("cpu")
        if name in READS and self._is_here(args[0]):
            raise AssertionError(f"{name} cannot read a tensor on {self.device}")
        if name == "__set__" and owner == "data":  # how a module moves its parameters
            args[0].is_on_fake_device = self._is_here(args[1])
        if name in UNPLACED:
            return function(*args, **kwargs)
        is_here = self._place(name, args, kwargs)
        result = function(*map(self._on_cpu, args), **{key: self._on_cpu(kwargs[key]) for key in kwargs})
        if isinstance(result, Tensor) and name in MOVES and self._is_here(result) != is_here:
            result = result.clone()  # a move between devices never hands back the tensor itself
        for tensor in tensors_in(result):
            tensor.is_on_fake_device = is_here
        self.num_calls += is_here
        return result

    def _place(self, name: str, args: Any, kwargs: dict[str, Any]) -> bool:
        """Whether the result lies on the fake device; raises when the arguments lie on two."""
        asked = [value for value in (*args, *kwargs.values()) if self._names_device(value)]
        if asked:
            return any(torch.device(value) == self.device for value in asked)
        if name == "cpu":
            return False
        if name == "copy_":
            return self._is_here(args[0])
        places = {self._is_here(tensor) for tensor in tensors_in((args, kwargs)) if tensor.dim() > 0}
        assert len(places) < 2, f"{name} mixes tensors on {self.device} and on the CPU"
        return any(self._is_here(tensor) for tensor in tensors_in((args, kwargs)))

    def _names_device(self, value: Any) -> bool:
        return isinstance(value, torch.device | str) and str(value) in ("cpu", str(self.device))

    def _on_cpu(self, value: Any) -> Any:
        return torch.device("cpu") if self._names_device(value) else value

    def _is_here(self, tensor: Tensor) -> bool:
        return getattr(tensor, "is_on_fake_device", False)


def tensors_in(value: Any) -> Iterator[Tensor]:
    """The tensors in nested tuples, lists and dicts."""
    if isinstance(value, Tensor):
        yield value
    elif isinstance(value, dict):
        yield from tensors_in(list(value.values()))
    elif isinstance(value, list | tuple):
        for each in value:
            yield from tensors_in(each)
