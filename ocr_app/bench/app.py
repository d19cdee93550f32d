"""One job in the app, in a real browser, to its end: `python -m ocr_app bench app FILE`.

    heap MB      JavaScript heap of the page after a collection
    nodes        elements in the page
    received     bytes the page was sent since the line above, per page read meanwhile: with increments it
    does not grow with the pages done server MB    resident memory of the app's process

Needs playwright and Chromium (requirements-dev.txt; Debian package `chromium`). The app runs as `./run`
starts it.
"""

import argparse
import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from ocr_app.bench.environment import REPOSITORY, RESULTS, command, markdown_table, print_result
from ocr_app.errors import ConfigError

COLUMNS = ("pages done", "seconds", "heap MB", "nodes", "received kB a page", "server MB")
CHROMIUM_ARGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
IS_OVER = ("done", "warnings", "cancelled", "error", "password")
POLL_S = 1.0
START_S = 120.0
IS_DONE = ", ".join(f'[data-verdict="{verdict}"]' for verdict in ("ok", "blank", "incomplete"))
NUM_DONE = f"document.querySelectorAll('.ls-page:is({IS_DONE})').length"


@dataclass(frozen=True, slots=True)
class Reading:
    """The page and the app at one moment of the job."""

    num_pages: int
    elapsed_s: float
    heap_bytes: int
    num_nodes: int
    received_bytes: int
    server_bytes: int | None


def main(argv: list[str]) -> int:
    options = _parse(argv)
    with running_app() as (url, process), browser_page() as page:
        readings, state = (
            list(watch(page, url, options, process.pid)),
            page.evaluate("document.body.dataset.ls"),
        )
        num_listed = page.locator(".ls-page").count()
    table = {"columns": COLUMNS, "rows": rows(readings)}
    print(markdown_table(**table))
    result = {
        "command": command("app", argv),
        "state": state,
        "pages_listed": num_listed,
        "heap_growth": growth([reading.heap_bytes for reading in readings]),
        "received_growth": growth([row[4] for row in table["rows"][1:]]),
        "tables": {"app": table},
    }
    print_result("app", result, RESULTS / "app.json" if options.save else None)
    return 0 if state in ("done", "warnings") else 1


def watch(page: Any, url: str, options: argparse.Namespace, server_pid: int) -> Iterator[Reading]:
    """Start the job, and look at the page each time so many more pages are done, and at the end."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    received = [0]
    session.on(
        "Network.dataReceived", lambda event: received.__setitem__(0, received[0] + event["dataLength"])
    )
    page.goto(url, wait_until="domcontentloaded")
    page.wait_for_selector("body[data-ls-ready]", state="attached")
    page.set_input_files("#ls-files input[type=file]", str(options.file))
    page.wait_for_function(
        "name => document.querySelector('#ls-files').innerText.includes(name)", arg=options.file.stem
    )
    if options.pages:
        page.fill("#ls-pages textarea, #ls-pages input", options.pages)
    page.click("#ls-read")
    started, due = time.monotonic(), options.every
    while True:
        num_done, is_over = page.evaluate(f"[{NUM_DONE}, {list(IS_OVER)}.includes(document.body.dataset.ls)]")
        if num_done >= due or is_over:
            yield _look(page, session, num_done, time.monotonic() - started, received[0], server_pid)
            due = num_done - num_done % options.every + options.every
        if is_over:
            return
        page.wait_for_timeout(1000 * POLL_S)


def _look(
    page: Any, session: Any, num_done: int, elapsed_s: float, received_bytes: int, server_pid: int
) -> Reading:
    session.send("HeapProfiler.collectGarbage")
    usage = session.send("Runtime.getHeapUsage")
    num_nodes = page.evaluate("document.querySelectorAll('*').length")
    return Reading(
        num_done, elapsed_s, int(usage["usedSize"]), num_nodes, received_bytes, _resident_bytes(server_pid)
    )


def rows(readings: list[Reading]) -> list[list[Any]]:
    """One row a reading; what was received is counted from the reading before."""
    before, lines = Reading(0, 0.0, 0, 0, 0, None), []
    for reading in readings:
        kilobytes = (
            (reading.received_bytes - before.received_bytes)
            / 1e3
            / max(1, reading.num_pages - before.num_pages)
        )
        server_mb = None if reading.server_bytes is None else round(reading.server_bytes / 1e6)
        heap_mb = round(reading.heap_bytes / 1e6, 1)
        lines.append(
            [
                reading.num_pages,
                round(reading.elapsed_s),
                heap_mb,
                reading.num_nodes,
                round(kilobytes, 1),
                server_mb,
            ]
        )
        before = reading
    return lines


def growth(values: list[float]) -> float | None:
    """The last value over the middle one: 1 where nothing grows any more."""
    return (
        round(values[-1] / values[len(values) // 2], 3)
        if len(values) > 1 and values[len(values) // 2]
        else None
    )


@contextmanager
def running_app(
    settings: dict[str, str] | None = None, log: list[str] | None = None
) -> Iterator[tuple[str, subprocess.Popen]]:
    """The app in a process of its own, and its address. What it prints goes to `log`; settings are
    environment variables.

    Raises ConfigError when it does not start.
    """
    lines = log if log is not None else []
    environment = os.environ | {"OCR_APP_PORT": str(_free_port()), "PYTHONUNBUFFERED": "1"} | (settings or {})
    start = [sys.executable, str(REPOSITORY / "app.py")]
    with subprocess.Popen(
        start, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=REPOSITORY
    ) as process:
        address: Queue[str | None] = Queue()
        reader = Thread(
            target=_collect, args=(process, lines, address), daemon=True
        )  # else a full pipe would stop the app
        reader.start()
        try:
            yield _wait_for(address, lines), process
        finally:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(15)
            process.kill()
            reader.join(5)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def _collect(process: subprocess.Popen, lines: list[str], address: "Queue[str | None]") -> None:
    for line in process.stdout:
        lines.append(line)
        if match := re.search(r"http://127\.0\.0\.1:\d+", line):
            address.put(match.group())
    address.put(None)  # it ended


def _wait_for(address: "Queue[str | None]", lines: list[str]) -> str:
    with suppress(Empty):
        if url := address.get(timeout=START_S):
            return url
    raise ConfigError(f"The app did not start; it printed:\n{''.join(lines)}")


@contextmanager
def browser_page() -> Iterator[Any]:
    chromium = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        sync_playwright = None
    if chromium is None or sync_playwright is None:
        raise ConfigError(
            "This bench needs Chromium and playwright: `apt install chromium`, "
            "`pip install -r requirements-dev.txt`."
        )
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=CHROMIUM_ARGS)
        page = browser.new_page(viewport={"width": 1440, "height": 950})
        page.set_default_timeout(1000 * START_S)
        yield page
        browser.close()


def _resident_bytes(pid: int) -> int | None:
    import psutil

    with suppress(psutil.Error):
        return psutil.Process(pid).memory_info().rss
    return None


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ocr_app bench app", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--pages", default="", help="a range as in the page: 1-400")
    parser.add_argument("--every", type=int, default=50, help="pages between two looks")
    parser.add_argument("--save", action="store_true", help="keep the result in assets/bench")
    options = parser.parse_args(argv)
    if not options.file.exists():
        raise ConfigError(f"{options.file.name}: there is no such file.")
    return options
