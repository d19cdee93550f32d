"""What a model says of places and probabilities, made safe to pass on: numbers that are none, boxes that are
no boxes and pointers to nothing would break every export. Indices stay, so nothing that is sound changes.
"""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

from ocr_app.types import Box, PageReading, Piece, Region, Run

NOWHERE: Box = (0.0, 0.0, 0.0, 0.0)  # of a run whose place is not known


@dataclass(frozen=True, slots=True)
class Seen:
    """The runs and pictures of a page, sound, and a note where they were not."""

    runs: tuple[Run, ...] = ()
    figures: tuple[Box, ...] = ()
    notes: tuple[str, ...] = ()


def sound_seen(runs: Iterable[Run], figures: Iterable[Any]) -> Seen:
    """Runs with usable boxes and confidences, and the pictures whose boxes are usable."""
    sound_runs = tuple(map(_sound_run, runs))
    figures = tuple(figures)
    kept = tuple(box for figure in figures if (box := _box(figure)) is not None)
    num_bad = sum(run.box is NOWHERE for run in sound_runs) + len(figures) - len(kept)
    places = "1 place" if num_bad == 1 else f"{num_bad} places"
    note = f"{places} that the model gave on this page cannot be used; the text is complete."
    return Seen(sound_runs, kept, (note,) if num_bad else ())


def sound_reading(reading: PageReading, num_runs: int) -> PageReading:
    """The reading with a confidence that is a number, and pieces that point to runs of the page."""
    confidence = _probability(reading.confidence)
    regions = tuple(_sound_region(region, num_runs) for region in reading.regions)
    return replace(reading, confidence=confidence, regions=regions)


def _sound_run(run: Run) -> Run:
    box, confidence = _box(run.box), _probability(run.confidence)
    if box is not None and box == run.box and confidence == run.confidence:
        return run
    return replace(run, box=NOWHERE if box is None else box, confidence=confidence or 0.0)


def _box(value: Any) -> Box | None:
    """Four finite numbers, left before right and top before bottom; None for anything else."""
    try:
        left, top, right, bottom = map(float, value)
    except (TypeError, ValueError):
        return None
    if not all(map(math.isfinite, (left, top, right, bottom))) or right < left or bottom < top:
        return None
    return left, top, right, bottom


def _probability(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _sound_region(region: Region, num_runs: int) -> Region:
    if all(0 <= index < num_runs for index in region.run_indices):
        return region
    mend = _mender(num_runs)
    rows = tuple(tuple(tuple(map(mend, cell)) for cell in row) for row in region.rows)
    return replace(region, pieces=tuple(map(mend, region.pieces)), rows=rows)


def _mender(num_runs: int) -> Callable[[Piece], Piece]:
    def mend(piece: Piece) -> Piece:
        is_sound = piece.run_index is None or 0 <= piece.run_index < num_runs
        return piece if is_sound else replace(piece, run_index=None)

    return mend
