"""KV memory before anything is run: bytes of full attention, R-SWA and SR-SWA, and how many pages fit a
memory.

    python -m ocr_app bench planner --memory-gb 24

Two counts, because two are in use. *KV* is keys and values alone, the arithmetic of the published pair (47.00
and 1.77 GB). *Pool* is what the engine's tensors take: whole blocks, the room for the text window, key
summaries, counters and the null block. Integers only; the counts of SR-SWA come from the engine's own
retention rules, run on empty blocks.
"""

import argparse
import itertools
from dataclasses import dataclass, replace
from typing import Any

from ocr_app.bench.environment import RESULTS, command, markdown_table, print_result
from ocr_app.bench.kv_shapes import (
    GB,
    ITEM_BYTES,
    PUBLISHED_NUM_PAGES,
    PUBLISHED_PAGE_TOKENS,
    PUBLISHED_SHAPE,
    PUBLISHED_SPARSE_BYTES,
    KVShape,
    gigabytes,
)
from ocr_app.config import SparsityConfig
from ocr_app.decoder.kv_blocks import BlockRecord, PageBlocks, ceil_div, split_tokens
from ocr_app.decoder.retention import blocks_leaving, blocks_over_room, plan_room, text_reserve_blocks

COLUMNS = ("mode", "KV GB", "pool GB", "pages that fit")


@dataclass(frozen=True, slots=True)
class Plan:
    """What one mode holds at its peak, and how far a memory reaches. `pages_that_fit` None: any number of
    pages.
    """

    mode: str
    kv_bytes: int
    pool_bytes: int
    pages_that_fit: int | None


def main(argv: list[str]) -> int:
    options = _parse(argv)
    shape = KVShape(options.layers, options.kv_heads, options.head_dim, options.dtype)
    config = SparsityConfig(**{name: getattr(options, name) for name in CHUNK_SETTINGS})
    memory_bytes = int(options.memory_gb * GB)
    plans = plan(shape, config, options.tokens_per_page, options.pages, options.output_tokens, memory_bytes)
    table = {"columns": COLUMNS, "rows": [_row(each) for each in plans]}
    print(
        f"{shape.bytes_per_token:,} bytes a token; "
        f"{options.pages} pages of {options.tokens_per_page:,} tokens\n"
    )
    print(markdown_table(**table))
    cap = largest_cap(shape, config.block_size, PUBLISHED_SPARSE_BYTES)
    print(
        f"\nmax_resident_blocks={cap} keeps the whole pool of this shape "
        f"under {gigabytes(PUBLISHED_SPARSE_BYTES)} GB."
    )
    result = {
        "command": command("planner", argv),
        "device": "none: integers only",
        "settings": {name: value for name, value in vars(options).items() if name != "save"},
        "bytes_per_token": shape.bytes_per_token,
        "plans": {
            each.mode: {
                "kv_bytes": each.kv_bytes,
                "pool_bytes": each.pool_bytes,
                "pages": each.pages_that_fit,
            }
            for each in plans
        },
        "max_resident_blocks_for_published_bytes": cap,
        "tables": {"planner": table},
    }
    print_result("planner", result, RESULTS / "planner.json" if options.save else None)
    return 0


def plan(
    shape: KVShape,
    config: SparsityConfig,
    tokens_per_page: int,
    num_pages: int,
    output_tokens: int,
    memory_bytes: int,
) -> tuple[Plan, Plan, Plan]:
    """The three modes for a document of equal pages; `output_tokens` a page matter to full attention only,
    which keeps them.
    """
    size, block_bytes = config.block_size, shape.bytes_per_block(config.block_size)
    page_blocks, reserve = ceil_div(tokens_per_page, size), text_reserve_blocks(config)
    room = memory_bytes // block_bytes - 1  # less the null block
    full_tokens = num_pages * (tokens_per_page + output_tokens)
    full_blocks = num_pages * page_blocks + ceil_div(num_pages * output_tokens, size)
    full_fit = room * size // (page_blocks * size + output_tokens)
    rswa_tokens = num_pages * tokens_per_page + min(num_pages * output_tokens, config.text_window)
    rswa_blocks = num_pages * page_blocks + reserve
    sparse_blocks = peak_sparse_blocks(tokens_per_page, num_pages, config)
    return (
        Plan("full", full_tokens * shape.bytes_per_token, (1 + full_blocks) * block_bytes, full_fit),
        Plan(
            "rswa",
            rswa_tokens * shape.bytes_per_token,
            (1 + rswa_blocks) * block_bytes,
            max(room - reserve, 0) // page_blocks,
        ),
        Plan(
            "sparse",
            sparse_blocks * size * shape.bytes_per_token,
            (1 + sparse_blocks) * block_bytes,
            _sparse_pages_that_fit(tokens_per_page, config, room),
        ),
    )


