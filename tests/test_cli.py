"""The command line on real files: what is written where, what is said, and how it exits."""

import json
import os
import signal
import subprocess
import sys
import termios
from pathlib import Path

import pymupdf
import pytest

from ocr_app.cli import main

ROOT = Path(__file__).parent.parent
PLAIN = ["--model", "plain", "--set", "encoder.threads=1"]


def parse(*words: str | Path) -> int:
    return main(["parse", *(str(word) for word in words), *PLAIN])


def start(*words: str | Path) -> subprocess.Popen[bytes]:
    """The command in a process and process group of its own, as a terminal starts it."""
    command = [sys.executable, "-m", "ocr_app", "parse", *(str(word) for word in words), *PLAIN]
    return subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        start_new_session=True,
    )


def draw(path: Path, texts: list[str], **options) -> Path:
    with pymupdf.open() as document:
        for text in texts:
            document.new_page(width=220, height=90).insert_text((20, 50), text, fontsize=20)
        document.save(path, **options)
    return path


@pytest.fixture
def locked_pdf(tmp_path: Path) -> Path:
    return draw(
        tmp_path / "locked.pdf",
        ["Hidden words"],
        encryption=pymupdf.PDF_ENCRYPT_AES_256,
        user_pw="open sesame",
        owner_pw="owner",
    )


def test_standard_output_is_the_markdown_alone_and_equals_the_file(two_page_pdf: Path, tmp_path: Path):
    process = start(two_page_pdf)
    stdout, stderr = process.communicate(timeout=180)
    assert process.returncode == 0, stderr
    assert parse(two_page_pdf, "-o", tmp_path / "out.md") == 0
    written = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert stdout.decode() == written
    assert written.split() == ["Copper", "kettle", "Silver", "spoon"]
    assert b"two.pdf: 2 pages" in stderr
    assert b"\r" not in stderr  # no progress bar where there is no terminal
    assert not list(tmp_path.glob(".*"))


def test_format_follows_the_name_of_the_output(two_page_pdf: Path, tmp_path: Path, capsys):
    assert parse(two_page_pdf, "-o", tmp_path / "out.json", "--pages", "2", "--quiet") == 0
    document = json.loads((tmp_path / "out.json").read_text())
    assert [page["page_number"] for page in document["pages"]] == [2]
    assert capsys.readouterr() == ("", "")


def test_several_files_go_into_a_folder_and_a_bad_one_does_not_stop_the_rest(
    two_page_pdf: Path, tmp_path: Path, capsys
):
    (tmp_path / "other").mkdir()
    namesake = draw(tmp_path / "other" / "two.pdf", ["Iron anvil"])
    broken = tmp_path / "words.pdf"
    broken.write_text("only words")
    out = tmp_path / "results"
    assert parse(two_page_pdf, broken, tmp_path / "absent.pdf", namesake, "-o", out, "--format", "html") == 4
    assert sorted(path.name for path in out.iterdir()) == ["two-2.html", "two.html"]
    assert "Iron anvil" in (out / "two-2.html").read_text()
    errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("longscribe:")]
    assert [line.split(":")[1].strip() for line in errors] == ["words.pdf", "absent.pdf"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["absent.pdf"], 14, "no such file"),
        (["two.pdf", "two.pdf"], 3, "-o"),
        (["two.pdf", "--pages", "7-"], 7, "7"),
        (["two.pdf", "--set", "loader.dip=90"], 3, "loader.dpi"),
        (["two.pdf", "--set", "loader.dpi"], 3, "section.key=value"),
        (["two.pdf", "--dpi", "5"], 3, "between 36 and 600"),
        (["two.pdf", "--model", "nobody"], 3, "nobody"),
        (["two.pdf", "-o", "nowhere/out.md"], 15, "nowhere"),
    ],
)
def test_an_error_is_one_line_and_its_own_exit_code(
    words: list[str], code: int, said: str, two_page_pdf: Path, capsys, monkeypatch
):
    monkeypatch.chdir(two_page_pdf.parent)
    assert main(["parse", *PLAIN, *words]) == code
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1


def test_wrong_usage_does_not_exit_like_a_warning(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["parse", "--dpi", "many", "x.pdf"])
    assert caught.value.code == 3
    assert "many" in capsys.readouterr().err


def test_pages_that_did_not_end_well_are_listed_and_exit_with_two(two_page_pdf: Path, tmp_path: Path, capsys):
    assert (
        parse(two_page_pdf, "-o", tmp_path / "out.md", "--quiet", "--set", "reader.page_timeout_s=1e-9") == 2
    )
    err = capsys.readouterr().err
    assert "pages 1-2 timeout: Reading took longer" in err
    assert "page_timeout_s" in err


def test_a_locked_file_without_a_person_to_ask_says_so(locked_pdf: Path, tmp_path: Path, capsys):
    assert parse(locked_pdf, "-o", tmp_path / "out.md") == 5
    assert "password" in capsys.readouterr().err.lower()
    assert not (tmp_path / "out.md").exists()


