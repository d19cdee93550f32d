"""A GPU is lent to work that runs on it, for as long as its pages take."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ocr_app.config import AppConfig, ReaderConfig
from ocr_app.errors import PageRangeError
from ocr_app.ui import zero_gpu
from ocr_app.ui.zero_gpu import lease_s, with_lent_gpu

ON_GPU = AppConfig(reader=ReaderConfig(device="cuda"))


class FakeSpaces(SimpleNamespace):
    """Lends a GPU to one decorated function, as the Space's package does, and notes for how long."""

    def __init__(self) -> None:
        super().__init__(leases_s=[], num_closed=0)

    def GPU(self, duration: Callable[..., int]) -> Callable[..., Any]:
        def decorate(function: Callable[..., Iterator[Any]]) -> Callable[..., Iterator[Any]]:
            def lent(*args: Any) -> Iterator[Any]:
                self.leases_s.append(duration(*args))
                try:
                    yield from function(*args)
                finally:
                    self.num_closed += 1

            return lent

        return decorate


@pytest.fixture
def spaces(monkeypatch: pytest.MonkeyPatch) -> FakeSpaces:
    fake = FakeSpaces()
    monkeypatch.setitem(sys.modules, "spaces", fake)
    monkeypatch.setenv("SPACES_ZERO_GPU", "1")
    return fake


def parse(source: Path, config: AppConfig, **options: Any) -> Iterator[Any]:
    yield from (config.reader.device, options.get("pages"), "end")


def never() -> bool:
    return False


def test_without_a_space_that_lends_gpus_nothing_changes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SPACES_ZERO_GPU", raising=False)
    assert with_lent_gpu(parse) is parse


@pytest.mark.parametrize(
    "reader", [ReaderConfig(), ReaderConfig(device="cuda", model="plain")], ids=["cpu", "plain"]
)
def test_a_reader_that_runs_on_the_cpu_is_lent_no_gpu(reader, spaces: FakeSpaces, two_page_pdf: Path):
    events = with_lent_gpu(parse)(two_page_pdf, AppConfig(reader=reader), should_stop=never)
    assert list(events) == ["cpu", None, "end"]
    assert spaces.leases_s == []


def test_the_lease_follows_the_pages_that_are_read(spaces: FakeSpaces, two_page_pdf: Path):
    read = with_lent_gpu(parse)
    assert list(read(two_page_pdf, ON_GPU, should_stop=never)) == ["cuda", None, "end"]
    assert list(read(two_page_pdf, ON_GPU, should_stop=never, pages="2")) == ["cuda", "2", "end"]
    assert spaces.leases_s == [lease_s(2), lease_s(1)]
    assert lease_s(2) > lease_s(1)


def test_what_takes_longer_than_a_lease_is_read_on_the_cpu(
    spaces: FakeSpaces, two_page_pdf: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setattr(zero_gpu, "MAX_LEASE_S", lease_s(1))
    assert list(with_lent_gpu(parse)(two_page_pdf, ON_GPU, should_stop=never)) == ["cpu", None, "end"]
    assert spaces.leases_s == []
    assert "2 pages" in caplog.text


def test_a_stop_gives_the_gpu_back(spaces: FakeSpaces, two_page_pdf: Path):
    assert list(with_lent_gpu(parse)(two_page_pdf, ON_GPU, should_stop=lambda: True)) == ["cuda"]
    assert spaces.num_closed == 1


def test_a_file_that_cannot_be_read_is_refused_before_a_gpu_is_asked_for(
    spaces: FakeSpaces, two_page_pdf: Path
):
    with pytest.raises(PageRangeError):
        list(with_lent_gpu(parse)(two_page_pdf, ON_GPU, should_stop=never, pages="9"))
    assert spaces.leases_s == []