def peak_sparse_blocks(tokens_per_page: int, num_pages: int, config: SparsityConfig) -> int:
    """Most blocks one document of equal pages ever holds, the room for its text included."""
    return max(
        sparse_blocks_by_page(tokens_per_page, min(num_pages, _pages_until_steady(config)), config), default=0
    )


def sparse_blocks_by_page(tokens_per_page: int, num_pages: int, config: SparsityConfig) -> list[int]:
    """Blocks held while each page is read, by the engine's rules of retention, with every block equally
    relevant.
    """
    ids = itertools.count(1)
    retained: list[PageBlocks] = []
    chunk: list[PageBlocks] = []
    counts = []
    for page_index in range(num_pages):
        if len(chunk) == config.chunk_pages:
            num_leaving = len(chunk) - config.overlap_pages
            retained = [page for page in retained if page_index - page.page_index <= config.page_window]
            retained += [
                _thinned(page, config)
                for page in chunk[:num_leaving]
                if page_index - page.page_index <= config.page_window
            ]
            chunk = chunk[num_leaving:]
        chunk.append(_new_page(page_index, tokens_per_page, config.block_size, ids))
        chunk_blocks = sum(page.num_blocks for page in chunk)
        room = plan_room(config, chunk_blocks, [tokens_per_page] * (page_index + 1))
        for evicted, block_ids in blocks_over_room(retained, room.retained, config).items():
            next(page for page in retained if page.page_index == evicted).drop(block_ids)
        retained = [page for page in retained if page.records]
        counts.append(chunk_blocks + sum(page.num_blocks for page in retained) + text_reserve_blocks(config))
    return counts


def largest_cap(shape: KVShape, block_size: int, pool_bytes: int) -> int:
    """The `max_resident_blocks` whose pool, null block included, takes at most `pool_bytes`."""
    return pool_bytes // shape.bytes_per_block(block_size) - 1


def _sparse_pages_that_fit(tokens_per_page: int, config: SparsityConfig, room: int) -> int | None:
    """Pages before the first that needs more than `room` blocks; None when none ever does."""
    counts = sparse_blocks_by_page(tokens_per_page, _pages_until_steady(config), config)
    return next((num_pages for num_pages, count in enumerate(counts) if count > room), None)


def _pages_until_steady(config: SparsityConfig) -> int:
    """After this many equal pages the page window has been filled and left once: the counts repeat."""
    return 2 * (config.page_window + config.chunk_pages) + 2


def _new_page(page_index: int, num_tokens: int, block_size: int, ids: "itertools.count[int]") -> PageBlocks:
    fills = split_tokens(num_tokens, block_size)
    return PageBlocks(page_index, [BlockRecord(next(ids), place, fill) for place, fill in enumerate(fills)])


def _thinned(page: PageBlocks, config: SparsityConfig) -> PageBlocks:
    leaving = blocks_leaving(page, config)
    return replace(page, records=[record for record in page.records if record.block_id not in leaving])


def _row(each: Plan) -> list[Any]:
    fit = "any number" if each.pages_that_fit is None else each.pages_that_fit
    return [each.mode, gigabytes(each.kv_bytes), gigabytes(each.pool_bytes), fit]


CHUNK_SETTINGS = ("chunk_pages", "overlap_pages", "page_window", "sparsity_ratio", "max_resident_blocks")


def _parse(argv: list[str]) -> argparse.Namespace:
    defaults = SparsityConfig()
    parser = argparse.ArgumentParser(
        prog="python -m ocr_app bench planner", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--layers", type=int, default=PUBLISHED_SHAPE.num_layers)
    parser.add_argument("--kv-heads", type=int, default=PUBLISHED_SHAPE.num_kv_heads)
    parser.add_argument("--head-dim", type=int, default=PUBLISHED_SHAPE.head_dim)
    parser.add_argument(
        "--dtype", default=PUBLISHED_SHAPE.dtype, choices=list(ITEM_BYTES), help="of the KV cache"
    )
    parser.add_argument(
        "--tokens-per-page", type=int, default=PUBLISHED_PAGE_TOKENS, help="reference tokens of a page"
    )
    parser.add_argument(
        "--output-tokens",
        type=int,
        default=0,
        help="written per page; the published pair counts none (default: 0)",
    )
    parser.add_argument("--pages", type=int, default=PUBLISHED_NUM_PAGES)
    parser.add_argument("--memory-gb", type=float, default=24, help="memory for the KV cache, in 10^9 bytes")
    parser.add_argument("--chunk-pages", type=int, default=defaults.chunk_pages)
    parser.add_argument("--overlap-pages", type=int, default=defaults.overlap_pages)
    parser.add_argument("--page-window", type=int, default=defaults.page_window)
    parser.add_argument("--sparsity-ratio", type=float, default=defaults.sparsity_ratio)
    parser.add_argument("--max-resident-blocks", type=int, default=None)
    parser.add_argument("--save", action="store_true", help="keep the result in assets/bench")
    return parser.parse_args(argv)
