"""Sizes of type from the widths of letters, strokes over the usual, and type of one width."""

from dataclasses import replace

import numpy as np
import pytest

from ocr_app.models.embedded.geometry.seen import SeenPage, is_code, monospaced_pitch, type_size
from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import EncodedPage
from tests.models.conftest import page_of, typeset

CODE = [f"value{row} = compute(number{row}, other_number)" for row in range(4)]

PROSE = ["nobody wanted kettles before", "filling summer homes with iron", "little tiles still will tell it"]


def monospaced(*texts: str) -> EncodedPage:
    """Lines of one run each, every letter 8 pixels wide."""
    page = typeset(*((50.0, 50.0 + 16 * row, text.replace(" ", "")) for row, text in enumerate(texts)))
    runs = tuple(
        replace(run, box=(run.box[0], run.box[1], run.box[0] + 8.0 * len(run.text), run.box[3]))
        for run in page.runs
    )
    return replace(page, runs=runs)


@pytest.mark.parametrize("size", [10.0, 14.0, 30.0])
def test_the_size_of_type_is_told_by_the_widths_of_letters(size: float):
    page = SeenPage(typeset((50, 50, "Words will tell"), size=size))
    assert page.lines[0].size == pytest.approx(size)
    assert page.body_size == pytest.approx(size)


def test_too_few_letters_say_nothing_of_a_size():
    assert type_size(typeset((50, 50, "ab")).runs) is None
    assert SeenPage(typeset((50, 50, "ab"), size=20.0)).lines[0].size == 20.0, "the height instead"


def test_the_size_of_most_characters_is_that_of_the_page():
    lines = [(50.0, 50.0 + 20 * row, "words of the running text") for row in range(5)]
    page, large = typeset(*lines), typeset((50, 10, "A title"), size=40.0)
    assert SeenPage(page).body_size < SeenPage(large).body_size


def test_strokes_are_measured_by_the_usual_one():
    page = SeenPage(typeset(*((50.0, 20.0 * row, "words") for row in range(5)), bold=[0]))
    assert [line.stroke for line in page.lines] == [2.0, 1.0, 1.0, 1.0, 1.0]


def test_without_a_layout_every_class_is_as_probable():
    line = SeenPage(page_of((0, 0, ["a"]))).lines[0]
    assert np.allclose(line.scores, 1 / len(CLASSES))
    assert line.score("text", "table") == pytest.approx(2 / len(CLASSES))


def test_type_of_one_width_is_code_and_running_text_is_not():
    code = SeenPage(monospaced(*(word for text in CODE for word in text.split())))
    assert monospaced_pitch(code.lines, code.runs) == pytest.approx(8.0, rel=0.05)
    assert is_code(code, code.lines)
    prose = SeenPage(typeset(*((50.0, 16.0 * row, text) for row, text in enumerate(PROSE))))
    assert monospaced_pitch(prose.lines, prose.runs) is None
    assert not is_code(prose, prose.lines)
