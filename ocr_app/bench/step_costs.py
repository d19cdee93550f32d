"""What a decode step costs at least, and where its time goes. Knows torch's operator names; knows nothing of
pages.
"""

from collections import Counter
from collections.abc import Callable
from time import perf_counter

import torch
from torch.profiler import ProfilerActivity, profile

from ocr_app.decoder.engine import Engine
from ocr_app.decoder.sequence import Sequence

PARTS = {  # the first part with a word in the operator's name takes it
    "attention": ("scaled_dot_product", "flash_attention", "fmha"),
    "gather": ("index_select", "indexselect"),
    "projections": ("aten::mm", "aten::addmm", "aten::linear", "gemm", "gemv"),
    "routing": ("aten::topk", "aten::sort", "aten::scatter", "aten::gather", "aten::bmm", "aten::cumsum"),
}
REST = "other operators"
PYTHON = "Python and waiting"


def bytes_read(engine: Engine, sequences: list[Sequence]) -> tuple[int, int]:
    """Bytes one step must read at least: weights, and the blocks that hold the tokens it attended."""
    model = engine.model
    weights = [*model.qkv, *model.out, *model.up, *model.down, model.embedding]
    tokens = sum(engine.counters(sequence).attended_tokens or 0 for sequence in sequences)
    return sum(tensor.nbytes for tensor in weights), tokens * engine.store.bytes_per_slot


def shares(work: Callable[[], object], device: str, *, num_steps: int = 5) -> dict[str, float]:
    """Share of the time by part, by torch's profiler: operators by their own time, the rest of the clock is
    Python.
    """
    work()
    activities = [ProfilerActivity.CPU] + ([ProfilerActivity.CUDA] if device == "cuda" else [])
    with profile(activities=activities) as profiler:
        start = perf_counter()
        for _ in range(num_steps):
            work()
        if device == "cuda":
            torch.cuda.synchronize()
        wall_us = (perf_counter() - start) * 1e6
    times: Counter[str] = Counter()
    for entry in profiler.key_averages():
        times[_part_of(entry.key)] += (
            entry.self_device_time_total if device == "cuda" else entry.self_cpu_time_total
        )
    times[PYTHON] = max(wall_us - times.total(), 0)
    return {part: round(times[part] / times.total(), 3) for part in (*PARTS, REST, PYTHON)}


def _part_of(operator: str) -> str:
    return next(
        (part for part, words in PARTS.items() if any(word in operator.lower() for word in words)), REST
    )
