"""Loads the reader's weights: safetensors, float16 on disk, checked against the hash that is shipped beside them."""

import hashlib
import json
from pathlib import Path

import torch

from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded.reader import PointerReader, reader_from

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "reader"
WEIGHTS = "reader.safetensors"
HASH = "reader.safetensors.sha256"


def load_reader(weight_path: str | None = None) -> PointerReader:
    """The shipped reader, or one from a file of the user's own (whose hash is not checked). Raises ModelMissingError."""
    path = Path(weight_path) if weight_path else FOLDER / WEIGHTS
    if not path.is_file():
        raise ModelMissingError(f"The reader's weights {path.name} are missing. Use --model plain, or train them: see README, Training.")
    if weight_path is None:
        _check_hash(path)
    return _read(path)


def _check_hash(path: Path) -> None:
    wanted = (path.parent / HASH).read_text().split()[0]
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != wanted:
        raise ModelMissingError(
            f"{path.name} has the hash {found[:12]}, not {wanted[:12]} as expected: the file is damaged. Check it out again."
        )


def _read(path: Path) -> PointerReader:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            model = reader_from(json.loads(file.metadata()["shape"]))
            model.load_state_dict({name: file.get_tensor(name).to(torch.float32) for name in file.keys()})  # noqa: SIM118
    except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
        raise ModelMissingError(f"{path.name} does not hold the weights of a reader of this version ({type(error).__name__}).") from error
    return model.eval().requires_grad_(False)
