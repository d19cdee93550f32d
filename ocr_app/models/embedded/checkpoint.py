"""Loads the reader's weights: safetensors, float16 on disk, checked against the hash that is shipped beside
them.
"""

import json
from pathlib import Path

import torch

from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded.reader import PointerReader, reader_from
from ocr_app.models.embedded.weights import check_sha256

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "reader"
WEIGHTS = "reader.safetensors"
HASH = "reader.safetensors.sha256"


def load_reader(weight_path: str | None = None) -> PointerReader:
    """The shipped reader, or one from a file of the user's own (whose hash is not checked). Raises
    ModelMissingError.
    """
    path = Path(weight_path) if weight_path else FOLDER / WEIGHTS
    if not path.is_file():
        raise ModelMissingError(
            f"The reader's weights {path.name} are missing. Use --model plain, or train them: see README, Training."
        )
    if weight_path is None:
        check_sha256(
            path,
            (FOLDER / HASH).read_text(encoding="utf-8").split()[0],
            "restore assets/reader from the repository",
        )
    return _read(path)


def _read(path: Path) -> PointerReader:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "pt") as file:
            model = reader_from(json.loads(file.metadata()["shape"]))
            # noqa: SIM118
            model.load_state_dict({name: file.get_tensor(name).to(torch.float32) for name in file.keys()})
    except (SafetensorError, KeyError, TypeError, RuntimeError) as error:
        raise ModelMissingError(
            f"{path.name} does not hold the weights of a reader of this version ({type(error).__name__})."
        ) from error
    return model.eval().requires_grad_(False)
