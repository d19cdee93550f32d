"""Ink of a line crop: the thickness of its strokes, whatever their colour."""

import numpy as np
import pytest

from ocr_app.models.embedded.ink import stroke_width


def bars(width_px: int, *, ink: int = 20, paper: int = 240) -> np.ndarray:
    """A crop of upright strokes, 48 pixels high."""
    crop = np.full((48, 400, 3), paper, np.uint8)
    for left in range(10, 390, 24):
        crop[:, left : left + width_px] = ink
    return crop


@pytest.mark.parametrize("width_px", [3, 5, 8])
def test_the_stroke_is_as_wide_as_the_bars(width_px: int):
    assert stroke_width(bars(width_px)) == pytest.approx(width_px / 48)
    assert stroke_width(bars(width_px, ink=230, paper=30)) == pytest.approx(width_px / 48), (
        "light letters on dark paper"
    )


def test_empty_paper_has_no_strokes():
    noise = np.random.default_rng(0).integers(235, 245, (48, 100, 3), np.uint8)
    assert stroke_width(noise) == 0.0
