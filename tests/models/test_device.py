"""Every tensor of the reader follows its device: none is left on the CPU, and what is read stays the same."""

import copy
from dataclasses import replace
from typing import Any

import pytest
import torch

from ocr_app.config import AppConfig, SparsityConfig
from ocr_app.decoder.devices import resolve_device
from ocr_app.errors import BackendUnavailableError, ConfigError
from ocr_app.models.embedded.reader import PointerReader
from ocr_app.models.embedded.session import EmbeddedSession
from ocr_app.types import EncodedPage, KVSample, PageReading
from tests.fake_device import FakeDevice
from tests.models.test_reader import ROWS, model, read

__all__ = ["model"]


def session_on(device: str, model: PointerReader, **reader: Any) -> EmbeddedSession:
    """A session that evicts and routes within a few small pages, its weights on the device."""
    sparsity = SparsityConfig(block_size=8, text_window=16, block_budget=2, candidate_blocks=4)
    config = AppConfig(sparsity=sparsity)
    config = replace(config, reader=replace(config.reader, device=device, **reader))
    return EmbeddedSession(config, None, copy.deepcopy(model).to(device))


def three_pages(make_page: Any) -> list[EncodedPage]:
    return [make_page(ROWS * 4, page_index=index, seed=index) for index in range(3)]


@pytest.mark.parametrize(
    "reader",
    [{}, {"mode": "full"}, {"backend": "dense"}, {"kv_dtype": "int8"}, {"kv_dtype": "bfloat16"}],
    ids=str,
)
def test_pages_read_on_a_device_leave_no_tensor_behind_and_read_the_same(reader, model, make_page):
    pages = three_pages(make_page)
    on_cpu = session_on("cpu", model, **reader)
    expected = [read(on_cpu, page) for page in pages]
    with FakeDevice("cuda") as device:
        session = session_on("cuda", model, **reader)
        assert [read(session, page) for page in pages] == expected
        store = session._engine.store
        assert {tensor.device for tensor in store._all_tensors()} == {torch.device("cuda")}
        session.close()
    assert device.num_calls > 1000


def test_a_tensor_left_behind_is_noticed(model, make_page):
    """Otherwise the test above could not fail."""
    with FakeDevice("cuda"):
        session = session_on("cuda", model)
        session._model.register_buffer("rotary", torch.zeros_like(session._model.rotary, device="cpu"))
        with pytest.raises(AssertionError, match="mixes tensors on cuda and on the CPU"):
            read(session, make_page(ROWS))


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_gpu_reads_what_the_cpu_reads(model, make_page):
    pages = three_pages(make_page)
    on_cpu, on_gpu = session_on("cpu", model), session_on("cuda", model)
    for page in pages:
        ours, theirs = (list(session.read(page, lambda: False)) for session in (on_gpu, on_cpu))
        assert isinstance(ours[-1], PageReading)
        assert ours[-1].regions == theirs[-1].regions
        assert [item for item in ours if isinstance(item, KVSample)]


@pytest.mark.parametrize("name", ["gpu", "meta", "cuda:x", "cpu:1", ""])
def test_a_device_that_means_nothing_is_refused_with_those_that_do(name: str):
    with pytest.raises(ConfigError, match="cpu, cuda, or cuda: and a number"):
        resolve_device(name)


def test_cuda_without_a_build_or_a_device_for_it_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(torch.version, "cuda", None)
    monkeypatch.setattr(torch.version, "hip", None)
    with pytest.raises(BackendUnavailableError, match="built without CUDA"):
        resolve_device("cuda")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    with pytest.raises(BackendUnavailableError, match=r"'cuda:1'.*CUDA sees 1 devices"):
        resolve_device("cuda:1")
    assert resolve_device("cuda:0") == torch.device("cuda:0")
