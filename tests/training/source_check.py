"""What a laid-out document holds, compared with the source it was written from."""

from collections import defaultdict

import numpy as np

from ocr_app.training.truth import LEADER, PageTruth, SourceUnit, UnitKind


def num_units_like_their_source(units: dict[int, SourceUnit], pages: tuple[PageTruth, ...]) -> int:
    """Assert that each unit of the body is its source text, soft hyphens aside; returns how many were
    compared.
    """
    found = _chars_without_soft_hyphens(pages)
    checked = 0
    for source in units.values():
        if source.unit.kind is not UnitKind.FURNITURE:
            wanted = "".join(source.text.split())
            text = found[source.unit.kind, source.unit.region, source.unit.row, source.unit.column]
            if LEADER in wanted:
                title, target = wanted.split(LEADER)
                assert text.startswith(title + "..")
                assert text.endswith(".." + target)
            else:
                assert text == wanted
            checked += 1
    return checked


def _chars_without_soft_hyphens(pages: tuple[PageTruth, ...]) -> dict[tuple, str]:
    """Text by region, row and column, over all pages; a repeated table head is kept once."""
    found: dict[tuple, str] = defaultdict(str)
    for page in pages:
        for index, unit in enumerate(page.units):
            picked = np.flatnonzero((page.unit_of == index) & ~page.soft_hyphen)
            text = "".join(page.chars[at] for at in picked)
            key = (unit.kind, unit.region, unit.row, unit.column)
            if not (unit.kind is UnitKind.CELL and found[key] == text):
                found[key] += text
    return found
