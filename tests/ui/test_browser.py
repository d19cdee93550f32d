"""The page in a real browser, as persons use it."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest

from tests.ui.conftest import NUM_LONG_PAGES, OUTPUT

pytestmark = pytest.mark.browser

OVER = "body[data-ls=done], body[data-ls=warnings]"
OpenPage = Callable[..., Any]


def upload(page: Any, *paths: Path) -> None:
    page.set_input_files("#ls-files input[type=file]", [str(path) for path in paths])
    page.wait_for_function(
        "name => document.querySelector('#ls-files').innerText.includes(name)", arg=paths[-1].stem
    )


def read(page: Any, path: Path) -> None:
    upload(page, path)
    page.click("#ls-read")


def wait_over(page: Any) -> None:
    page.wait_for_selector(OVER, state="attached", timeout=150_000)


def text_of(page: Any, lane: int = 0) -> str:
    return page.inner_text(f'[data-lane="{lane}"] .ls-scroll')


def live_curve(page: Any, name: str) -> list[float]:
    """The values of one curve of the KV chart as Plotly holds them."""
    return page.wait_for_function(  # the chart is drawn before its first curve comes
        "name => document.querySelector('#ls-kv-chart .js-plotly-plot')?.data"
        "?.find((trace) => trace.name.includes(name))?.y",
        arg=name,
    ).json_value()


def choose(page: Any, dropdown: str, value: str) -> None:
    page.click(f"{dropdown} input")
    page.get_by_role("option", name=value).click()


def download(page: Any, name: str, path: Path) -> Path:
    """Press a download button; the file comes under the name it is to have."""
    page.wait_for_selector(f"#ls-download-{name}:not([disabled]), #ls-download-{name} a")
    with page.expect_download() as started:
        page.click(f"#ls-download-{name}")
    assert started.value.suggested_filename == path.name
    started.value.save_as(path)
    return path


def screenshot(page: Any, name: str) -> None:
    page.screenshot(path=OUTPUT / f"{name}.png")


def test_text_is_linked_to_the_picture_searched_copied_and_downloaded(
    open_page: OpenPage, documents: Path, tmp_path: Path
):
    page = open_page(permissions=["clipboard-read", "clipboard-write"])
    screenshot(page, "start")
    read(page, documents / "alpha.pdf")
    wait_over(page)
    page.wait_for_function("() => document.querySelectorAll('.ls-page [data-run]').length > 20")
    assert [f"Alpha page {n}" in text_of(page) for n in (1, 2, 3)] == [True] * 3

    # a box scrolls to its text; selected text lights its boxes
    page.click(".ls-thumb[data-page='1']")
    page.wait_for_function("() => document.querySelector('#ls-viewer-title').textContent.includes('2')")
    page.locator("#ls-picture rect[data-run='1']").dispatch_event("click")
    page.wait_for_selector('.ls-page[data-page="1"] [data-run="1"].ls-flash')
    page.evaluate(
        """() => {
            const span = document.querySelector('.ls-page[data-page="2"] [data-run="0"]');
            document.getSelection().selectAllChildren(span);
        }"""
    )
    page.wait_for_function(
        "() => document.querySelector('#ls-viewer-title').textContent.includes('3')"
        " && document.querySelector('#ls-picture rect.lit')"
    )
    screenshot(page, "read")

    page.fill("#ls-search", "BRIDGE")
    page.wait_for_selector("#ls-finds mark")
    assert page.locator("#ls-finds mark").count() == 3
    page.click("#ls-views [data-view=raw]")
    page.wait_for_function("() => document.querySelector('.ls-body pre')?.textContent.includes('mill')")

    page.click("#ls-copy")
    page.wait_for_function("async () => (await navigator.clipboard.readText()).includes('Alpha page 3')")
    page.evaluate(
        "() => { Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true }) }"
    )
    page.evaluate(
        "() => { document.execCommand = (name) => { window.copied = name + document.activeElement.value } }"
    )
    page.click("#ls-copy")  # as over plain HTTP
    page.wait_for_function(
        "() => window.copied?.startsWith('copy') && window.copied.includes('Alpha page 3')"
    )

    assert "old mill" in download(page, "markdown", tmp_path / "alpha.md").read_text()
    page.check("#ls-furniture")
    page.wait_for_function("() => document.querySelector('.ls-body pre')?.textContent.includes('mill')")
    page.wait_for_timeout(500)
    assert "old mill" in download(page, "markdown", tmp_path / "alpha.md").read_text()
    pages = json.loads(download(page, "json", tmp_path / "alpha.json").read_text())["pages"]
    assert [len(one["runs"]) > 5 for one in pages] == [True] * 3
    assert "old mill" in download(page, "html", tmp_path / "alpha.html").read_text()
    with ZipFile(download(page, "zip", tmp_path / "alpha.zip")) as archive:
        assert any(name.endswith(".md") for name in archive.namelist())
    assert "<svg" in download(page, "report", tmp_path / "alpha.report.html").read_text()

    page.click("#ls-jobs button:has-text('Delete')")
    page.wait_for_selector("body:not([data-ls])", state="attached")
    assert page.locator("#ls-jobs li").count() == 0


def test_full_attention_rises_beside_a_flat_line(open_page: OpenPage, documents: Path):
    page = open_page()
    upload(page, documents / "compare.pdf")
    page.click("#ls-settings button")
    choose(page, "#ls-model", "embedded")
    # so short a document fits into the usual windows whole; with small ones it is long
    page.fill("#ls-page_window input[type=number]", "0")
    page.fill("#ls-text_window input[type=number]", "16")
    page.press("#ls-text_window input[type=number]", "Tab")
    page.click("#ls-task label:has-text('Compare')")
    page.click("#ls-read")
    page.wait_for_selector("#ls-kv-chart .js-plotly-plot")
    at_start = len(live_curve(page, "live"))
    page.wait_for_selector("#ls-card table", timeout=240_000)
    page.wait_for_function("() => document.querySelector('#ls-kv-chart .js-plotly-plot').data.length === 6")
    page.wait_for_timeout(600)
    sparse, full = (
        [value for value in live_curve(page, f"{name} · live") if value]
        for name in ("SR-SWA", "Full attention")
    )
    assert len(sparse) > at_start
    assert full[-1] > 3 * full[0]
    assert max(sparse) < full[-1] / 1.5
    card = page.inner_text("#ls-card")
    assert "times the KV memory" in card
    assert "of the words agree" in card
    screenshot(page, "compare")
    page.click("#ls-views [data-view=diff]")
    page.wait_for_selector('[data-lane="1"] .ls-body pre')


def test_text_arrives_page_by_page_and_cancel_keeps_what_is_done_and_a_visit_can_be_reopened(
    open_page: OpenPage, documents: Path
):
    page = open_page()
    read(page, documents / "long.pdf")
    # text can be read while other pages are not done; the view follows the newest, so it need not be the
    # first page's
    num_done = page.wait_for_function(
        """() => {
            const isShown = [...document.querySelectorAll('.ls-page .ls-body')].some((body) =>
            body.innerText.includes('Line 3')); return isShown && 1 +
            document.querySelectorAll('.ls-page[data-verdict="ok"]').length;
        }"""
    ).json_value()
    assert num_done <= NUM_LONG_PAGES // 2
    screenshot(page, "running")
    began = time.monotonic()
    page.click("#ls-cancel")
    page.wait_for_selector("body[data-ls=cancelled]", state="attached")
    assert time.monotonic() - began < 15  # one second on a quiet machine, see README
    assert page.locator(".ls-page").count() == NUM_LONG_PAGES
    assert page.locator('.ls-page[data-verdict="cancelled"]').count() > 10
    page.click(".ls-thumb[data-page='0']")
    page.wait_for_function(
        "() => document.querySelector('.ls-page[data-page=\"0\"] .ls-body')?.innerText.includes('Line 3')"
    )

    page.click("#ls-new")
    upload(page, documents / "bravo.pdf")
    page.click("#ls-read")
    page.wait_for_function("() => document.querySelector('#ls-name').textContent === 'bravo.pdf'")
    wait_over(page)
    page.click("#ls-jobs li:has-text('long.pdf') button:has-text('Open')")
    page.wait_for_function("() => document.querySelector('#ls-name').textContent === 'long.pdf'")
    page.wait_for_function(
        "() => document.querySelector('.ls-page[data-page=\"0\"] .ls-body')?.innerText.includes('Line 3')"
    )


def test_locked_broken_and_hostile_files(open_page: OpenPage, documents: Path):
    page = open_page()
    page.click("#ls-read")
    page.wait_for_function(
        "() => document.querySelector('#ls-message').textContent.includes('Choose a document')"
    )

    read(page, documents / "locked.pdf")
    page.wait_for_selector("body[data-ls=password]", state="attached")
    page.fill("#ls-password input", "sesame")
    screenshot(page, "password")
    page.click("#ls-read")
    wait_over(page)
    page.wait_for_function("() => document.querySelector('.ls-body')?.innerText.includes('Opened')")
    page.wait_for_function("() => document.querySelector('#ls-password input').value === ''")

    for name, state in (("broken.pdf", "error"), ("hostile.pdf", "done")):
        page.click("#ls-new")
        page.click("#ls-files button[aria-label='Remove this file'], #ls-files [aria-label='Clear']")
        read(page, documents / name)
        page.wait_for_selector(f"body[data-ls={state}]", state="attached")
        if state == "error":
            assert "pages" in page.inner_text("#ls-message").lower()
            assert "/tmp" not in page.inner_text("#ls-message")
            screenshot(page, "error")
    page.wait_for_function("() => document.querySelector('.ls-body')?.innerText.length > 20")
    assert page.evaluate("() => window.hacked") is None
    assert page.locator(".ls-body img, .ls-body script, .ls-body a").count() == 0
    assert "script" in text_of(page)


def test_two_people_at_once_get_their_own_texts(open_page: OpenPage, documents: Path):
    first, second = open_page(), open_page()
    read(first, documents / "alpha.pdf")
    read(second, documents / "bravo.pdf")
    for page in (first, second):
        wait_over(page)
        page.wait_for_function(
            "() => [...document.querySelectorAll('.ls-body')].every((body) => body.innerText.length > 20)"
        )
    assert "Alpha" in text_of(first)
    assert "Bravo" not in text_of(first)
    assert "Bravo" in text_of(second)
    assert "Alpha" not in text_of(second)
    assert first.locator("#ls-jobs li").count() == second.locator("#ls-jobs li").count() == 1


def test_phone_in_the_dark_and_in_chinese(open_page: OpenPage, documents: Path):
    page = open_page(viewport={"width": 390, "height": 844}, color_scheme="dark", locale="zh-CN")
    page.wait_for_function("() => document.querySelector('#ls-read').textContent.includes('开始识别')")
    page.wait_for_function("() => document.querySelector('#ls-task').innerText.includes('与全注意力对比')")
    assert page.evaluate("() => document.body.classList.contains('dark')")
    screenshot(page, "phone-start")
    read(page, documents / "bravo.pdf")
    wait_over(page)
    page.wait_for_function("() => document.querySelector('.ls-body')?.innerText.includes('Bread')")
    assert page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert "完成" in page.inner_text("#ls-state")
    screenshot(page, "phone-dark-chinese")
    page.click("#ls-language")
    page.wait_for_function("() => document.querySelector('#ls-read').textContent.trim() === 'Read'")
    page.click("#ls-theme")
    assert not page.evaluate("() => document.body.classList.contains('dark')")
