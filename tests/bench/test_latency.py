"""The latency bench at a toy shape: what each step reads, and that its costs are counted from the engine's
tensors.
"""

import json

import pytest
import torch

from ocr_app.bench.kv_runs import KVPage, add_document, open_engine, step, write_pages
from ocr_app.bench.latency import main
from ocr_app.bench.step_costs import bytes_read, shares
from ocr_app.config import SparsityConfig
from ocr_app.decoder.protocol import KVSpec

SPEC = KVSpec(2, 4, 2, 8, torch.float32)


def test_sparse_steps_read_the_same_wherever_they_are_and_full_steps_read_everything(
    capsys: pytest.CaptureFixture[str],
):
    sizes = [
        "--shapes",
        "tiny",
        "--pages",
        "40,60,80",
        "--rounds",
        "2",
        "--full-rounds",
        "2",
        "--threads",
        "1",
        "--copy-mb",
        "1",
    ]
    assert main([*sizes, "--full-limit-gb", "0.0018"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    rows = result["tables"]["latency"]["rows"]
    sparse, full = ([row for row in rows if row[1] == mode] for mode in ("sparse", "full"))
    assert [row[2] for row in sparse] == [40, 60, 80]
    assert sparse[0][6] == sparse[1][6] == sparse[2][6]
    assert [row[2] for row in full] == [40, 60], "80 pages do not fit the limit"
    for row in full:
        assert 40 * row[2] < row[6] < 40 * row[2] + 32
    assert result["last_over_first"]["tiny"]["processor"] == pytest.approx(
        float(sparse[2][4]) / float(sparse[0][4]), rel=0.05
    )


def test_a_step_must_read_the_weights_and_the_keys_and_values_it_attends():
    with open_engine(SPEC, SparsityConfig(), width=16) as engine:
        sequence = write_pages(engine, add_document(engine), KVPage.random(SPEC, 50), 0, 1)
        step(engine, [sequence])
        query_width, kv_width, width, vocabulary = 32, 16, 16, 64
        per_layer = width * (query_width + 2 * kv_width) + query_width * width + 2 * width * 2 * width
        assert bytes_read(engine, [sequence]) == (
            4 * (2 * per_layer + vocabulary * width),
            51 * 2 * 2 * 2 * 8 * 4,
        )


def test_the_shares_of_a_step_are_of_the_whole():
    values = torch.randn(2000, 64)
    split = shares(lambda: values.index_select(0, torch.arange(2000)), "cpu")
    assert sum(split.values()) == pytest.approx(1, abs=0.01)
    assert split["gather"] > 0
    assert split["attention"] == split["projections"] == 0
