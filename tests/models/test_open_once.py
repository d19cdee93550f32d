"""Weights are opened once a process, and anew when their file changes."""

import threading
import time
from pathlib import Path

import pytest

from ocr_app.config import AppConfig
from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded.open_once import open_once
from ocr_app.models.embedded.session import open_embedded


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights"
    path.write_bytes(b"first")
    return path


def test_threads_that_ask_at_once_share_one_opening(weights: Path):
    num_opened = 0

    @open_once
    def slowly(path: Path, threads: int) -> object:
        nonlocal num_opened
        time.sleep(0.05)
        num_opened += 1
        return object()

    got: list[object] = []
    threads = [threading.Thread(target=lambda: got.append(slowly(weights, 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert num_opened == 1
    assert len(set(map(id, got))) == 1
    assert slowly(weights, 2) is not got[0]


def test_a_file_written_anew_is_opened_anew(weights: Path):
    read = open_once(lambda path: path.read_bytes())
    assert read(weights) == b"first"
    weights.write_bytes(b"second")
    assert read(weights) == b"second"


def test_a_failure_is_not_kept(weights: Path):
    @open_once
    def parse(path: Path) -> str:
        if path.read_bytes() == b"first":
            raise ModelMissingError("damaged")
        return "parsed"

    with pytest.raises(ModelMissingError, match="damaged"):
        parse(weights)
    weights.write_bytes(b"whole")
    assert parse(weights) == "parsed"


def test_two_jobs_share_the_reader_and_the_encoders_networks():
    first, second = (open_embedded(AppConfig()) for _ in range(2))
    assert first._model is second._model
    for part in ("_detector", "_recogniser"):
        ours, theirs = (getattr(session._encoder, part) for session in (first, second))
        assert ours is not theirs
        assert ours._network is theirs._network
    assert first._encoder._recogniser._weight is second._encoder._recogniser._weight
    first.close()
    second.close()
