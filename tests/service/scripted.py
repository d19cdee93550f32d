"""Documents that are a line of JSON, read by a script: a service can be tested without drawing a page."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from ocr_app.config import AppConfig
from ocr_app.document.pages import parse_page_range
from ocr_app.errors import OutOfMemoryError
from ocr_app.types import (
    DocumentFinished,
    Event,
    KVSample,
    Outcome,
    PageFinished,
    PageResult,
    Telemetry,
    TextDelta,
    Verdict,
)

STEP_S = 0.001


def document(
    marker: str,
    num_pages: int,
    *,
    page_s: float = 0.0,
    log: str = "",
    oom_page: int = 0,
    least_window: int = 64,
) -> bytes:
    """The bytes of a scripted document. `log` names a file that gets a line for each page begun."""
    told = dict(locals())
    return b"%PDF-" + json.dumps(told).encode()


def page_text(marker: str, page_index: int) -> str:
    return f"{marker} page {page_index + 1}"


def parse(
    source: bytes | Path,
    config: AppConfig,
    *,
    password: str | None = None,
    pages: str | None = None,
    should_stop: Callable[[], bool],
) -> Iterator[Event]:
    """Takes the place of `reading.read_document`. Memory is used up at `oom_page` by a window
    of `least_window` or more.
    """
    data = source if isinstance(source, bytes) else source.read_bytes()
    told = json.loads(data.removeprefix(b"%PDF-"))
    indices = parse_page_range(pages, told["num_pages"])
    is_stopped = False
    for num_done, index in enumerate(indices):
        if told["oom_page"] == index + 1 and config.sparsity.page_window >= told["least_window"]:
            raise OutOfMemoryError("The KV cache has no room left.")
        if told["log"] and not is_stopped:
            with open(told["log"], "a") as log:
                log.write(f"{index}\n")
        result = None
        for result in _page(told, index, should_stop):
            if isinstance(result, TextDelta):
                yield result
        is_stopped = is_stopped or result.verdict is Verdict.CANCELLED
        yield PageFinished(result)
        yield Telemetry(
            0.1 * num_done,
            index,
            KVSample(4096, 2048, 64, step_s=0.002),
            (),
            10**8,
            num_done + 1,
            len(indices),
        )
    yield DocumentFinished(Outcome.CANCELLED if is_stopped else Outcome.DONE, len(indices))


def _page(told: dict, index: int, should_stop: Callable[[], bool]) -> Iterator[TextDelta | PageResult]:
    started_s = time.monotonic()
    while not should_stop():
        if time.monotonic() - started_s >= told["page_s"]:
            text = page_text(told["marker"], index)
            for word in text.split(" "):
                yield TextDelta(index, word if word == text.split(" ")[0] else " " + word)
            yield PageResult(index, Verdict.OK, markdown=text, num_tokens=3, decode_s=told["page_s"])
            return
        time.sleep(min(STEP_S, told["page_s"]))
    yield PageResult(index, Verdict.CANCELLED, reason="Stopped.")
