"""Tokens per second of many documents read at once, sparse over full and batched over alone: `python -m
ocr_app bench throughput`.

Every document is read at its last page, with all its pages as reference. The shape is scaled down so that
full attention over all of them fits in memory; the published shape would need 752 GB. Beside ours stands what
a user would pick instead: `generate` of transformers on a Llama-style decoder of the same shape, over as many
cached tokens, with a DynamicCache, which copies all of it every step, and with a StaticCache, which
does not and is the one to beat. Weights and cached KV are random.

The sweep does the same over documents of several lengths: short ones are read whole by sparse as well, and
only from some length on does it win.
"""

import argparse
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any

import torch

from ocr_app.bench.environment import RESULTS, command, markdown_table, print_result
from ocr_app.bench.kv_runs import (
    TOKEN,
    KVPage,
    Timing,
    add_document,
    add_run_options,
    load_average,
    medians_in_turn,
    open_engine,
    start_run,
    step,
    timed,
    write_pages,
)
from ocr_app.bench.kv_shapes import KVShape, gigabytes
from ocr_app.bench.planner import plan
from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.protocol import KVSpec

if TYPE_CHECKING:
    from transformers import Cache, LlamaConfig, LlamaForCausalLM

COLUMNS = (
    "what",
    "documents",
    "step ms",
    "tokens/s",
    "tokens per processor second",
    "tokens read a document",
    "KV GB",
)
BAR = 3.65
CACHES = ("DynamicCache", "StaticCache")
VOCABULARY = 64


@dataclass(frozen=True, slots=True)
class Rate:
    """Steps of one batch. `kv_bytes` is what is allocated for it."""

    name: str
    num_documents: int
    time: Timing
    tokens_read: int | None
    kv_bytes: int | None

    @property
    def tokens_per_s(self) -> float:
        return self.num_documents / self.time.wall_s

    @property
    def tokens_per_cpu_s(self) -> float:
        return self.num_documents / self.time.cpu_s


def main(argv: list[str]) -> int:
    options = _parse(argv)
    device = start_run(options)
    rates = measure_ours(options)
    baselines = [rate for cache in CACHES if (rate := measure_transformers(options, cache))]
    rates += baselines
    sweep = measure_sweep(options)
    table = {"columns": COLUMNS, "rows": [_row(rate) for rate in rates]}
    print(markdown_table(**table), end="\n\n")
    lengths = {"columns": sweep_columns(baselines), "rows": [sweep_row(*one) for one in sweep]}
    print(markdown_table(**lengths))
    sparse, alone, full = rates[:3]
    result = {
        "command": command("throughput", argv),
        "device": device,
        "settings": {name: value for name, value in vars(options).items() if name != "save"},
        "load_average": load_average(),
        "sparse_over_full": _ratio(sparse, full),
        "bar": BAR,
        "batched_over_alone": _ratio(sparse, alone),
        "sparse_over_transformers": {rate.name: _ratio(sparse, rate) for rate in baselines} or "not measured",
        "transformers": _transformers_version(),
        "rates": [asdict(rate) for rate in rates],
        "sweep": [{"tokens": tokens, "rates": [asdict(rate) for rate in one]} for tokens, one in sweep],
        "tables": {"throughput": table, "throughput-length": lengths},
    }
    print_result("throughput", result, RESULTS / "throughput.json" if options.save else None)
    return 0


def measure_ours(options: argparse.Namespace) -> list[Rate]:
    """Sparse, sparse with one document, and full: steps in turn."""
    spec = KVSpec(
        options.layers, options.heads, options.kv_heads, options.head_dim, getattr(torch, options.dtype)
    )
    with (
        _engine(options, spec, "sparse") as many,
        _engine(options, spec, "sparse") as one,
        _engine(options, spec, "full") as full,
    ):
        counts = (options.documents, 1, options.documents)
        batches = [
            _documents(engine, options, count)
            for engine, count in zip((many, one, full), counts, strict=True)
        ]
        pairs = list(zip((many, one, full), batches, strict=True))
        works = [lambda engine=engine, batch=batch: step(engine, batch) for engine, batch in pairs]
        times = medians_in_turn(works, options.rounds, options.device)
        names = ("sparse", "sparse, alone", "full")
        return [
            _rate(name, engine, time) for name, (engine, _), time in zip(names, pairs, times, strict=True)
        ]


def measure_sweep(options: argparse.Namespace) -> list[tuple[int, list[Rate]]]:
    """Cached tokens of a document, and the rates of all, for every number of pages in the sweep."""
    found = []
    for num_pages in options.sweep:
        shorter = argparse.Namespace(**{**vars(options), "pages": num_pages})
        rates = measure_ours(shorter)
        rates += [rate for cache in CACHES if (rate := measure_transformers(shorter, cache))]
        found.append((num_pages * options.tokens_per_page, rates))
    return found


def sweep_columns(baselines: list[Rate]) -> list[str]:
    names = [f"{rate.name}, tokens/s" for rate in baselines]
    return ["tokens a document", "sparse, tokens/s", "full, tokens/s", *names, "sparse over the best other"]


def sweep_row(num_tokens: int, rates: list[Rate]) -> list[Any]:
    """Tokens per second of each batch, and sparse over the fastest of the others that read all."""
    sparse, _, *others = rates
    best = max(others, key=lambda rate: rate.tokens_per_s)
    speeds = [f"{rate.tokens_per_s:.1f}" for rate in (sparse, *others)]
    return [num_tokens, *speeds, f"{sparse.tokens_per_s / best.tokens_per_s:.2f}"]


