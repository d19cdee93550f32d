"""The bench from end to end on two generated documents, with the engines that run without a download."""

import argparse
import json
from contextlib import closing
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pymupdf
import pytest
from PIL import Image

from ocr_app.bench import accuracy
from ocr_app.bench.engines import (
    EngineMissingError,
    EngineOptions,
    EngineOutput,
    make_engine,
    tesseract_languages,
)
from ocr_app.bench.environment import RESULTS
from ocr_app.bench.ground_truth import TruthDocument, TruthPage, load_held_out
from ocr_app.bench.page_score import PageRecord, score_page
from ocr_app.bench.worst import MAX_PICTURE_BYTES, diagnose, small_png, worst_pages
from ocr_app.config import LoaderConfig
from ocr_app.document.loader import open_document
from ocr_app.errors import ConfigError
from ocr_app.types import PageImage
from tests.needs import needs_tesseract

HELD_OUT = Path(__file__).parents[1] / "data" / "held_out"


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], Path]:
    folder = tmp_path_factory.mktemp("bench")
    names = "plain,rapidocr,tesseract,pymupdf4llm"
    numbers = ["--threads", "1", "--pages", "1", "--dpi", "100", "--worst", "2"]
    arguments = ["--held-out", str(HELD_OUT), "--engines", names, *numbers, "--save", "--into", str(folder)]
    assert accuracy.main(arguments) == 0
    return json.loads((folder / "accuracy.json").read_text(encoding="utf-8")), folder


def test_rapidocr_reads_the_generated_pages(result: tuple[dict[str, Any], Path]):
    figures = result[0]["groups"]["held-out"]["rapidocr"]
    assert figures["pages"] == 2
    assert figures["words_f1"] > 0.9
    assert figures["failures"] == figures["loops"] == 0
    assert figures["lost_runs"] is None  # it does not tell what it saw
    assert figures["s_per_page"] > 0
    assert figures["headings_f1"] is None  # it writes none, which is not the same as writing wrong ones


def test_our_reader_tells_what_it_saw_and_wrote(result: tuple[dict[str, Any], Path]):
    figures = result[0]["groups"]["held-out"]["plain"]
    assert figures["words_f1"] > 0.95
    assert figures["list_items_f1"] > 0
    assert (figures["lost_runs"], figures["unplaced_runs"], figures["failures"]) == (0, 0, 0)
    assert 0 < figures["decode_s_per_page"] < figures["s_per_page"]


@needs_tesseract
def test_tesseract_reads_each_document_in_its_language(result: tuple[dict[str, Any], Path]):
    documents = result[0]["documents"]
    assert [
        documents[name]["tesseract"]["words_f1"] > 0.7 for name in ("001.pdf (plain)", "002.pdf (plain)")
    ] == [True, True]
    assert documents["001.pdf (plain)"]["tesseract"]["cpu_s_per_page"] > 0


def test_tables_are_stored_as_they_are_printed(result: tuple[dict[str, Any], Path]):
    table = result[0]["tables"]["accuracy"]
    assert table["columns"][:3] == ["documents", "engine", "pages"]
    assert ["held-out", "rapidocr", "2"] in [row[:3] for row in table["rows"]]


def test_the_worst_pages_have_small_pictures_and_reasons(result: tuple[dict[str, Any], Path]):
    pictures = sorted((result[1] / "worst").glob("*.png"))
    assert [picture.name[:3] for picture in pictures] == ["01-", "02-"]
    assert all(picture.stat().st_size <= MAX_PICTURE_BYTES for picture in pictures)
    report = (result[1] / "worst" / "worst.md").read_text(encoding="utf-8")
    assert all(f"]({picture.name})" in report for picture in pictures)
    assert report.count("Reason: ") == 2


def test_tesseract_is_asked_for_every_language_of_a_page():
    document = load_held_out(HELD_OUT, 1)[0]
    assert tesseract_languages(document) == ("eng",)
    assert tesseract_languages(replace(document, is_chinese=True)) == ("chi_sim", "eng")
    assert "deu" in tesseract_languages(replace(document, name="eurotext.tif"))


def test_pages_of_a_middle_are_told_by_file_and_numbers():
    assert accuracy._middle("a:b.pdf:60-81") == ("a:b.pdf", 60, 81)
    with pytest.raises(argparse.ArgumentTypeError, match="FILE:FIRST-LAST"):
        accuracy._middle("long.pdf")


def test_unknown_engines_are_refused_by_name():
    with pytest.raises(ConfigError, match="'magic'"):
        make_engine("magic", EngineOptions())


