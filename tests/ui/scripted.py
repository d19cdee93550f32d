"""A document that was read before it was opened: events in the order and the shape of the pipeline's, for
tests of the page's logic.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from ocr_app.config import AppConfig
from ocr_app.types import (
    DeviceMemory,
    DocumentFinished,
    Event,
    KVSample,
    Outcome,
    PageFinished,
    PageImage,
    PageResult,
    PageStarted,
    Piece,
    Region,
    RegionKind,
    ResidentPage,
    ResidentState,
    Run,
    Telemetry,
    TextDelta,
    Verdict,
)

PAGE_BYTES = 2**20
POOL_BYTES = 3 * PAGE_BYTES


def words_of_page(page_index: int, num_words: int = 40) -> list[str]:
    return [f"word{page_index}-{position}" for position in range(num_words)]


def runs_of(words: list[str]) -> tuple[Run, ...]:
    """Ten words a line."""
    return tuple(
        Run(
            word,
            (20 + 35 * (i % 10), 30 + 15 * (i // 10), 50 + 35 * (i % 10), 40 + 15 * (i // 10)),
            0.9,
            True,
            i // 10,
            i % 10,
        )
        for i, word in enumerate(words)
    )


def image_of(page_index: int) -> PageImage:
    pixels = np.full((500, 400, 3), 245, dtype=np.uint8)
    pixels[30:40, 20:350] = 40
    return PageImage(page_index, pixels, 50.0, 576.0, 720.0)


def telemetry(page_index: int, time_s: float, num_pages: int, *, is_full: bool = False) -> Telemetry:
    live = PAGE_BYTES * (page_index + 1) if is_full else PAGE_BYTES * min(page_index + 1, 2)
    resident = [ResidentPage(page_index, ResidentState.ACTIVE, 20)]
    if page_index:
        resident.append(ResidentPage(page_index - 1, ResidentState.OVERLAP, 20))
    resident += [
        ResidentPage(index, ResidentState.RETAINED, 2)
        for index in range(max(0, page_index - 4), page_index - 1)
    ]
    kv = KVSample(
        max(live, POOL_BYTES),
        live,
        512,
        tuple(resident),
        40 * page_index,
        0.004 + (0.001 * page_index if is_full else 0),
    )
    return Telemetry(
        time_s=time_s,
        page_index=page_index,
        kv=kv,
        devices=(DeviceMemory("process memory", 400 * 2**20 + live, 8 * 2**30),),
        process_bytes=400 * 2**20,
        num_pages_done=page_index,
        num_pages_total=num_pages,
        tokens_per_s=120.0,
        pages_per_s=1.5,
        ttft_s=0.4,
        eta_s=(num_pages - page_index) / 1.5,
        eta_low_s=(num_pages - page_index) / 2,
        eta_high_s=(num_pages - page_index) / 1.2,
        num_reuse_hits=3,
        num_reuse_lookups=40,
    )


def result_of(page_index: int, words: list[str], verdict: Verdict = Verdict.OK) -> PageResult:
    pieces = tuple(Piece(("" if i == 0 else " ") + word, i) for i, word in enumerate(words))
    return PageResult(
        page_index,
        verdict,
        " ".join(words),
        regions=(Region(RegionKind.PARAGRAPH, pieces),),
        runs=runs_of(words),
        num_tokens=len(words),
    )


def page_events(page_index: int, num_pages: int, *, is_full: bool = False) -> Iterator[Event]:
    """One good page: started, four deltas with a reading after each, finished."""
    words = words_of_page(page_index)
    yield PageStarted(
        page_index,
        image_of(page_index),
        runs_of(words),
        ((10.0, 10.0, 40.0, 30.0),) if page_index == 1 else (),
    )
    for start in range(0, len(words), 10):
        text = ("" if start == 0 else " ") + " ".join(words[start : start + 10])
        yield TextDelta(page_index, text, tuple(range(start, start + 10)))
        yield telemetry(page_index, 4 * page_index + start / 10, num_pages, is_full=is_full)
    yield PageFinished(result_of(page_index, words))


def scripted_parse(num_pages: int, delay_s: float = 0.0) -> Callable[..., Iterator[Event]]:
    """A parse_document over `num_pages` good pages; stops as the real one does, with a record for every
    page.
    """

    def parse(
        source: Path,
        config: AppConfig,
        *,
        password: str | None = None,
        pages: str | None = None,
        should_stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Event]:
        is_full = config.reader.mode == "full"
        done = 0
        for page_index in range(num_pages):
            for event in page_events(page_index, num_pages, is_full=is_full):
                if should_stop():
                    break
                time.sleep(delay_s)
                yield event
            else:
                done += 1
                continue
            break
        for page_index in range(done, num_pages):
            yield PageFinished(PageResult(page_index, Verdict.CANCELLED, reason="stopped"))
        counts = {Verdict.OK: done} | ({Verdict.CANCELLED: num_pages - done} if done < num_pages else {})
        outcome = Outcome.DONE if done == num_pages else Outcome.CANCELLED
        yield DocumentFinished(
            outcome, num_pages, counts, 1.0, PAGE_BYTES * num_pages if is_full else POOL_BYTES
        )

    return parse
