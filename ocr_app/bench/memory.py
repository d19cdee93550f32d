"""Peak KV memory by number of pages, sparse beside full, at the published shape: `python -m ocr_app bench
memory`.

Bytes are those of the pool's tensors, asked of the tensors, with a decode step at every count to see that the
pages can be read. One page of random KV is written again and again. The pool is whole at every moment; what
of it is written is said: all layers of the first `--whole-pages` pages, the first layer of those after,
because 3,600 pages of the published shape are 1.7 TB. Full attention is allocated as long as it fits
`--full-limit-gb`, and computed past that, marked so.
"""

import argparse
from dataclasses import dataclass, replace
from typing import Any

import torch

from ocr_app.bench.environment import RESULTS, command, markdown_table, print_result
from ocr_app.bench.kv_error import error_table
from ocr_app.bench.kv_runs import (
    KVPage,
    add_document,
    add_run_options,
    open_engine,
    start_run,
    step,
    write_pages,
)
from ocr_app.bench.kv_shapes import (
    GB,
    PUBLISHED_PAGE_TOKENS,
    PUBLISHED_SHAPE,
    PUBLISHED_SPARSE_BYTES,
    KVShape,
    gigabytes,
)
from ocr_app.bench.planner import largest_cap, plan
from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.protocol import KVSpec

COLUMNS = (
    "mode",
    "KV dtype",
    "cap in blocks",
    "pages",
    "peak pool GB",
    "of it keys and values GB",
    "tokens read a step",
    "by",
)
ERROR_COLUMNS = ("keys", "KV dtype", "relative error of attention output", "greatest")


@dataclass(frozen=True, slots=True)
class Reading:
    """The pool when so many pages were read. `pool_bytes` never shrinks, so it is the peak so far."""

    num_pages: int
    pool_bytes: int
    kv_bytes: int
    device_bytes: int | None  # torch's own count of the device, None on a CPU
    attended_tokens: int | None


def main(argv: list[str]) -> int:
    options = _parse(argv)
    device = start_run(options)
    rows, readings = [], {}
    for name, shape, config in _variants(options):
        readings[name] = measure_sparse(options, shape, config)
        rows += [_sparse_row(shape, config, reading) for reading in readings[name]]
    full = [reading for shape in _shapes(options) for reading in measure_full(options, shape)]
    rows += [_full_row(reading) for reading in full]
    print(markdown_table(COLUMNS, rows), end="\n\n")
    errors = error_table(_spec(options, options.dtypes[0]), options.seed, options.weights)
    print(markdown_table(ERROR_COLUMNS, errors))
    result = {
        "command": command("memory", argv),
        "device": device,
        "settings": {name: value for name, value in vars(options).items() if name != "save"},
        "written": f"all layers of pages 1 to {options.whole_pages}, "
        f"the first of {options.layers} layers of later pages",
        "growth": {
            name: round(each[-1].pool_bytes / at_hundred(each).pool_bytes, 4)
            for name, each in readings.items()
        },
        "device_bytes": {name: [reading.device_bytes for reading in each] for name, each in readings.items()},
        "full": full,
        "tables": {
            "memory": {"columns": COLUMNS, "rows": rows},
            "memory-error": {"columns": ERROR_COLUMNS, "rows": errors},
        },
    }
    print_result("memory", result, RESULTS / "memory.json" if options.save else None)
    return 0


def measure_sparse(options: argparse.Namespace, shape: KVShape, config: SparsityConfig) -> list[Reading]:
    """Read up to the greatest number of pages in one document; look at the pool at every count asked for."""
    spec = _spec(options, shape.dtype)
    page = KVPage.random(spec, options.tokens_per_page, device=options.device, seed=options.seed)
    readings, start = [], 0
    with open_engine(spec, config, dtype=shape.dtype, device=options.device) as engine:
        sequence = add_document(engine)
        for num_pages in sorted(options.pages):
            write_pages(engine, sequence, page, start, min(num_pages, options.whole_pages))
            write_pages(engine, sequence, page, max(start, options.whole_pages), num_pages, num_layers=1)
            start = num_pages
            step(engine, [sequence])
            engine.check_integrity()
            readings.append(_reading(engine, num_pages, options.device))
    return readings


def measure_full(options: argparse.Namespace, shape: KVShape) -> list[dict[str, Any]]:
    """Full attention at every count, and at the most pages that fit the limit: allocated up to it, computed
    past it.
    """
    limit_bytes = int(options.full_limit_gb * GB)
    fitting = plan(shape, SparsityConfig(), options.tokens_per_page, 1, 1, limit_bytes)[0].pages_that_fit or 0
    counts = sorted({*options.pages, min(fitting, max(options.pages))} - {0})
    return [
        _full_reading(options, shape, num_pages, is_measured=num_pages <= fitting) for num_pages in counts
    ]