def test_pymupdf4llm_reads_text_layers_only(tmp_path: Path):
    engine = make_engine("pymupdf4llm", EngineOptions())
    document = load_held_out(HELD_OUT, 1)[0]
    with (
        closing(engine.open(document)) as session,
        open_document(document.path, LoaderConfig(dpi=40)) as opened,
    ):
        assert "Harbour" in session.read(next(iter(opened.pages()))).markdown
    scanned = replace(document, path=_scan(document.path, tmp_path / "scan.pdf"))
    with pytest.raises(EngineMissingError, match="no text layer"):
        engine.open(scanned)
    with pytest.raises(EngineMissingError, match="no text layer"):  # another engine's text under a scan
        engine.open(replace(document, has_text_layer=False))


def _scan(path: Path, target: Path) -> Path:
    """The same pages as pictures."""
    with pymupdf.open(path) as source, pymupdf.open() as made:
        for page in source:
            picture = made.new_page(width=page.rect.width, height=page.rect.height)
            picture.insert_image(picture.rect, pixmap=page.get_pixmap(dpi=40))
        made.save(target)
    return target


def test_what_an_engine_cannot_open_is_kept_with_the_reason(tmp_path: Path):
    document = replace(load_held_out(HELD_OUT, 1)[0], has_text_layer=False)
    missing: dict[str, str] = {}
    engines = {"pymupdf4llm": make_engine("pymupdf4llm", EngineOptions())}
    assert list(accuracy.read_document(document, engines, 40, missing)) == []
    assert missing == {"pymupdf4llm on 001.pdf (plain)": "no text layer to read."}


def test_without_a_single_page_read_nothing_is_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    weights = tmp_path / "none.safetensors"
    arguments = [
        "--held-out",
        str(HELD_OUT),
        "--engines",
        "tiny",
        "--dpi",
        "40",
        "--weights",
        str(weights),
        "--save",
        "--into",
        str(tmp_path),
    ]
    assert accuracy.main(arguments) == 1
    assert "nothing is saved" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


class FailingSession:
    def read(self, image: PageImage) -> EngineOutput:
        raise RuntimeError("out of paper")

    def close(self) -> None: ...


class FailingEngine:
    def open(self, document: TruthDocument) -> FailingSession:
        return FailingSession()


def test_an_engine_that_fails_is_charged_and_the_bench_goes_on(caplog: pytest.LogCaptureFixture):
    document = load_held_out(HELD_OUT, 1)[0]
    records = list(accuracy.read_document(document, {"failing": FailingEngine()}, 50, {}))
    assert [(record.score.has_failed, record.word_f1, record.cer) for record in records] == [(True, 0, 1)]
    assert "out of paper" in caplog.text
    assert diagnose(records[0]).startswith("the engine failed")


DOCUMENT = TruthDocument("a.pdf", Path("a.pdf"), "digital, Latin", False, ())
LINES = [
    f"{word} stands in line {number} of {word * 2}"
    for number, word in enumerate(("alder", "beech", "cedar", "dogwood", "elm"))
]


def record(
    output: str, truth: str = "\n".join(LINES), document: TruthDocument = DOCUMENT, engine: str = "tiny"
) -> PageRecord:
    page, written = TruthPage(0, truth), EngineOutput(output, output)
    return PageRecord(engine, document, page, written, score_page(document, page, written))


@pytest.mark.parametrize(
    ("output", "reason"),
    [
        ("\n".join(LINES), "no fault"),
        ("\n".join(LINES[:3]), "words lost"),
        ("\n".join(LINES) + " and much more that nobody wrote here", "words added"),
        ("\n".join(LINES).replace("e", "c"), "misread"),
        ("\n".join(reversed(LINES)), "another order: 100 %"),
        ("\n".join(LINES) + " la" * 20, "repeats itself in 1 place"),
    ],
)
def test_the_reason_names_what_is_wrong(output: str, reason: str):
    assert reason in diagnose(record(output))


def test_the_worst_pages_are_those_of_the_first_engine_with_a_truth_to_trust():
    good, bad = record("\n".join(LINES)), record("\n".join(LINES[:2]))
    doubtful = record("", document=replace(DOCUMENT, is_exact=False))
    assert worst_pages([good, doubtful, bad, record("", engine="other")], 5) == [bad, good]


def test_a_noisy_picture_is_made_narrower_until_it_fits():
    noise = np.random.default_rng(0).integers(0, 256, (1400, 1000, 3), dtype=np.uint8)
    data = small_png(PageImage(0, noise, 100, 720, 1008))
    with Image.open(BytesIO(data)) as picture:
        assert picture.height == pytest.approx(picture.width * 1.4, abs=2)
    assert len(data) <= MAX_PICTURE_BYTES


def test_results_go_to_the_assets_unless_told_otherwise():
    assert accuracy._parse([]).into == RESULTS


def test_pages_come_from_the_loader_as_picked():
    document = load_held_out(HELD_OUT)[0]
    with open_document(document.path, LoaderConfig(dpi=40), pages=document.page_range) as opened:
        assert [image.page_index for image in opened.pages()] == [page.page_index for page in document.pages]
