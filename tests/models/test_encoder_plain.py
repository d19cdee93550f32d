"""The plain reader on a small real page with two columns, and on drawn lines."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from ocr_app.config import AppConfig, EncoderConfig, ReaderConfig
from ocr_app.models.base import open_reader
from ocr_app.types import EncodedPage, Line, PageImage, PageReading, Run, TextDelta, Verdict
from tests.models.conftest import laid_out

DATA = Path(__file__).parents[1] / "data" / "encoder"


@pytest.fixture(scope="module")
def session():
    session = open_reader(
        AppConfig(encoder=EncoderConfig(threads=1, reuse=False), reader=ReaderConfig(model="plain"))
    )
    yield session
    session.close()


@pytest.fixture(scope="module")
def columns(session) -> EncodedPage:
    grey = cv2.imread(str(DATA / "faa-columns.png"), cv2.IMREAD_GRAYSCALE)
    return session.prepare(PageImage(0, np.repeat(grey[:, :, None], 3, axis=2), 150, 504, 211))


def page_of(*lines: tuple[float, float, float, str]) -> EncodedPage:
    """Lines 20 pixels high at (left, top), of a given width, one run each."""
    runs = tuple(
        Run(text, (x, y, x + width, y + 20), 0.9, False, i, 0) for i, (x, y, width, text) in enumerate(lines)
    )
    found = tuple(Line(run.box, i, 1, 0.9) for i, run in enumerate(runs))
    image = PageImage(0, np.zeros((1000, 800, 3), np.uint8), 100, 576, 720)
    return EncodedPage(image, found, runs, np.zeros((len(runs), 240), np.float32))


def never() -> bool:
    return False


def test_two_columns_are_read_one_after_the_other(session, columns: EncodedPage):
    reading = list(session.read(columns, never))[-1]
    text = reading.markdown
    first_column = text.index("two general types of self-locking"), text.index("Boots Self-Locking Nut")
    second_column = (
        text.index("most common ranges in size"),
        text.index("stainless steel self-locking nut may be spun"),
    )
    assert max(first_column) < min(second_column)


def test_every_run_is_placed_once_and_the_deltas_are_the_markdown(session, columns: EncodedPage):
    *deltas, reading = session.read(columns, never)
    assert isinstance(reading, PageReading)
    assert reading.verdict is Verdict.OK
    assert "".join(delta.text for delta in deltas) == reading.markdown
    expected = list(range(len(columns.runs)))
    assert sorted(index for region in reading.regions for index in region.run_indices) == expected
    assert sorted(index for delta in deltas for index in delta.run_indices) == expected


def test_a_word_parted_at_a_line_end_is_joined(session):
    page = page_of((50, 50, 500, "an inter-"), (50, 75, 300, "national rule"))
    page = laid_out(page, ("text", [0, 1]))
    assert list(session.read(page, never))[-1].markdown.strip() == "an international rule"


def test_a_page_without_text_is_blank(session):
    (reading,) = session.read(page_of(), never)
    assert (reading.verdict, reading.regions, reading.markdown) == (Verdict.BLANK, (), "")


def test_a_stopped_page_keeps_what_is_written(session, columns: EncodedPage):
    answers = iter([False, True])
    *deltas, reading = session.read(columns, lambda: next(answers))
    assert reading.verdict is Verdict.CANCELLED
    assert "".join(delta.text for delta in deltas) == reading.markdown
    written = sum(len(region.run_indices) for region in reading.regions)
    assert 0 < written < len(columns.runs)
    assert all(isinstance(delta, TextDelta) for delta in deltas)


@pytest.mark.parametrize("kind", ["page-header", "page-footer"])
def test_the_only_words_of_a_page_are_written_whatever_the_network_calls_them(session, kind: str):
    page = laid_out(page_of((50, 50, 300, "Copper kettle")), (kind, [0]))
    assert list(session.read(page, never))[-1].markdown.strip() == "Copper kettle"


def test_a_page_number_alone_is_no_text(session):
    page = laid_out(page_of((50, 950, 30, "17")), ("page-footer", [0]))
    assert list(session.read(page, never))[-1].markdown == ""
