"""The throughput bench at a toy shape: all batches stand at the same page, and the baseline has our shape and
reads what full reads.
"""

import json

import pytest
import torch

from ocr_app.bench.kv_runs import Timing
from ocr_app.bench.throughput import Rate, _llama, _parse, main, sweep_row
from ocr_app.decoder.protocol import KVSpec
from ocr_app.models.toy import ToyModel

SIZES = [
    "--documents",
    "3",
    "--pages",
    "8",
    "--tokens-per-page",
    "64",
    "--layers",
    "2",
    "--heads",
    "4",
    "--head-dim",
    "12",
    "--rounds",
    "2",
    "--sweep",
    "2,8",
]


@pytest.fixture(scope="module")
def rates() -> dict[str, dict]:
    import contextlib
    import io

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert main([*SIZES, "--threads", "1"]) == 0
    result = json.loads(output.getvalue().splitlines()[-1])
    assert result["sparse_over_full"]["wall"] == pytest.approx(
        _per_s(result["rates"][0]) / _per_s(result["rates"][2]), abs=0.01
    )
    return {rate["name"]: rate for rate in result["rates"]}


def _per_s(rate: dict) -> float:
    return rate["num_documents"] / rate["time"]["wall_s"]


def test_full_reads_every_page_and_sparse_reads_a_part(rates: dict[str, dict]):
    num_steps = 2 + 2  # warm-up and rounds
    assert rates["full"]["tokens_read"] == 8 * 64 + num_steps
    assert (
        rates["sparse"]["tokens_read"] == rates["sparse, alone"]["tokens_read"] < rates["full"]["tokens_read"]
    )
    assert [rate["num_documents"] for rate in rates.values()] == [3, 1, 3, 3, 3]


def test_a_static_cache_holds_the_same_and_room_for_the_steps(rates: dict[str, dict]):
    static, dynamic = (rates[f"transformers generate, {kind}Cache"] for kind in ("Static", "Dynamic"))
    assert static["tokens_read"] == dynamic["tokens_read"]
    assert static["kv_bytes"] == 3 * (8 * 64 + 2 + 2) * 2 * 2 * 2 * 12 * 4


def test_the_sweep_compares_sparse_with_the_best_that_reads_all():
    def rate(speed: float) -> Rate:
        return Rate("any", 3, Timing(3 / speed, 3 / speed), 100, 1)

    assert sweep_row(512, [rate(30), rate(99), rate(10), rate(5), rate(20)]) == [
        512,
        "30.0",
        "10.0",
        "5.0",
        "20.0",
        "1.50",
    ]


def test_transformers_keeps_as_many_tokens_as_full_attention(rates: dict[str, dict]):
    baseline = rates["transformers generate, DynamicCache"]
    num_tokens = baseline["tokens_read"]
    assert abs(num_tokens - rates["full"]["tokens_read"]) <= 4
    assert baseline["kv_bytes"] == 3 * num_tokens * 2 * 2 * 2 * 12 * 4


def test_the_baseline_has_as_many_weights_as_ours():
    theirs = sum(
        weight.numel()
        for name, weight in _llama(_parse(SIZES)).named_parameters()
        if "layers" in name and "norm" not in name
    )
    ours = ToyModel(KVSpec(2, 4, 2, 12, torch.float32), width=48)
    assert theirs == sum(
        weight.numel() for weights in (ours.qkv, ours.out, ours.up, ours.down) for weight in weights
    )
