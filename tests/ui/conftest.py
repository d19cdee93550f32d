"""One running app and one browser for all browser tests; documents are drawn here.

Without Chromium or playwright the browser tests skip and say why; with REQUIRE_BROWSER=1 they fail instead.
"""

import os
import re
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "tests" / "output"
CHROMIUM_ARGS = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
START_TIMEOUT_S = 120
NUM_LONG_PAGES = 60


def missing(what: str) -> None:
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"{what} is missing and REQUIRE_BROWSER=1")
    pytest.skip(f"{what} is missing")


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    chromium = shutil.which("chromium")
    if chromium is None:
        missing("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("playwright")
    OUTPUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app as a person starts it, with the plain reader; `embedded` can be chosen and has weights that learned nothing.

    LONGSCRIBE_URL names an app that runs already, for working on these tests.
    """
    if os.environ.get("LONGSCRIBE_URL"):
        yield os.environ["LONGSCRIBE_URL"]
        return
    from tests.ui.random_reader import write_random_reader

    weights = write_random_reader(tmp_path_factory.mktemp("reader") / "reader.safetensors")
    environment = os.environ | {
        "OCR_APP_MODEL": "plain",
        "OCR_APP_READER_WEIGHT_PATH": str(weights),
        "OCR_APP_READER_THREADS": "1",
        "OCR_APP_ENCODER_THREADS": "1",
        "OCR_APP_LOADER_MAX_FILE_BYTES": str(4 * 2**20),
        "OCR_APP_PORT": str(free_port()),
        "PYTHONUNBUFFERED": "1",
    }
    with subprocess.Popen(
        [sys.executable, str(ROOT / "app.py")], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=ROOT
    ) as process:
        lines: list[str] = []
        found = threading.Event()
        reader = threading.Thread(target=collect, args=(process, lines, found), daemon=True)
        reader.start()
        try:
            assert found.wait(START_TIMEOUT_S), "the app did not start:\n" + "".join(lines)
            url = next(match.group() for line in lines if (match := re.search(r"http://127\.0\.0\.1:\d+", line)))
            yield url
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            reader.join(5)
            (OUTPUT / "app.log").write_text("".join(lines))


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def collect(process: subprocess.Popen, lines: list[str], found: threading.Event) -> None:
    for line in process.stdout:
        lines.append(line)
        if "http://127.0.0.1" in line:
            found.set()


@pytest.fixture
def open_page(browser: Any, app_url: str) -> Iterator[Callable[..., Any]]:
    """Opens the app as a new person; afterwards, nothing was asked of another host and no script failed."""
    contexts, outside, errors = [], [], []

    def open_one(**options: Any) -> Any:
        context = browser.new_context(**{"viewport": {"width": 1440, "height": 950}, "accept_downloads": True, **options})
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(150_000)  # a busy machine parses the chart library for half a minute
        page.on("request", lambda request: None if request.url.startswith((app_url, "data:", "blob:")) else outside.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("dialog", lambda dialog: (errors.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(app_url, wait_until="domcontentloaded")
        page.wait_for_selector("body[data-ls-ready]", state="attached")
        return page

    yield open_one
    for context in contexts:
        context.close()
    assert not outside
    assert not errors


@pytest.fixture(scope="session")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of small PDFs."""
    folder = tmp_path_factory.mktemp("documents")
    draw(folder / "alpha.pdf", [[f"Alpha page {n}", "The river runs past the old mill", "and under the bridge"] for n in range(1, 4)])
    draw(folder / "bravo.pdf", [[f"Bravo page {n}", "Bread and salt on the table"] for n in range(1, 3)])
    draw(
        folder / "long.pdf",
        [[f"Section {n}", *[f"Line {line} of a long page with words" for line in range(30)]] for n in range(1, NUM_LONG_PAGES + 1)],
    )
    draw(folder / "compare.pdf", [[f"Report {n}", "Grain stored", "Water drawn"] for n in range(1, 7)])
    draw(folder / "locked.pdf", [["Locked page", "Opened with the right word"]], password="sesame")
    hostile = ["<img src=x onerror=window.hacked=1>", "<script>window.hacked=1</script>", "[link](javascript:window.hacked=1)"]
    draw(folder / "hostile.pdf", [hostile], title="<img src=x onerror=window.hacked=1>")
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7\nnothing of a document follows")
    return folder


def draw(path: Path, pages: list[list[str]], *, password: str | None = None, title: str = "") -> None:
    import pymupdf

    document = pymupdf.open()
    for lines in pages:
        page = document.new_page(width=420, height=594)
        for position, line in enumerate(lines):
            page.insert_text((36, 60 + position * 17), line, fontsize=18 if position == 0 else 11)
    document.set_metadata({"title": title})
    locks = {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": password, "owner_pw": "owner"} if password else {}
    document.save(path, **locks)
    document.close()
