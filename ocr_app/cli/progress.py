"""What a person sees on standard error while files are read: a bar, then what became of the pages."""

import sys
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from ocr_app.document.furniture import num_lines_set_aside, set_aside_note
from ocr_app.types import DocumentFinished, Event, PageFinished, PageResult, Telemetry

LAYOUT = "{desc} {n}/{total} |{bar}| "


class ProgressBar:
    """Pages done, pace, time left and verdicts so far, on a terminal; nothing elsewhere or when quiet."""

    def __init__(self, name: str, *, is_quiet: bool) -> None:
        self._name = name
        self._is_hidden = is_quiet or not sys.stderr.isatty()
        self._bar: Any = (
            None  # made at the first event: until then a password may be asked for on the same line
        )
        self._counts: dict[str, int] = {}

    def show(self, event: Event) -> None:
        if self._is_hidden:
            return
        if self._bar is None:
            from tqdm import tqdm

            self._bar = tqdm(desc=self._name, total=0, file=sys.stderr, leave=False, bar_format=LAYOUT)
        if isinstance(event, PageFinished):
            verdict = event.result.verdict.value
            self._counts[verdict] = self._counts.get(verdict, 0) + 1
            self._bar.update()
        elif isinstance(event, Telemetry):
            self._bar.total = event.num_pages_total
            self._bar.bar_format = LAYOUT + " · ".join(_status(event, self._counts))
            self._bar.refresh()

    def close(self) -> None:
        if self._bar is not None:
            self._bar.close()


def summary(name: str, finished: DocumentFinished) -> str:
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in finished.verdict_counts.items())
    lines = [
        f"{name}: {_pages(finished.num_pages)} in {finished.elapsed_s:.1f} s: {counts or 'nothing read'}"
    ]
    return "\n".join([*lines, *(f"  {note}" for note in finished.notes)])


def warnings(results: Iterable[PageResult]) -> list[str]:
    """One line for each stretch of pages that did not end well in the same way."""
    bad = [result for result in results if not result.verdict.is_good]
    lines = []
    for (verdict, reason), group in groupby(bad, key=lambda result: (result.verdict, result.reason)):
        lines += [
            f"  {numbers} {verdict.value}: {reason}"
            for numbers in _stretches([result.page_number for result in group])
        ]
    return lines


def notes(results: Iterable[PageResult], *, furniture: bool) -> list[str]:
    """One line for each thing to know about pages that were read, and one for all lines set aside."""
    pages: dict[str, list[int]] = {}
    num_aside = 0
    for result in results:
        num_aside += 0 if furniture else num_lines_set_aside(result)
        for note in result.notes:
            pages.setdefault(note, []).append(result.page_number)
    lines = [f"  {', '.join(_stretches(numbers))}: {note}" for note, numbers in pages.items()]
    aside = set_aside_note(num_aside)
    return [*lines, f"  {aside}"] if aside else lines


def _status(event: Telemetry, counts: dict[str, int]) -> list[str]:
    parts = [f"{event.pages_per_s:.2f} pages/s"] if event.pages_per_s else []
    if event.eta_s is not None:
        has_spread = event.eta_low_s is not None and event.eta_high_s is not None
        spread = f" ({event.eta_low_s:.0f} to {event.eta_high_s:.0f})" if has_spread else ""
        parts.append(f"{event.eta_s:.0f} s left{spread}")
    return [*parts, *(f"{verdict} {count}" for verdict, count in counts.items())]


def _stretches(numbers: list[int]) -> list[str]:
    """`page 3`, `pages 5-9` for runs of consecutive numbers."""
    stretches: list[list[int]] = []
    for number in numbers:
        if stretches and number == stretches[-1][-1] + 1:
            stretches[-1].append(number)
        else:
            stretches.append([number])
    return [f"page {run[0]}" if len(run) == 1 else f"pages {run[0]}-{run[-1]}" for run in stretches]


def _pages(count: int) -> str:
    return "1 page" if count == 1 else f"{count} pages"
