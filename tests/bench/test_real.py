"""The bench of real pages with made pages and made engines, and one made page through our own reader."""

import json
from pathlib import Path

import pymupdf
import pytest

from ocr_app.bench import cases, real
from ocr_app.bench.engines import EngineMissingError
from ocr_app.bench.real_engines import WholeOptions, WholeOutput, _config, default_engines, open_whole
from ocr_app.bench.side_by_side import write_side_by_side
from ocr_app.errors import ConfigError
from ocr_app.models.base import READERS

TRUTH = "# The old harbour\n\nThe channel has lost depth since the spring.\n"


def write_pdf(path: Path) -> None:
    with pymupdf.open() as document:
        page = document.new_page(width=420, height=300)
        page.insert_text((40, 60), "The old harbour", fontsize=26)
        page.insert_text((40, 110), "The channel has lost depth since the spring.", fontsize=13)
        document.save(path)


@pytest.fixture
def pages(tmp_path: Path) -> Path:
    for name in ("p00", "p01"):
        home = tmp_path / "pages" / name
        home.mkdir(parents=True)
        write_pdf(home / "page.pdf")
        (home / "truth.md").write_text(TRUTH)
    return tmp_path / "pages"


def perfect(path: Path, truth: str) -> WholeOutput:
    return WholeOutput(truth, (truth,), 2.0, 1.0)


def picky(path: Path, truth: str) -> WholeOutput:
    if path.parent.name == "p01":
        raise EngineMissingError("it has no text layer.")
    return perfect(path, truth)


def test_a_refused_page_counts_as_an_empty_one_and_is_named(pages: Path, tmp_path: Path):
    missing: dict[str, str] = {}
    files = real.load_marked(pages, "page.pdf", "truth.md")
    read = real.read_files(files, {"perfect": perfect, "picky": picky}, missing, tmp_path / "out")
    result = real.summarise("real", read)
    assert result["engines"]["perfect"]["page"] == 1
    assert result["engines"]["picky"]["page"] == 0.5
    assert result["tables"]["real-pages"]["rows"] == [["p00", "1.000", "1.000"], ["p01", "1.000", "0.000"]]
    assert list(missing) == ["picky on p01/page.pdf"]
    assert (tmp_path / "out" / "perfect" / "p01.md").read_text() == TRUTH


def test_the_bench_reads_saves_and_shows_the_worst(
    pages: Path, tmp_path: Path, capsys: pytest.CaptureFixture
):
    out, into = tmp_path / "out", tmp_path / "results"
    arguments = [str(pages), "--engines", "plain", "--pages", "1", "--output", str(out), "--worst", "1"]
    assert real.main([*arguments, "--save", "--into", str(into)]) == 0
    stored = json.loads((into / "real.json").read_text())
    assert stored == json.loads(capsys.readouterr().out.splitlines()[-1])
    assert stored["engines"]["plain"]["words"] == 1
    assert stored["tables"]["real"]["rows"][0][:2] == ["plain", 1]
    html = (out / "worst.html").read_text()
    assert "data:image/png;base64,iVBOR" in html
    assert "The channel has lost depth" in html


def test_cases_are_scored_clean_and_scanned(tmp_path: Path, capsys: pytest.CaptureFixture):
    home = tmp_path / "cases" / "letter"
    home.mkdir(parents=True)
    for name in ("input.pdf", "scan.pdf"):
        write_pdf(home / name)
    (home / "expected.md").write_text(TRUTH)
    assert cases.main([str(tmp_path / "cases"), "--engines", "pymupdf4llm"]) == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert {"cases-input", "cases-scan"} <= set(result["tables"])
    assert result["input"]["engines"]["pymupdf4llm"]["words"] == 1


def test_output_must_not_go_into_the_product(pages: Path):
    with pytest.raises(ConfigError, match="outside assets"):
        real.main([str(pages), "--engines", "plain", "--output", str(real.REPOSITORY / "assets" / "bench")])
    with pytest.raises(ConfigError, match="--output"):
        real.main([str(pages), "--engines", "plain", "--worst", "1"])


def test_engines_are_named_by_model_mode_and_quality():
    assert set(READERS) <= set(default_engines())
    config = _config("embedded+full+small", WholeOptions(dpi=150))
    assert (config.reader.mode, config.encoder.quality, config.encoder.reuse) == ("full", "small", False)
    for spec in ("nobody", "embedded+fast"):
        with pytest.raises(ConfigError, match="engine is"):
            open_whole(spec, WholeOptions())


def test_an_empty_folder_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"page\.pdf"):
        real.load_marked(tmp_path, "page.pdf", "truth.md")


def test_markdown_is_shown_and_never_run(tmp_path: Path):
    write_pdf(tmp_path / "x.pdf")
    write_side_by_side([("x", tmp_path / "x.pdf", "<script>alert(1)</script>", {})], tmp_path / "w.html", 50)
    assert "<script>" not in (tmp_path / "w.html").read_text()