def measure_transformers(options: argparse.Namespace, kind: str) -> Rate | None:
    """`generate` over as many cached tokens with this kind of cache; None where transformers is not
    installed.
    """
    try:
        import transformers
    except ImportError:
        return None
    transformers.logging.set_verbosity_error()
    model = _llama(options)
    cache = _filled_cache(options, model.config, kind)
    num_tokens = options.pages * options.tokens_per_page
    ids = torch.full((options.documents, num_tokens + 1), TOKEN, device=options.device)

    def generate(num_new: int) -> None:
        nonlocal ids
        mask = torch.ones_like(ids)
        ids = model.generate(
            ids,
            attention_mask=mask,
            cache=cache,
            max_new_tokens=num_new,
            min_new_tokens=num_new,
            do_sample=False,
        )

    with torch.inference_mode():
        generate(1)  # warm-up
        total = timed(lambda: generate(options.rounds), options.device)
    time = Timing(total.wall_s / options.rounds, total.cpu_s / options.rounds)
    kv_bytes = sum(layer.keys.nbytes + layer.values.nbytes for layer in cache.layers)
    tokens_read = int(cache.get_seq_length())
    return Rate(f"transformers generate, {kind}", options.documents, time, tokens_read, kv_bytes)


def _llama(options: argparse.Namespace) -> "LlamaForCausalLM":
    """The toy's shape: the MLP of Llama has three matrices where the toy's has two, so it is two thirds as
    wide.
    """
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(options.seed)
    width = options.heads * options.head_dim
    config = LlamaConfig(
        vocab_size=VOCABULARY,
        hidden_size=width,
        intermediate_size=width * 4 // 3,
        num_hidden_layers=options.layers,
        num_attention_heads=options.heads,
        num_key_value_heads=options.kv_heads,
        head_dim=options.head_dim,
        max_position_embeddings=2 * options.pages * options.tokens_per_page + 1024,
        bos_token_id=0,
        eos_token_id=None,
        pad_token_id=0,
    )
    return LlamaForCausalLM(config).to(options.device, getattr(torch, options.dtype)).eval()


def _filled_cache(options: argparse.Namespace, config: "LlamaConfig", kind: str) -> "Cache":
    """A cache that holds every page; a static one has room for the steps that are timed, and no more."""
    from transformers import DynamicCache, StaticCache

    num_tokens = options.pages * options.tokens_per_page
    room = num_tokens + options.rounds + 2
    cache = DynamicCache() if kind == "DynamicCache" else StaticCache(config=config, max_cache_len=room)
    shape = (options.documents, options.kv_heads, num_tokens, options.head_dim)
    for layer in range(options.layers):
        keys, values = (
            torch.randn(shape, dtype=getattr(torch, options.dtype), device=options.device) for _ in range(2)
        )
        cache.update(keys, values, layer)
    return cache


def _engine(options: argparse.Namespace, spec: KVSpec, mode: str) -> Engine:
    capacity = None
    if mode == "full":  # the pool of a full engine that grows takes a quarter more than it needs
        shape = KVShape(options.layers, options.kv_heads, options.head_dim, options.dtype)
        one = plan(shape, SparsityConfig(), options.tokens_per_page, options.pages, 0, 0)[0]
        text = 1 + options.rounds // SparsityConfig().block_size + 1
        capacity = options.documents * (
            one.pool_bytes // shape.bytes_per_block(SparsityConfig().block_size) + text
        )
    width = options.heads * options.head_dim
    return open_engine(
        spec,
        SparsityConfig(),
        mode=mode,
        device=options.device,
        width=width,
        capacity_blocks=capacity,
        seed=options.seed,
    )


def _documents(engine: Engine, options: argparse.Namespace, count: int) -> list[Any]:
    page = KVPage.random(engine.spec, options.tokens_per_page, device=options.device, seed=options.seed)
    return [write_pages(engine, add_document(engine), page, 0, options.pages) for _ in range(count)]


def _rate(name: str, engine: Engine, time: Timing) -> Rate:
    counters = engine.counters()
    num_documents = len(engine.sequences)
    return Rate(
        name, num_documents, time, (counters.attended_tokens or 0) // num_documents, engine.store.nbytes
    )


def _ratio(one: Rate, other: Rate) -> dict[str, float]:
    """Tokens per second of one over the other."""
    return {
        "wall": round(one.tokens_per_s / other.tokens_per_s, 2),
        "processor": round(one.tokens_per_cpu_s / other.tokens_per_cpu_s, 2),
    }


def _row(rate: Rate) -> list[Any]:
    speeds = [f"{1e3 * rate.time.wall_s:.1f}", f"{rate.tokens_per_s:.1f}", f"{rate.tokens_per_cpu_s:.1f}"]
    return [rate.name, rate.num_documents, *speeds, rate.tokens_read, gigabytes(rate.kv_bytes)]


def _transformers_version() -> str | None:
    try:
        return version("transformers")
    except PackageNotFoundError:
        return None


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m ocr_app bench throughput", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--documents", type=int, default=16)
    parser.add_argument("--pages", type=int, default=100)
    parser.add_argument(
        "--sweep",
        type=lambda text: [int(part) for part in text.split(",") if part],
        default=[1, 3, 6, 12, 25, 50],
        metavar="PAGES,...",
        help="lengths to compare at as well",
    )
    parser.add_argument("--tokens-per-page", type=int, default=384)
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--heads", type=int, default=8, help="query heads (default: 8)")
    parser.add_argument("--kv-heads", type=int, default=2)
    parser.add_argument("--head-dim", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7, help="steps of each (default: 7)")
    parser.add_argument("--dtype", default="float32", choices=("float32", "float16", "bfloat16"))
    add_run_options(parser)
    return parser.parse_args(argv)
