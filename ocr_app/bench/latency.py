"""Time of a decode step deep into a document over that at its start, sparse beside full: `python -m ocr_app
bench latency`.

Documents at the first two page counts and at the last are read in turn, so that other load on the machine
falls on all of them. Full attention is measured as far as memory allows, in turn with the same sparse
document. Beside each time stands the least a step could take: the bytes it must read over the measured rate
of copying. Weights are random; a step's time does not depend on what it reads.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from typing import Any

import torch

from ocr_app.bench.environment import RESULTS, command, markdown_table, print_result
from ocr_app.bench.kv_runs import (
    KVPage,
    Timing,
    add_document,
    add_run_options,
    copy_bytes_per_s,
    load_average,
    medians_in_turn,
    open_engine,
    start_run,
    step,
    write_pages,
)
from ocr_app.bench.kv_shapes import GB, KVShape
from ocr_app.bench.planner import plan
from ocr_app.bench.step_costs import bytes_read, shares
from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.protocol import KVSpec
from ocr_app.decoder.sequence import Sequence

COLUMNS = (
    "shape",
    "mode",
    "page",
    "step ms",
    "processor ms",
    "processor, over the first",
    "tokens read",
    "MB read",
    "least ms",
)
BAR = 1.05


@dataclass(frozen=True, slots=True)
class Shape:
    """A decoder to time: the published KV heads with fewer layers, or the shape of our reader."""

    layers: int
    query_heads: int
    kv_heads: int
    head_dim: int
    width: int
    tokens_per_page: int


SHAPES = {
    "published heads, 8 layers": Shape(
        layers=8, query_heads=32, kv_heads=8, head_dim=128, width=1024, tokens_per_page=3586
    ),
    "reader": Shape(layers=4, query_heads=4, kv_heads=4, head_dim=48, width=192, tokens_per_page=600),
    "tiny": Shape(layers=2, query_heads=4, kv_heads=2, head_dim=8, width=32, tokens_per_page=40),
}


@dataclass(frozen=True, slots=True)
class StepTime:
    """One mode at one page: the median step, beside what it must read."""

    mode: str
    num_pages: int
    time: Timing
    tokens: int
    weight_bytes: int
    kv_bytes: int

    @property
    def num_bytes(self) -> int:
        return self.weight_bytes + self.kv_bytes


def main(argv: list[str]) -> int:
    options = _parse(argv)
    device = start_run(options)
    copy_rate = copy_bytes_per_s(options.device, options.copy_mb * 10**6)
    print(f"copying: {copy_rate / GB:.1f} GB/s read and written ({device})\n")
    runs = {name: measure(options, SHAPES[name]) for name in options.shapes}
    rows = [_row(name, each, run["steps"], copy_rate) for name, run in runs.items() for each in run["steps"]]
    print(markdown_table(COLUMNS, rows), end="\n\n")
    parts = [
        [name, mode, *(f"{100 * share:.0f}" for share in split.values())]
        for name, run in runs.items()
        for mode, split in run["parts"].items()
    ]
    part_columns = (
        "shape",
        "mode",
        *(f"{part} %" for part in next(iter(next(iter(runs.values()))["parts"].values()))),
    )
    print(markdown_table(part_columns, parts))
    result = {
        "command": command("latency", argv),
        "device": device,
        "settings": {name: value for name, value in vars(options).items() if name != "save"},
        "shapes": {name: asdict(SHAPES[name]) for name in options.shapes},
        "load_average": load_average(),
        "copy_gb_per_s": round(copy_rate / GB, 2),
        "bar": BAR,
        "last_over_first": {name: _last_over_first(run["steps"]) for name, run in runs.items()},
        "tables": {
            "latency": {"columns": COLUMNS, "rows": rows},
            "latency-parts": {"columns": part_columns, "rows": parts},
        },
    }
    print_result("latency", result, RESULTS / "latency.json" if options.save else None)
    return 0


def measure(options: argparse.Namespace, shape: Shape) -> dict[str, Any]:
    """Sparse at the first two counts and the last in turn, then full at every count that fits, in turn with
    the last of them.
    """
    spec = KVSpec(
        shape.layers, shape.query_heads, shape.kv_heads, shape.head_dim, getattr(torch, options.dtype)
    )
    page = KVPage.random(spec, shape.tokens_per_page, device=options.device, seed=options.seed)
    counts = sorted(options.pages)
    with ExitStack() as stack:
        sparse = [
            _sparse_document(stack, options, spec, shape, page, count)
            for count in sorted({*counts[:2], counts[-1]})
        ]
        times = medians_in_turn(
            [_stepper(*document) for document in sparse], options.rounds, options.device, warm_up=4
        )
        steps = [_step_time("sparse", time, *document) for time, document in zip(times, sparse, strict=True)]
        deepest = _stepper(*sparse[-1])
        parts = {"sparse": shares(deepest, options.device)}
        for engine, sequence in _full_documents(options, spec, shape, page):
            full = _stepper(engine, sequence)
            time, _ = medians_in_turn([full, deepest], options.full_rounds, options.device, warm_up=1)
            steps.append(_step_time("full", time, engine, sequence))
            parts["full"] = shares(full, options.device, num_steps=2)
    return {"steps": steps, "parts": parts}


def _full_documents(
    options: argparse.Namespace, spec: KVSpec, shape: Shape, page: KVPage
) -> Iterator[tuple[Engine, Sequence]]:
    """One document in full mode, longer each time, as long as its pool and the buffers of a step fit the
    limit.
    """
    kv_shape = KVShape(shape.layers, shape.kv_heads, shape.head_dim, options.dtype)
    limit_bytes = int(
        options.full_limit_gb * GB * shape.layers / (shape.layers + 1)
    )  # a step copies one layer together
    fitting = (
        plan(kv_shape, SparsityConfig(), shape.tokens_per_page, 1, 0, limit_bytes)[0].pages_that_fit or 0
    )
    counts = [count for count in sorted(options.pages) if count <= fitting]
    if not counts:
        return
    num_blocks = plan(kv_shape, SparsityConfig(), shape.tokens_per_page, counts[-1], options.rounds, 0)[
        0
    ].pool_bytes // kv_shape.bytes_per_block(32)
    with _engine(options, spec, shape, mode="full", capacity_blocks=num_blocks + 8) as engine:
        sequence, start = add_document(engine), 0
        for count in counts:
            write_pages(engine, sequence, page, start, count)
            start = count
            yield engine, sequence


def _engine(
    options: argparse.Namespace,
    spec: KVSpec,
    shape: Shape,
    *,
    mode: str = "sparse",
    capacity_blocks: int | None = None,
) -> Engine:
    return open_engine(
        spec,
        SparsityConfig(),
        mode=mode,
        device=options.device,
        width=shape.width,
        capacity_blocks=capacity_blocks,
        seed=options.seed,
    )


def _sparse_document(
    stack: ExitStack, options: argparse.Namespace, spec: KVSpec, shape: Shape, page: KVPage, num_pages: int
) -> tuple[Engine, Sequence]:
    """A document at that page. All pages come and go; only those that can still be resident are written in
    all layers.
    """
    engine = stack.enter_context(_engine(options, spec, shape))
    whole_from = max(num_pages - engine.sparsity.page_window - engine.sparsity.chunk_pages, 0)
    sequence = write_pages(engine, add_document(engine), page, 0, whole_from, num_layers=1)
    return engine, write_pages(engine, sequence, page, whole_from, num_pages)


def _stepper(engine: Engine, sequence: Sequence) -> Callable[[], None]:
    return lambda: step(engine, [sequence])


def _step_time(mode: str, time: Timing, engine: Engine, sequence: Sequence) -> StepTime:
    weight_bytes, kv_bytes = bytes_read(engine, [sequence])
    return StepTime(
        mode,
        len(sequence.page_tokens),
        time,
        engine.counters(sequence).attended_tokens or 0,
        weight_bytes,
        kv_bytes,
    )


def _last_over_first(steps: list[StepTime]) -> dict[str, float]:
    first, *_, last = (each.time for each in steps if each.mode == "sparse")
    return {"wall": round(last.wall_s / first.wall_s, 3), "processor": round(last.cpu_s / first.cpu_s, 3)}


def _row(name: str, each: StepTime, steps: list[StepTime], copy_rate: float) -> list[Any]:
    first = next(other for other in steps if other.mode == each.mode)
    return [
        name,
        each.mode,
        each.num_pages,
        f"{1e3 * each.time.wall_s:.2f}",
        f"{1e3 * each.time.cpu_s:.2f}",
        f"{each.time.cpu_s / first.time.cpu_s:.2f}",
        each.tokens,
        f"{each.num_bytes / 1e6:.0f}",
        f"{1e3 * each.num_bytes / copy_rate:.2f}",
    ]


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ocr_app bench latency", description=__doc__.split("\n")[0]
    )
    counts = [5, 20, 50, 100, 200, 1000]
    parser.add_argument(
        "--pages", type=lambda text: [int(part) for part in text.split(",")], default=counts, metavar="N,..."
    )
    parser.add_argument(
        "--shapes",
        type=lambda text: text.split(","),
        default=[name for name in SHAPES if name != "tiny"],
        metavar="NAME,...",
    )
    parser.add_argument("--rounds", type=int, default=31, help="steps of each sparse document (default: 31)")
    parser.add_argument(
        "--full-rounds", type=int, default=7, help="steps of full attention at each count (default: 7)"
    )
    parser.add_argument(
        "--full-limit-gb",
        type=float,
        default=6.0,
        help="memory for full attention, in 10^9 bytes (default: 6)",
    )
    parser.add_argument(
        "--copy-mb",
        type=int,
        default=256,
        help="buffer for the rate of copying, more than the caches hold (default: 256)",
    )
    parser.add_argument("--dtype", default="float32", choices=("float32", "float16", "bfloat16"))
    add_run_options(parser)
    return parser.parse_args(argv)
