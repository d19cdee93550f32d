"""Loads the reader's weights: safetensors, float16 on disk, checked against the hash that is shipped beside
them.
"""

import json
from pathlib import Path

import torch

from ocr_app.decoder.devices import resolve_device
from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded.open_once import open_once
from ocr_app.models.embedded.reader import PointerReader, reader_from
from ocr_app.models.embedded.weights import check_sha256

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "reader"
WEIGHTS = "reader.safetensors"
HASH = "reader.safetensors.sha256"


def load_reader(weight_path: str | None = None, device: str = "cpu") -> PointerReader:
    """The shipped reader, or one from a file of the user's own (whose hash is not checked), on a device.

    It is opened once a process and shared: nobody may change it. Raises ModelMissingError for weights that
    are missing or not a reader's, and what `resolve_device` raises.
    """
    path = Path(weight_path) if weight_path else FOLDER / WEIGHTS
    if not path.is_file():
        raise ModelMissingError(
            f"The reader's weights {path.name} are missing. Use --model plain, or train them: see README, "
            "Training."
        )
    expected = None if weight_path else (FOLDER / HASH).read_text(encoding="utf-8").split()[0]
    return _open(path, expected, resolve_device(device))


@open_once
def _open(path: Path, sha256: str | None, device: torch.device) -> PointerReader:
    from safetensors import SafetensorError, safe_open

    if sha256 is not None:
        check_sha256(path, sha256, "restore assets/reader from the repository")
    try:
        with safe_open(path, "pt") as file:
            model = reader_from(json.loads(file.metadata()["shape"]))
            # a file of safetensors has keys and cannot be iterated over
            weights = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            model.load_state_dict({name: tensor.to(torch.float32) for name, tensor in weights.items()})
    except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
        raise ModelMissingError(
            f"{path.name} does not hold the weights of a reader of this version ({type(error).__name__})."
        ) from error
    return model.to(device).eval().requires_grad_(False)
