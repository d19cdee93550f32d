"""The box around ink: dark on light and light on dark, and the box itself where there is none."""

import numpy as np
import pytest

from ocr_app.models.embedded.seeing.tight import ink_box, line_ink
from tests.models.seeing.pictures import draw_words, paper

LINE = (100.0, 100.0, 300.0, 140.0)


@pytest.mark.parametrize("is_dark", [False, True])
def test_it_lies_a_pixel_around_the_ink(is_dark: bool):
    pixels = paper()
    draw_words(pixels, (110, 112, 280, 130))
    pixels = 255 - pixels if is_dark else pixels
    left, top, right, bottom = ink_box(pixels, LINE)
    assert (left, top, bottom) == (109.0, 111.0, 131.0)
    assert 275 <= right <= 281


def test_specks_do_not_widen_it():
    pixels = paper()
    draw_words(pixels, (110, 112, 280, 130))
    pixels[102, 200] = 0
    assert ink_box(pixels, LINE)[1] == 111.0


def test_without_ink_the_box_stays():
    assert ink_box(paper(), LINE) == LINE


@pytest.mark.parametrize("box", [(100.0, 100.0, 100.0, 140.0), (900.0, 700.0, 950.0, 720.0)])
def test_a_box_without_pixels_has_no_ink(box):
    assert line_ink(paper(), box).size == 0
    assert ink_box(paper(), box) == box


def test_ink_has_the_shape_of_its_box():
    assert line_ink(paper(), (10.4, 20.0, 30.2, 25.5)).shape == (6, 21)
    assert line_ink(paper(), LINE).dtype == np.bool_