def _full_reading(
    options: argparse.Namespace, shape: KVShape, num_pages: int, *, is_measured: bool
) -> dict[str, Any]:
    config = SparsityConfig()
    computed = plan(shape, config, options.tokens_per_page, num_pages, 0, 0)[0]
    reading = {
        "dtype": shape.dtype,
        "pages": num_pages,
        "kv_bytes": computed.kv_bytes,
        "pool_bytes": computed.pool_bytes,
        "is": "computed",
    }
    if not is_measured:
        return reading
    spec = _spec(options, shape.dtype)
    page = KVPage.random(spec, options.tokens_per_page, device=options.device, seed=options.seed)
    capacity = computed.pool_bytes // shape.bytes_per_block(
        config.block_size
    )  # one block more, for the token of the step
    with open_engine(
        spec, config, mode="full", dtype=shape.dtype, device=options.device, capacity_blocks=capacity
    ) as engine:
        sequence = write_pages(engine, add_document(engine), page, 0, num_pages)
        step(engine, [sequence])
        return {
            **reading,
            "pool_bytes": engine.store.nbytes,
            "is": "measured",
            "tokens": engine.counters().attended_tokens,
        }


def at_hundred(readings: list[Reading]) -> Reading:
    """The reading at 100 pages, or at the count nearest to it."""
    return min(readings, key=lambda reading: abs(reading.num_pages - 100))


def _reading(engine: Engine, num_pages: int, device: str) -> Reading:
    store = engine.store
    kv_tensors = [*store.keys, *store.values, *store.key_scales, *store.value_scales]
    return Reading(
        num_pages,
        store.nbytes,
        sum(tensor.nbytes for tensor in kv_tensors),
        torch.cuda.memory_allocated() if device == "cuda" else None,
        engine.counters().attended_tokens,
    )


def _variants(options: argparse.Namespace) -> list[tuple[str, KVShape, SparsityConfig]]:
    """The default settings in every dtype, and in the first one the cap that keeps the whole pool under
    `--cap-gb`.
    """
    default = SparsityConfig()
    shapes = _shapes(options)
    variants = [(shape.dtype, shape, default) for shape in shapes]
    if options.cap_gb:
        cap = largest_cap(shapes[0], default.block_size, int(options.cap_gb * GB))
        variants.insert(
            1, (f"{shapes[0].dtype} capped", shapes[0], replace(default, max_resident_blocks=cap))
        )
    return variants


def _shapes(options: argparse.Namespace) -> list[KVShape]:
    return [KVShape(options.layers, options.kv_heads, options.head_dim, dtype) for dtype in options.dtypes]


def _spec(options: argparse.Namespace, dtype: str) -> KVSpec:
    """int8 is a way to store: keys and values are made in 16 bit and quantised when they are written."""
    made_in = torch.float16 if dtype == "int8" else getattr(torch, dtype)
    return KVSpec(options.layers, options.kv_heads, options.kv_heads, options.head_dim, made_in)


def _sparse_row(shape: KVShape, config: SparsityConfig, reading: Reading) -> list[Any]:
    cap = config.max_resident_blocks or "automatic"
    sizes = [gigabytes(reading.pool_bytes, 3), gigabytes(reading.kv_bytes, 3)]
    return ["sparse", shape.dtype, cap, reading.num_pages, *sizes, reading.attended_tokens, "measured"]


def _full_row(reading: dict[str, Any]) -> list[Any]:
    sizes = [gigabytes(reading["pool_bytes"], 3), gigabytes(reading["kv_bytes"], 3)]
    return ["full", reading["dtype"], "none", reading["pages"], *sizes, reading.get("tokens"), reading["is"]]


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ocr_app bench memory", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--pages",
        type=lambda text: [int(part) for part in text.split(",")],
        default=[20, 64, 100, 400, 1000, 3600],
        metavar="N,...",
    )
    parser.add_argument(
        "--dtypes",
        type=lambda text: text.split(","),
        default=["float16", "int8"],
        metavar="NAME,...",
        help="of the KV cache",
    )
    parser.add_argument("--tokens-per-page", type=int, default=PUBLISHED_PAGE_TOKENS)
    parser.add_argument("--layers", type=int, default=PUBLISHED_SHAPE.num_layers)
    parser.add_argument("--kv-heads", type=int, default=PUBLISHED_SHAPE.num_kv_heads)
    parser.add_argument("--head-dim", type=int, default=PUBLISHED_SHAPE.head_dim)
    parser.add_argument(
        "--whole-pages", type=int, default=32, help="pages written in all layers (default: 32)"
    )
    parser.add_argument(
        "--full-limit-gb", type=float, default=6.0, help="allocate full attention up to this (default: 6)"
    )
    parser.add_argument(
        "--cap-gb",
        type=float,
        default=PUBLISHED_SPARSE_BYTES / GB,
        help="also run with the whole pool under this; 0: do not",
    )
    parser.add_argument(
        "--weights",
        metavar="FILE",
        help="of the reader whose keys are quantised; the shipped ones by default",
    )
    add_run_options(parser)
    return parser.parse_args(argv)