@pytest.mark.parametrize(("password", "code"), [("open sesame", 0), ("guess", 5)])
def test_the_password_can_come_by_standard_input(
    password: str, code: int, locked_pdf: Path, tmp_path: Path, monkeypatch, capsys
):
    reading, writing = os.pipe()
    os.write(writing, f"{password}\n".encode())
    os.close(writing)
    with os.fdopen(reading) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        assert parse(locked_pdf, "-o", tmp_path / "out.md", "--password-stdin") == code
    assert (tmp_path / "out.md").exists() == (code == 0)
    assert password not in capsys.readouterr().err


def test_a_person_is_asked_until_the_password_fits(locked_pdf: Path, tmp_path: Path):
    """At a real terminal: a wrong password, then the right one, then a progress bar."""
    try:
        terminal, far_end = os.openpty()
    except OSError:
        pytest.skip("needs pseudo-terminals (/dev/pts)")
    termios.tcsetwinsize(far_end, (24, 150))
    command = [
        sys.executable,
        "-m",
        "ocr_app",
        "parse",
        str(locked_pdf),
        "-o",
        str(tmp_path / "out.md"),
        *PLAIN,
    ]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=far_end, stdout=far_end, stderr=far_end, start_new_session=True
    )
    os.close(far_end)
    said = b""
    for answer in (b"guess\n", b"open sesame\n"):
        said += read_until(terminal, b"Password for locked.pdf: ")
        assert said.endswith(b"Password for locked.pdf: ")
        os.write(terminal, answer)
    said += read_until(terminal, None)
    os.close(terminal)
    assert process.wait(180) == 0
    assert b"sesame" not in said
    assert b"locked.pdf 1/1 |" in said
    assert b"pages/s" in said
    assert (tmp_path / "out.md").read_text().strip() == "Hidden words"


def read_until(terminal: int, end: bytes | None) -> bytes:
    """What the terminal shows up to `end`, or until the program is gone."""
    shown = b""
    while end is None or not shown.endswith(end):
        try:
            shown += os.read(terminal, 4096)
        except OSError:  # Linux reports a terminal without a program this way
            break
    return shown


def test_ctrl_c_writes_what_is_done(tmp_path: Path):
    process = start(draw(tmp_path / "long.pdf", [f"Page number {n}" for n in range(1, 301)]))
    first_line = process.stdout.readline()
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: the whole group
    rest, stderr = process.communicate(timeout=180)
    assert process.returncode == 130, stderr
    assert first_line.split()[0] == b"Page"
    assert len(rest.split(b"Page")) < 300
    assert b"-300 cancelled: Stopped before this page was read." in stderr
    assert b"failed" not in stderr
    assert b"Traceback" not in stderr


def test_a_closed_pipe_ends_the_work_quietly(tmp_path: Path):
    with start(draw(tmp_path / "long.pdf", [f"Page number {n}" for n in range(1, 301)])) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(timeout=180) == 141
        assert process.stderr.read() == b""


def test_benches_are_listed_and_an_unknown_one_is_refused(capsys):
    assert main(["bench"]) == 0
    assert "accuracy" in capsys.readouterr().out.split()
    assert main(["bench", "nonsense"]) == 3
    assert "accuracy" in capsys.readouterr().err


def test_models_are_listed(capsys):
    assert main(["models"]) == 0
    assert capsys.readouterr().out.splitlines() == ["embedded (default)", "plain"]


def test_a_very_long_name_is_shortened_and_later_files_are_read(two_page_pdf: Path, tmp_path: Path):
    (tmp_path / "out").mkdir()
    long = [tmp_path / f"{'ä' * 120}{ending}.pdf" for ending in ("one", "two")]
    for path, text in zip(long, ("Iron anvil", "Brass bell"), strict=True):
        draw(path, [text])
    assert parse(*long, two_page_pdf, "-o", tmp_path / "out", "--quiet") == 0
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    assert len(names) == 3
    assert names[0] == "two.md"
    assert all(len(name.encode()) <= 210 and name.startswith("ä" * 90) for name in names[1:])
    texts = {(tmp_path / "out" / name).read_text().strip() for name in names[1:]}
    assert texts == {"Iron anvil", "Brass bell"}


def test_what_is_to_know_of_pages_is_said_once(two_page_pdf: Path, tmp_path: Path, capsys):
    assert (
        parse(two_page_pdf, "-o", tmp_path / "a.md", "--set", "loader.max_pixels=40000", "--dpi", "300") == 0
    )
    lines = capsys.readouterr().err.splitlines()
    assert [line.split(":")[0].strip() for line in lines[1:]] == ["pages 1-2"]
    assert "instead of 300" in lines[1]


def test_a_picture_cut_short_is_done_with_warnings(tmp_path: Path, capsys):
    with pymupdf.open() as document:
        document.new_page(width=440, height=600).insert_text((20, 50), "Copper kettle", fontsize=40)
        data = document[0].get_pixmap(dpi=100).tobytes("jpeg")
    (tmp_path / "cut.jpg").write_bytes(data[: len(data) * 2 // 3])
    assert parse(tmp_path / "cut.jpg", "-o", tmp_path / "a.md") == 2
    assert "page 1 incomplete: A part of the page may be missing" in capsys.readouterr().err
