"""Ours against rapidocr with the same tiny weights, on the same page images, in one process: time, character
error rate, word F1.

`--reuse FILE` measures exact reuse of repeated lines on one document instead. Both engines get the same
number of threads and take turns page by page, so that other load on the machine falls on both.
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from time import perf_counter, process_time
from typing import Any

import numpy as np

from ocr_app.bench.environment import REPOSITORY, RESULTS, command, markdown_table, print_result
from ocr_app.bench.metrics import character_error_rate, word_f1
from ocr_app.config import EncoderConfig, LoaderConfig
from ocr_app.document.loader import open_document
from ocr_app.document.pages import parse_page_range
from ocr_app.models.embedded.encoder import VisualEncoder
from ocr_app.models.embedded.weights import asset
from ocr_app.types import EncodedPage, PageFailure, PageImage

ReadPage = Callable[[PageImage], str]
COLUMNS = (
    "file",
    "pages",
    "ours s/page",
    "rapidocr s/page",
    "ours CER",
    "rapidocr CER",
    "ours word F1",
    "rapidocr word F1",
)


@dataclass(frozen=True, slots=True)
class PageScore:
    wall_s: float
    cpu_s: float
    error_rate: float
    f1: float


@dataclass(frozen=True, slots=True)
class FileScore:
    name: str
    ours: list[PageScore]
    theirs: list[PageScore]


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m ocr_app bench encoder", description=__doc__.split("\n")[0]
    )
    parser.add_argument(
        "--samples",
        type=Path,
        action="append",
        help="folder with index.json and true texts; may be given more than once",
    )
    parser.add_argument("--pages", default="1-3", help="pages of each file, such as 2,7-9 (default: 1-3)")
    parser.add_argument("--threads", type=int, default=1, help="of both engines (default: 1)")
    parser.add_argument(
        "--reuse", type=Path, metavar="FILE", help="measure exact reuse of repeated lines on this document"
    )
    parser.add_argument("--save", action="store_true", help="keep the result in assets/bench")
    args = parser.parse_args(argv)
    name, result = ("encoder_reuse", measure_reuse(args)) if args.reuse else ("encoder", compare(args))
    print_result(
        name, {"command": command("encoder", argv), **result}, RESULTS / f"{name}.json" if args.save else None
    )
    return 0


def compare(args: argparse.Namespace) -> dict[str, Any]:
    """Read the same pages with both engines and print a table by file."""
    encoder = VisualEncoder(EncoderConfig(threads=args.threads, reuse=False))
    with tempfile.TemporaryDirectory() as folder:
        engines = (lambda image: page_text(encoder.encode(image)), open_rapidocr(Path(folder), args.threads))
        files = [
            score for path in sample_files(args.samples) if (score := score_file(path, args.pages, engines))
        ]
    rows = [_row(score.name, score.ours, score.theirs) for score in files]
    rows.append(
        _row(
            "all",
            [page for score in files for page in score.ours],
            [page for score in files for page in score.theirs],
        )
    )
    print(markdown_table(COLUMNS, rows))
    ours, theirs = _cpu_s(files, "ours"), _cpu_s(files, "theirs")
    print(
        f"\nours takes {rows[-1][2] / rows[-1][3]:.2f} times as long as rapidocr by the clock, "
        f"{ours / theirs:.2f} times by processor time"
    )
    return {
        "threads": args.threads,
        "wall_ratio": round(rows[-1][2] / rows[-1][3], 3),
        "cpu_ratio": round(ours / theirs, 3),
        "tables": {"encoder": {"columns": COLUMNS, "rows": rows}},
    }


def measure_reuse(args: argparse.Namespace) -> dict[str, Any]:
    """Read a document with reuse off and on, page by page in turn, and check that the text is the same."""
    plain = VisualEncoder(EncoderConfig(threads=args.threads, reuse=False))
    reusing = VisualEncoder(EncoderConfig(threads=args.threads, reuse=True))
    pairs = [(plain.encode(image), reusing.encode(image)) for image in page_images(args.reuse, args.pages)]
    num_lookups = sum(page.num_reuse_lookups for _, page in pairs)
    num_hits = sum(page.num_reuse_hits for _, page in pairs)
    off_s, on_s = (sum(pair[side].encode_s for pair in pairs) for side in (0, 1))
    result = {
        "file": args.reuse.name,
        "pages": len(pairs),
        "lines": num_lookups,
        "hits": num_hits,
        "hit_rate": round(num_hits / max(1, num_lookups), 3),
        "off_s": round(off_s, 2),
        "on_s": round(on_s, 2),
        "saved": round(1 - on_s / off_s, 3) if off_s else None,
        "same_text": all(page_text(off) == page_text(on) for off, on in pairs),
    }
    columns, rows = tuple(result), [tuple(result.values())]
    print(markdown_table(columns, rows))
    return {"tables": {"encoder-reuse": {"columns": columns, "rows": rows}}}


def sample_files(folders: list[Path] | None) -> list[Path]:
    """Documents of the folders that have a true text; the bundled sample when no folder is given."""
    if not folders:
        return [REPOSITORY / "assets" / "sample.pdf"]
    entries = [
        (folder, entry)
        for folder in folders
        for entry in json.loads((folder / "index.json").read_text(encoding="utf-8"))
    ]
    return [folder / entry["file"] for folder, entry in entries if entry.get("ground_truth")]


def score_file(path: Path, pages: str, engines: tuple[ReadPage, ReadPage]) -> FileScore | None:
    """Scores of those of the pages asked for that the file has; None when it has none of them."""
    truths = path.with_suffix(".txt").read_text(encoding="utf-8").split("\f")
    score = FileScore(path.name, [], [])
    for image in page_images(path, pages):
        truth = truths[image.page_index]
        score.ours.append(score_page(engines[0], image, truth))
        score.theirs.append(score_page(engines[1], image, truth))
    return score if score.ours else None


def page_images(path: Path, pages: str) -> Iterator[PageImage]:
    """The pages asked for that exist, can be drawn and are not blank."""
    config = LoaderConfig()
    with open_document(path, config) as document:
        wanted = [
            index + 1 for index in parse_page_range(pages, config.max_pages) if index < document.page_count
        ]
    if wanted:
        with open_document(path, config, pages=",".join(map(str, wanted))) as document:
            yield from (
                page for page in document.pages() if not isinstance(page, PageFailure) and not page.is_blank
            )


def score_page(read: ReadPage, image: PageImage, truth: str) -> PageScore:
    wall, cpu = perf_counter(), process_time()
    text = read(image)
    wall_s, cpu_s = perf_counter() - wall, process_time() - cpu
    return PageScore(wall_s, cpu_s, character_error_rate(truth, text), word_f1(truth, text))


def page_text(page: EncodedPage) -> str:
    return "\n".join(page.line_text(line) for line in page.lines)


def open_rapidocr(folder: Path, threads: int) -> ReadPage:
    """rapidocr with our detector, and our recogniser and its classifier put together again in `folder`."""
    from rapidocr import RapidOCR

    recogniser = folder / "rec.onnx"
    write_whole_recogniser(recogniser)
    engine = RapidOCR(
        params={
            "Global.use_cls": False,
            "Global.log_level": "error",
            "Det.model_path": str(asset("det.onnx")),
            "Rec.model_path": str(recogniser),
            "Rec.rec_keys_path": str(asset("characters.txt")),
            "EngineConfig.onnxruntime.intra_op_num_threads": threads,
        }
    )
    return lambda image: "\n".join(engine(np.ascontiguousarray(image.pixels[:, :, ::-1])).txts or ())


def write_whole_recogniser(path: Path) -> None:
    """The recogniser as published: our cut network with its classifier and a softmax behind it."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(str(asset("rec.onnx")))
    features = model.graph.output.pop()
    with np.load(asset("classifier.npz")) as arrays:
        model.graph.initializer.extend(
            numpy_helper.from_array(arrays[name], name) for name in ("weight", "bias")
        )
        num_classes = len(arrays["bias"])
    model.graph.node.extend(
        [
            helper.make_node("MatMul", [features.name, "weight"], ["scores"]),
            helper.make_node("Add", ["scores", "bias"], ["logits"]),
            helper.make_node("Softmax", ["logits"], ["probabilities"], axis=2),
        ]
    )
    model.graph.output.append(
        helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["N", "T", num_classes])
    )
    onnx.save(model, str(path))


def _row(name: str, ours: list[PageScore], theirs: list[PageScore]) -> tuple[object, ...]:
    pairs = [("wall_s", 2), ("error_rate", 4), ("f1", 4)]
    figures = [
        round(mean(getattr(page, field) for page in pages), digits)
        for field, digits in pairs
        for pages in (ours, theirs)
    ]
    return (name, len(ours), *figures)


def _cpu_s(files: list[FileScore], side: str) -> float:
    return sum(page.cpu_s for score in files for page in getattr(score, side))
