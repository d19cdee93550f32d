"""Weight files: found, checked against their hashes; the encoder's are opened by onnxruntime. Knows nothing
of pages or lines.
"""

import hashlib
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded.open_once import open_once

if TYPE_CHECKING:
    import onnxruntime

ASSETS = Path(__file__).parents[3] / "assets" / "encoder"
SMALL_SHA256 = {
    "PP-OCRv6_det_small.onnx": "090f04abcd9d9a7498bc4ebf677e4cb9bdce1fe4197ddb7e529f1ef44e1ff94f",
    "PP-OCRv6_rec_small.onnx": "6f327246b50388f3c176ae304bd95767ea6dc0c9ae92153ef8cbe210b3c14884",
}


@cache
def asset(name: str) -> Path:
    """A file of assets/encoder, checked once per process against SHA256SUMS."""
    sums = ASSETS / "SHA256SUMS"
    if not sums.is_file():
        raise ModelMissingError(
            "Encoder weights SHA256SUMS is missing; restore assets/encoder from the repository."
        )
    expected = {line.split()[1]: line.split()[0] for line in sums.read_text(encoding="utf-8").splitlines()}
    return check_sha256(ASSETS / name, expected.get(name, ""), "restore assets/encoder from the repository")


@cache
def small_asset(name: str) -> Path:
    """A file of the accurate `small` encoder, which lies inside the installed rapidocr package."""
    spec = find_spec("rapidocr")
    if spec is None or spec.origin is None:
        raise ModelMissingError(
            "Encoder `small` needs the package rapidocr; install requirements.txt or choose `tiny`."
        )
    path = Path(spec.origin).parent / "models" / name
    return check_sha256(
        path, SMALL_SHA256[name], "install rapidocr as pinned in requirements.txt or choose `tiny`"
    )


def check_sha256(path: Path, expected: str, remedy: str) -> Path:
    """Return the path when the file is there and is the one expected; raise ModelMissingError with the remedy
    when not.
    """
    if not path.is_file():
        raise ModelMissingError(f"Weights {path.name} are missing; {remedy}.")
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != expected:
        raise ModelMissingError(
            f"Weights {path.name} have sha256 {found[:12]}, not {expected[:12]}; {remedy}."
        )
    return path


@open_once
def open_network(path: Path, threads: int) -> "onnxruntime.InferenceSession":
    """Open an ONNX file on the CPU with exactly this many threads; several threads may run it at once."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 3
    options.enable_mem_pattern = False  # shapes change from call to call
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
