"""What a narrower KV cache costs: error of the attention output against float32, on random keys and on those
of the trained reader.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor

from ocr_app.bench.environment import REPOSITORY
from ocr_app.config import AppConfig, LoaderConfig
from ocr_app.decoder.attention import attend_page, dense_attention
from ocr_app.decoder.kv_cache import NAMED_DTYPES, KVStore
from ocr_app.decoder.protocol import DecoderModel, KVSpec
from ocr_app.errors import ModelMissingError

BLOCK_SIZE = 32
NUM_RANDOM_TOKENS = 1024
NARROW_DTYPES = ("float16", "bfloat16", "int8")
Layer = tuple[Tensor, Tensor, Tensor]  # queries (1, H, T, D), keys and values (1, Hkv, L, D), all float32


def error_table(spec: KVSpec, seed: int, weight_path: str | None) -> list[list[Any]]:
    """Rows of source, dtype, relative error of the attention output, and its greatest in one layer."""
    sources = [
        ("random", [random_layer(spec, seed)]),
        ("trained reader, bundled sample", list(reader_layers(weight_path))),
    ]
    return [[name, dtype, *_figures(layers, dtype)] for name, layers in sources for dtype in NARROW_DTYPES]


def attention_error(layer: Layer, dtype: str) -> float:
    """|output - output of float32| / |output of float32| when keys and values are stored in `dtype`."""
    exact = _attend(layer, "float32")
    return float((_attend(layer, dtype) - exact).norm() / exact.norm())


def random_layer(spec: KVSpec, seed: int) -> Layer:
    random = torch.Generator().manual_seed(seed)
    queries = torch.randn(1, spec.num_query_heads, 16, spec.head_dim, generator=random)
    keys, values = (
        torch.randn(1, spec.num_kv_heads, NUM_RANDOM_TOKENS, spec.head_dim, generator=random)
        for _ in range(2)
    )
    return queries, keys, values


def reader_layers(weight_path: str | None) -> Iterator[Layer]:
    """Queries, keys and values of the first page of the bundled sample, layer by layer; nothing where there
    are no weights.
    """
    from ocr_app.document.loader import open_document
    from ocr_app.models.embedded.checkpoint import load_reader
    from ocr_app.models.embedded.encoder import VisualEncoder
    from ocr_app.models.embedded.geometry.suggestion import suggest
    from ocr_app.models.embedded.state import PageState
    from ocr_app.models.embedded.visual import visual_page

    config = AppConfig()
    try:
        model = load_reader(weight_path)
    except ModelMissingError:
        return
    with open_document(REPOSITORY / "assets" / "sample.pdf", LoaderConfig(), pages="1") as document:
        encoded = VisualEncoder(config.encoder).encode(next(iter(document.pages())))
    page = visual_page(encoded)
    state = PageState(page, suggest(encoded), [run.text for run in encoded.runs], 0.0, may_continue=False)
    yield from _page_layers(model, state, page)


@torch.inference_mode()
def _page_layers(model: DecoderModel, state: Any, page: Any) -> Iterator[Layer]:
    hidden, positions = model.embed_reference(state, page)
    for layer in range(model.kv_spec.num_layers):
        queries, keys, values = model.project(layer, hidden, positions)
        yield queries, keys, values
        hidden = model.finish_layer(
            layer, hidden, attend_page(queries, keys, values, is_causal=model.reference_is_causal)
        )


def _attend(layer: Layer, dtype: str) -> Tensor:
    """Attention over keys and values that went through the store."""
    queries, keys, values = layer
    num_tokens = keys.shape[2] // BLOCK_SIZE * BLOCK_SIZE  # whole blocks: no padding to hide
    num_blocks = num_tokens // BLOCK_SIZE
    spec = KVSpec(1, queries.shape[1], keys.shape[1], keys.shape[3])
    store = KVStore(spec, 1 + num_blocks, BLOCK_SIZE, dtype=NAMED_DTYPES[dtype], device="cpu")
    block_ids = torch.arange(1, 1 + num_blocks)
    store.write_page(
        0, block_ids, *(tensor[0, :, :num_tokens].transpose(0, 1) for tensor in (keys, values)), None
    )
    return dense_attention(
        queries, store, 0, block_ids.unsqueeze(0), queries.new_zeros(1, queries.shape[2], num_tokens)
    )


def _figures(layers: list[Layer], dtype: str) -> list[str | None]:
    errors = [attention_error(layer, dtype) for layer in layers]
    return [f"{sum(errors) / len(errors):.1e}", f"{max(errors):.1e}"] if errors else [None, None]
