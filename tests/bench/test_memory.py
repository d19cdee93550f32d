"""The memory bench at a toy shape: sparse does not grow, full does, and what is called measured agrees with
what is computed.
"""

import json

import pytest
import torch

from ocr_app.bench.kv_error import attention_error, random_layer
from ocr_app.bench.memory import main
from ocr_app.decoder.protocol import KVSpec

SMALL = [
    "--layers",
    "2",
    "--kv-heads",
    "1",
    "--head-dim",
    "8",
    "--tokens-per-page",
    "100",
    "--whole-pages",
    "3",
    "--threads",
    "1",
]


@pytest.fixture(scope="module")
def result() -> dict:
    """Counts past the page window, a limit that full attention passes, a cap below the automatic one."""
    import contextlib
    import io

    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        assert main([*SMALL, "--pages", "4,80,150", "--full-limit-gb", "0.0008", "--cap-gb", "0.00007"]) == 0
    return json.loads(output.getvalue().splitlines()[-1])


def rows(result: dict, mode: str, dtype: str) -> list[list]:
    return [row for row in result["tables"]["memory"]["rows"] if row[:2] == [mode, dtype]]


def test_the_sparse_peak_stays_from_the_window_on(result: dict):
    assert result["growth"] == {"float16": 1.0, "float16 capped": 1.0, "int8": 1.0}


def test_the_cap_holds_for_all_tensors_of_the_pool(result: dict):
    capped = [row for row in rows(result, "sparse", "float16") if row[2] != "automatic"]
    assert len(capped) == 3
    assert all(float(row[4]) <= 0.00007 for row in capped)


def test_full_is_measured_up_to_the_limit_and_grows(result: dict):
    full = [reading for reading in result["full"] if reading["dtype"] == "float16"]
    assert {reading["is"] for reading in full} == {"measured", "computed"}
    assert all((reading["is"] == "measured") == (reading["pool_bytes"] <= 0.0008e9) for reading in full)
    per_page = [reading["pool_bytes"] / reading["pages"] for reading in full]
    assert max(per_page) < 1.3 * min(per_page)
    assert all(
        reading["tokens"] == 100 * reading["pages"] + 1 for reading in full if reading["is"] == "measured"
    )


def test_a_step_reads_the_same_number_of_tokens_however_long_the_document(result: dict):
    read = [row[6] for row in rows(result, "sparse", "float16") if row[2] == "automatic"]
    assert read[2] - read[1] == 1, "the token written between"
    assert read[2] < 1000


def test_narrow_keys_cost_little_and_int8_more_than_float16():
    layer = random_layer(KVSpec(1, 4, 2, 32, torch.float32), seed=3)
    half, eighth = attention_error(layer, "float16"), attention_error(layer, "int8")
    assert 0 < half < 1e-3
    assert half < eighth < 2e-2
    assert attention_error(layer, "float32") == 0
