"""Dot leaders taken out of lines of contents: they lead the eye to a number and say nothing."""

import re
from collections.abc import Sequence
from dataclasses import replace

from ocr_app.types import Box, Run

LEADERS = ".…·‥"
ONLY_LEADERS = re.compile(rf"[{LEADERS}]+")
AT_END = re.compile(rf"[{LEADERS}]{{2,}}$|…$|\.$")
NUMBER = re.compile(rf"[{LEADERS}]*(\d{{1,4}}|[ivxlc]{{1,6}})")
MIN_LEADERS = 3


def without_leaders(lines: Sequence[list[Run]], boxes: Sequence[Box]) -> list[list[Run]]:
    """The runs of each line without dots that lead to a number, in the line or in one beside it."""
    numbers = [box for box, runs in zip(boxes, lines, strict=True) if _is_number(runs)]
    return [
        _trimmed(runs, leads=any(_is_beside(box, number) for number in numbers))
        for box, runs in zip(boxes, lines, strict=True)
    ]


def _is_number(runs: list[Run]) -> bool:
    return NUMBER.fullmatch("".join(run.text for run in runs)) is not None


def _is_beside(box: Box, number: Box) -> bool:
    shared = min(box[3], number[3]) - max(box[1], number[1])
    return number[0] >= box[2] - 2 and shared > 0.5 * min(box[3] - box[1], number[3] - number[1])


def _trimmed(runs: list[Run], *, leads: bool) -> list[Run]:
    """`leads` says whether a number stands beside the line."""
    num_leaders = sum(len(run.text) for run in runs if ONLY_LEADERS.fullmatch(run.text))
    holds_number = len(runs) > 1 and NUMBER.fullmatch(runs[-1].text) is not None
    if not leads and not (holds_number and num_leaders >= MIN_LEADERS):
        return runs
    kept = [run for run in runs if not ONLY_LEADERS.fullmatch(run.text)]
    if not kept:
        return runs
    end_of_text = len(kept) - 2 if holds_number else len(kept) - 1
    return [
        replace(
            run,
            text=(AT_END.sub("", run.text) if place == end_of_text else run.text).lstrip(LEADERS) or run.text,
            has_space_after=place < len(kept) - 1 and (run.has_space_after or place == end_of_text),
        )
        for place, run in enumerate(kept)
    ]
