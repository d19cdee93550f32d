"""What the KV benches share: options, an engine around a toy decoder, pages of random KV, timing. Knows
nothing of what is measured.
"""

import argparse
import os
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from time import perf_counter, process_time
from typing import Self

import torch
from torch import Tensor

from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.protocol import KVSpec
from ocr_app.decoder.sequence import Sequence
from ocr_app.errors import BackendUnavailableError
from ocr_app.models.toy import ToyModel, ToyState

TOKEN = 1  # which token is fed makes no difference to time or memory


@dataclass(frozen=True, slots=True)
class KVPage:
    """Keys and values of one page, (T, Hkv, D). The same page is written again and again: bytes and time do
    not depend on what it holds.
    """

    keys: Tensor
    values: Tensor

    @classmethod
    def random(cls, spec: KVSpec, num_tokens: int, *, device: str = "cpu", seed: int = 0) -> Self:
        random = torch.Generator().manual_seed(seed)
        shape = (num_tokens, spec.num_kv_heads, spec.head_dim)
        keys, values = (torch.randn(shape, generator=random).to(device, spec.dtype) for _ in range(2))
        return cls(keys, values)


def add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--threads", type=int, default=2, help="of torch on the CPU (default: 2)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", action="store_true", help="keep the result in assets/bench")


def start_run(options: argparse.Namespace) -> str:
    """Set threads and check the device; returns its name for the result."""
    torch.set_num_threads(options.threads)
    if options.device == "cpu":
        return f"CPU, {options.threads} threads"
    if not torch.cuda.is_available():
        raise BackendUnavailableError(
            "--device is 'cuda' and this machine has no CUDA device; use --device cpu."
        )
    return torch.cuda.get_device_name()


def open_engine(
    spec: KVSpec,
    sparsity: SparsityConfig,
    *,
    mode: str = "sparse",
    dtype: str | None = None,
    device: str = "cpu",
    width: int = 64,
    capacity_blocks: int | None = None,
    seed: int = 0,
) -> Engine:
    """An engine over a decoder with random weights."""
    model = ToyModel(spec, width=width, seed=seed, device=device)
    return Engine(model, sparsity, mode=mode, dtype=dtype, device=device, capacity_blocks=capacity_blocks)


def add_document(engine: Engine) -> Sequence:
    return engine.add_sequence(ToyState())


def write_pages(
    engine: Engine, sequence: Sequence, page: KVPage, start: int, stop: int, *, num_layers: int | None = None
) -> Sequence:
    """Write pages [start, stop): all of their blocks are taken, and written in the first `num_layers` layers,
    or in all.
    """
    keys, values = ([tensor] * (num_layers or engine.spec.num_layers) for tensor in (page.keys, page.values))
    for page_index in range(start, stop):
        sequence.state.begin_page(page_index)
        engine.write_reference(sequence, page_index, keys, values)
    return sequence


def step(engine: Engine, sequences: list[Sequence]) -> None:
    """One decode step that appends a token to each."""
    engine.decode_step(sequences, [[TOKEN]] * len(sequences))
    for sequence in sequences:
        sequence.state.accept(TOKEN)


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds by the clock, and of all processors: on a busy machine only the second says what the work
    itself takes.
    """

    wall_s: float
    cpu_s: float


def timed(work: Callable[[], object], device: str) -> Timing:
    """Time one call, the device waited for at both ends."""
    _wait(device)
    wall, cpu = perf_counter(), process_time()
    work()
    _wait(device)
    return Timing(perf_counter() - wall, process_time() - cpu)


def medians_in_turn(
    works: list[Callable[[], object]], rounds: int, device: str, *, warm_up: int = 2
) -> list[Timing]:
    """Medians of each, all measured in turn (A B A B ...), so that other load on the machine falls on all of
    them.
    """
    for work in works * warm_up:
        work()
    times = [[timed(work, device) for work in works] for _ in range(rounds)]
    columns = list(zip(*times, strict=True))
    return [
        Timing(median(time.wall_s for time in column), median(time.cpu_s for time in column))
        for column in columns
    ]


def copy_bytes_per_s(device: str, num_bytes: int) -> float:
    """Bytes copied in a second, each read once and written once, by the library, threads and device of the
    steps: the best of seven.
    """
    source = torch.ones(num_bytes // 4, device=device)
    target = torch.empty_like(source)
    return source.nbytes / min(timed(lambda: target.copy_(source), device).wall_s for _ in range(7))


def load_average() -> float | None:
    """Processes that wanted a processor in the last minute: times by the clock mean little when they are more
    than the cores.
    """
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


def _wait(device: str) -> None:
    if device == "cuda":
        torch.cuda.synchronize()
