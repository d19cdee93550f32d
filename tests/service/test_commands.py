"""The service by its commands, as an operator and a user have them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from ocr_app.bench.app import running_app
from ocr_app.service.keys import Role
from tests.service.conftest import serving

ROOT = Path(__file__).parents[2]


def command(*words: str, **environment: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "ocr_app", *words],
        cwd=ROOT,
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_keys_are_made_listed_and_revoked(tmp_path):
    here = {"OCR_APP_SERVICE_FOLDER": str(tmp_path)}
    made = command("keys", "add", "ana", "--role", "reader", **here)
    assert re.fullmatch(r"lsk_[\w-]{40,}\n", made.stdout)
    assert made.stdout.strip() not in command("keys", "list", **here).stdout
    assert "ana  reader" in command("keys", "list", **here).stdout
    assert "There is a key named 'ana'" in command("keys", "add", "ana", **here).stderr
    assert command("keys", "revoke", "ana", **here).returncode == 0
    assert "revoked" in command("keys", "list", **here).stdout
    assert command("keys", "revoke", "ana", **here).returncode == 19


def test_submit_watch_and_fetch(tmp_path, two_page_pdf):
    from ocr_app.models.base import READERS

    READERS["line"] = "tests.service.test_nasty:open_line_reader"
    try:
        with serving(tmp_path / "work", is_scripted=False, auth="on") as running:
            there = {"LONGSCRIBE_URL": running.url}
            assert "A key is needed" in command("submit", str(two_page_pdf), **there).stderr
            there["LONGSCRIBE_KEY"] = running.service.keys.add("ana", Role.USER)[1]
            sent = command("submit", str(two_page_pdf), "--wait", **there)
            assert "page 2  " in sent.stderr
            assert sent.returncode in (0, 2)
            job = sent.stdout.strip()
            assert command("watch", job, **there).returncode == sent.returncode
            target = tmp_path / "two.zip"
            assert command("fetch", job, "-o", str(target), **there).returncode == 0
            assert target.read_bytes().startswith(b"PK")
            assert command("fetch", "nothing", **there).returncode == 19
    finally:
        del READERS["line"]


def test_serve_reads_a_document_and_ends_when_told(tmp_path, two_page_pdf):
    environment = os.environ | {
        "OCR_APP_SERVICE_FOLDER": str(tmp_path / "work"),
        "OCR_APP_MODEL": "plain",
        "OCR_APP_SERVICE_AUTH": "on",
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "ocr_app", "serve", "--port", "0"],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            secret = next(found[0] for line in process.stderr if (found := re.search(r"lsk_\S+", line)))
            url = re.search(r"http://\S+", process.stdout.readline())[0]
            with httpx.Client(base_url=url, headers={"X-API-Key": secret}, timeout=30) as client:
                assert client.get("/").status_code == 404
                answer = client.post("/v1/jobs", files={"file": ("two.pdf", two_page_pdf.read_bytes())})
                with client.stream("GET", f"{answer.headers['location']}/events") as events:
                    text = events.read().decode()
            assert "Copper kettle" in text
        finally:
            process.send_signal(signal.SIGTERM)
            process.stderr.read()
    assert process.returncode in (0, -signal.SIGTERM)


def test_the_app_shows_the_page_and_answers_beside_it(tmp_path):
    settings = {"OCR_APP_SERVICE_FOLDER": str(tmp_path / "work"), "OCR_APP_SERVICE_AUTH": "on"}
    log: list[str] = []
    with running_app(settings, log) as (url, _process):
        secret = re.search(r"lsk_\S+", "".join(log))[0]
        with httpx.Client(base_url=url, timeout=30) as client:
            assert client.get("/livez").text == "ok\n"
            assert client.get("/").status_code == 401
            assert client.get("/config").status_code == 401
            assert client.post("/gradio_api/upload", files={"files": b"x"}).status_code == 401
            client.headers["X-API-Key"] = secret
            page = client.get("/")
            assert page.status_code == 200
            assert "gradio" in page.text
            assert client.get("/v1/jobs").json()["jobs"] == []


@pytest.mark.parametrize("words", [("keys", "add"), ("serve", "--config", "missing.yaml")])
def test_wrong_use_is_told(words, tmp_path):
    told = command(*words, OCR_APP_SERVICE_FOLDER=str(tmp_path))
    assert told.returncode == 3
    assert told.stderr.startswith("longscribe: ")
