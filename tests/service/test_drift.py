"""A document whose late pages go worse says so; one that goes on as it began does not."""

import pytest

from ocr_app.service.drift import NUM_PAGES, Drift
from ocr_app.types import PageResult, Verdict


def notes(pages: list[tuple[float, float | None]]) -> tuple[str, ...]:
    drift = Drift()
    for index, (decode_s, confidence) in enumerate(pages):
        text = PageResult(index, Verdict.OK, markdown="x", decode_s=decode_s, confidence=confidence)
        drift.add(text)
        drift.add(PageResult(index, Verdict.BLANK, decode_s=0.0))
    return drift.notes()


@pytest.mark.parametrize("late", [(1.0, 0.9), (1.9, 0.85), (0.1, 1.0), (1.0, None)])
def test_nothing_is_said_while_all_is_as_it_was(late):
    assert notes([(1.0, 0.9)] * 40 + [late] * NUM_PAGES) == ()


def test_slower_and_less_sure_pages_are_told():
    slower, unsure = notes([(1.0, 0.9)] * 200 + [(2.5, 0.6)] * NUM_PAGES)
    assert "2.50 s each, the first 1.00 s" in slower
    assert "confidence 0.60, the first with 0.90" in unsure


def test_short_documents_are_not_judged():
    assert notes([(1.0, 0.9)] * NUM_PAGES + [(9.0, 0.1)] * (NUM_PAGES - 1)) == ()
