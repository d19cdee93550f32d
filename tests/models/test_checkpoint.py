"""The reader's weights: the shipped ones load, damaged or foreign ones are refused with a reason."""

import shutil
from pathlib import Path

import pytest

from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded import checkpoint


def test_the_shipped_weights_load_and_are_the_ones_the_card_describes():
    model = checkpoint.load_reader()
    assert 1.8e6 < sum(parameter.numel() for parameter in model.parameters()) < 2.0e6


def test_damaged_weights_are_refused_by_their_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    shutil.copytree(checkpoint.FOLDER, tmp_path / "reader")
    monkeypatch.setattr(checkpoint, "FOLDER", tmp_path / "reader")
    weights = tmp_path / "reader" / checkpoint.WEIGHTS
    weights.write_bytes(weights.read_bytes()[:-1] + b"\0\0")
    with pytest.raises(ModelMissingError, match="sha256"):
        checkpoint.load_reader()


def test_a_file_that_holds_no_reader_is_refused(tmp_path: Path):
    (tmp_path / "other.safetensors").write_bytes(b"nothing of a reader")
    with pytest.raises(ModelMissingError, match="does not hold the weights"):
        checkpoint.load_reader(str(tmp_path / "other.safetensors"))
