"""One running app and one browser for all browser tests; documents are drawn here.

Without Chromium the browser tests skip; with REQUIRE_BROWSER=1 they fail instead.
"""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ocr_app.bench.app import CHROMIUM_ARGS, running_app
from tests.needs import BROWSER, IS_BROWSER_REQUIRED, has_browser

ROOT = Path(__file__).parents[2]
OUTPUT = ROOT / "tests" / "output"
NUM_LONG_PAGES = 60


@pytest.fixture(scope="package")  # not longer: another browser could not be driven from this thread meanwhile
def browser() -> Iterator[Any]:
    if not has_browser():
        refuse = pytest.fail if IS_BROWSER_REQUIRED else pytest.skip
        refuse(f"needs {BROWSER}")
    from playwright.sync_api import sync_playwright

    OUTPUT.mkdir(exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM_ARGS)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def app_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The app as a person starts it, with the plain reader; `embedded` can be chosen and has weights that
    learned nothing.

    LONGSCRIBE_URL names an app that runs already, for working on these tests.
    """
    if os.environ.get("LONGSCRIBE_URL"):
        yield os.environ["LONGSCRIBE_URL"]
        return
    from tests.ui.random_reader import write_random_reader

    weights = write_random_reader(tmp_path_factory.mktemp("reader") / "reader.safetensors")
    settings = {
        "OCR_APP_MODEL": "plain",
        "OCR_APP_READER_WEIGHT_PATH": str(weights),
        "OCR_APP_READER_THREADS": "1",
        "OCR_APP_ENCODER_THREADS": "1",
        "OCR_APP_LOADER_MAX_FILE_BYTES": str(4 * 2**20),
    }
    log: list[str] = []
    try:
        with running_app(settings, log) as (url, _process):
            yield url
    finally:
        OUTPUT.mkdir(exist_ok=True)
        (OUTPUT / "app.log").write_text("".join(log))


@pytest.fixture
def open_page(browser: Any, app_url: str) -> Iterator[Callable[..., Any]]:
    """Opens the app as a new person; afterwards, nothing was asked of another host and no script failed."""
    contexts, outside, errors = [], [], []

    def open_one(**options: Any) -> Any:
        context = browser.new_context(
            **{"viewport": {"width": 1440, "height": 950}, "accept_downloads": True, **options}
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(150_000)  # a busy machine parses the chart library for half a minute
        page.on(
            "request",
            lambda request: (
                None if request.url.startswith((app_url, "data:", "blob:")) else outside.append(request.url)
            ),
        )
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
    draw(
        folder / "alpha.pdf",
        [
            [f"Alpha page {n}", "The river runs past the old mill", "and under the bridge"]
            for n in range(1, 4)
        ],
    )
    draw(folder / "bravo.pdf", [[f"Bravo page {n}", "Bread and salt on the table"] for n in range(1, 3)])
    draw(
        folder / "long.pdf",
        [
            [f"Section {n}", *[f"Line {line} of a long page with words" for line in range(30)]]
            for n in range(1, NUM_LONG_PAGES + 1)
        ],
    )
    draw(folder / "compare.pdf", [[f"Report {n}", "Grain stored", "Water drawn"] for n in range(1, 11)])
    draw(folder / "locked.pdf", [["Locked page", "Opened with the right word"]], password="sesame")
    hostile = [
        "<img src=x onerror=window.hacked=1>",
        "<script>window.hacked=1</script>",
        "[link](javascript:window.hacked=1)",
    ]
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
    locks = (
        {"encryption": pymupdf.PDF_ENCRYPT_AES_256, "user_pw": password, "owner_pw": "owner"}
        if password
        else {}
    )
    document.save(path, **locks)
    document.close()
