"""KV memory of a reader over few and many pages, sparse and full: `python -m ocr_app bench reader_memory
FILE`.

The counters are those of the pipeline's telemetry: bytes allocated by the KV store, bytes in slots that hold
tokens, tokens read by one decode step. Peaks over the whole run are compared between the page counts. A
reader without KV, such as the plain one, leaves them unknown.
"""

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ocr_app.bench.environment import RESULTS, command, markdown_table, print_result
from ocr_app.config import AppConfig, EncoderConfig, LoaderConfig, ReaderConfig
from ocr_app.errors import ConfigError
from ocr_app.types import DocumentFinished, Event, Telemetry

COLUMNS = (
    "mode",
    "pages",
    "KV allocated MB",
    "KV live MB",
    "tokens read a step",
    "process MB",
    "s/page",
    "good pages",
)


@dataclass(frozen=True, slots=True)
class Peaks:
    """The highest of each counter over one run. None: never measured."""

    mode: str
    num_pages: int
    allocated_bytes: int | None
    live_bytes: int | None
    attended_tokens: int | None
    process_bytes: int | None
    elapsed_s: float
    num_good_pages: int


def main(argv: list[str]) -> int:
    options = _parse(argv)
    runs = [
        measure(options, mode, num_pages) for mode in options.modes for num_pages in sorted(options.pages)
    ]
    table = {"columns": COLUMNS, "rows": [_row(run) for run in runs]}
    print(markdown_table(**table))
    result = {
        "command": command("reader_memory", argv),
        "settings": {
            "file": options.file.name,
            "model": options.model,
            "encoder": options.encoder,
            "dpi": options.dpi,
        },
        "growth": growth(runs),
        "tables": {"reader-memory": table},
    }
    print_result("reader_memory", result, RESULTS / "reader_memory.json" if options.save else None)
    return 0


def measure(options: argparse.Namespace, mode: str, num_pages: int) -> Peaks:
    """Read the first pages of the file in one mode."""
    from ocr_app.pipeline import parse_document

    config = AppConfig(
        loader=LoaderConfig(dpi=options.dpi),
        encoder=EncoderConfig(quality=options.encoder, threads=options.threads),
        reader=ReaderConfig(
            model=options.model, mode=mode, threads=options.threads, weight_path=options.weights
        ),
    )
    print(f"{mode}, {num_pages} pages", file=sys.stderr)
    return peaks(mode, parse_document(options.file, config, pages=f"1-{num_pages}"))


def peaks(mode: str, events: Iterable[Event]) -> Peaks:
    """The highest counters of one document's events."""
    samples: list[Telemetry] = []
    end: DocumentFinished | None = None
    for event in events:
        if isinstance(event, Telemetry):
            samples.append(event)
        elif isinstance(event, DocumentFinished):
            end = event
    assert end is not None, "the events of a document end with DocumentFinished"
    readings = [sample.kv for sample in samples if sample.kv]
    return Peaks(
        mode=mode,
        num_pages=end.num_pages,
        allocated_bytes=_highest(reading.allocated_bytes for reading in readings),
        live_bytes=_highest(reading.live_bytes for reading in readings),
        attended_tokens=_highest(reading.attended_tokens for reading in readings),
        process_bytes=_highest(sample.process_bytes for sample in samples),
        elapsed_s=end.elapsed_s,
        num_good_pages=sum(count for verdict, count in end.verdict_counts.items() if verdict.is_good),
    )


def growth(runs: Iterable[Peaks]) -> dict[str, dict[str, Any]]:
    """By mode: what the most pages took over what the fewest took, 1 where nothing grows, None where it was
    not measured.
    """
    by_mode: dict[str, list[Peaks]] = {}
    for run in runs:
        by_mode.setdefault(run.mode, []).append(run)
    return {mode: _growth(min(of, key=_pages), max(of, key=_pages)) for mode, of in by_mode.items()}


def _growth(few: Peaks, many: Peaks) -> dict[str, Any]:
    return {
        "pages": [few.num_pages, many.num_pages],
        "allocated": _ratio(few.allocated_bytes, many.allocated_bytes),
        "live": _ratio(few.live_bytes, many.live_bytes),
        "attended": _ratio(few.attended_tokens, many.attended_tokens),
    }


def _pages(run: Peaks) -> int:
    return run.num_pages


def _ratio(few: int | None, many: int | None) -> float | None:
    return None if few is None or many is None or not few else round(many / few, 3)


def _highest(values: Iterable[int | None]) -> int | None:
    return max((value for value in values if value is not None), default=None)


def _row(run: Peaks) -> list[Any]:
    megabytes = [
        _megabytes(run.allocated_bytes),
        _megabytes(run.live_bytes),
        run.attended_tokens,
        _megabytes(run.process_bytes),
    ]
    return [run.mode, run.num_pages, *megabytes, f"{run.elapsed_s / run.num_pages:.2f}", run.num_good_pages]


def _megabytes(value: int | None) -> str | None:
    return None if value is None else f"{value / 1e6:.2f}"


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ocr_app bench reader_memory", description="KV memory over few and many pages."
    )
    parser.add_argument("file", type=Path, help="a document with at least as many pages as asked for")
    parser.add_argument(
        "--pages", type=_counts, default=[20, 64, 400], metavar="N,N", help="page counts to compare"
    )
    parser.add_argument(
        "--modes", type=lambda text: text.split(","), default=["sparse", "full"], metavar="MODE,..."
    )
    parser.add_argument("--model", default=ReaderConfig().model)
    parser.add_argument("--weights", metavar="FILE", help="of our reader; the shipped ones by default")
    parser.add_argument("--encoder", default=EncoderConfig().quality)
    parser.add_argument("--dpi", type=int, default=LoaderConfig().dpi)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--save", action="store_true", help="write assets/bench/reader_memory.json")
    return parser.parse_args(argv)


def _counts(text: str) -> list[int]:
    counts = [int(part) for part in text.split(",")]
    if min(counts) < 1:
        raise ConfigError(f"--pages is {text!r}; every count must be at least 1.")
    return counts
