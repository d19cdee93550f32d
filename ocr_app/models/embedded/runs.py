"""Cuts a recognised line into runs, the visual tokens. Pure: knows characters and their places, no images and no networks."""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_RUN_CHARACTERS = 8


@dataclass(frozen=True, slots=True)
class RunSpan:
    """Characters first to last (indices into the line's characters, both included) and whether a space follows."""

    first: int
    last: int
    has_space_after: bool


def split_runs(characters: Sequence[str]) -> list[RunSpan]:
    """Cut at spaces and after every eighth character.

    A run is closed when the character behind it is known, so a run of exactly eight keeps the space that follows it.
    """
    spans: list[RunSpan] = []
    first: int | None = None
    for index, character in enumerate(characters):
        if character.isspace():
            if first is not None:
                spans.append(RunSpan(first, index - 1, True))
                first = None
        elif first is None:
            first = index
        elif index - first == MAX_RUN_CHARACTERS:
            spans.append(RunSpan(first, index - 1, False))
            first = index
    if first is not None:
        spans.append(RunSpan(first, len(characters) - 1, False))
    return spans


def run_edges(spans: Sequence[RunSpan], centres: Sequence[float], width: float) -> list[tuple[float, float]]:
    """Left and right edge of each run, in the units of `centres`, the places of the line's characters (spaces included).

    An edge lies halfway to the neighbouring character, but no farther from its own character than half the line's usual distance:
    the recogniser gives one place per character, not its width.
    """
    reach = _usual_distance(centres) / 2 if len(centres) > 1 else width / 2
    edges = []
    for span in spans:
        left, right = centres[span.first] - reach, centres[span.last] + reach
        if span.first > 0:
            left = max(left, (centres[span.first - 1] + centres[span.first]) / 2)
        if span.last + 1 < len(centres):
            right = min(right, (centres[span.last] + centres[span.last + 1]) / 2)
        edges.append((max(0.0, left), min(width, right)))
    return edges


def _usual_distance(centres: Sequence[float]) -> float:
    """The upper quartile of the distances between neighbours: wide letters must fit, gaps between words must not count."""
    distances = sorted(right - left for left, right in zip(centres, centres[1:], strict=False))
    return distances[3 * len(distances) // 4]
