"""Pictures are found; text, tables, frames, tints and a scanner's shadow are none."""

import cv2
import numpy as np
import pytest

from ocr_app.models.embedded.figures import find_figures
from ocr_app.types import Box, PageImage

WHITE, BLACK = (255, 255, 255), (0, 0, 0)
LINES: list[Box] = [(150.0, 200.0 + 40 * row, 1100.0, 226.0 + 40 * row) for row in range(8)]


@pytest.fixture
def pixels() -> np.ndarray:
    """A page at 150 dpi with eight lines of text."""
    page = np.full((1650, 1275, 3), 250, np.uint8)
    for x0, y0, x1, _ in LINES:
        for x in range(int(x0), int(x1), 14):
            cv2.rectangle(page, (x, int(y0) + 4), (x + 8, int(y0) + 22), BLACK, 2)
    return page


def figures_on(pixels: np.ndarray, lines: list[Box] | None = None) -> tuple[Box, ...]:
    height, width = pixels.shape[:2]
    return find_figures(
        PageImage(0, pixels, 150, width * 0.48, height * 0.48), LINES if lines is None else lines
    )


def test_text_alone_has_no_figures(pixels: np.ndarray):
    assert figures_on(pixels) == ()


def test_a_photograph_and_a_line_drawing_are_found_in_their_place(pixels: np.ndarray):
    noise = np.random.default_rng(0).integers(0, 200, (300, 400, 3), np.uint8)
    pixels[700:1000, 150:550] = cv2.blur(noise, (9, 9))
    cv2.circle(pixels, (850, 1200), 120, BLACK, 2)
    cv2.line(pixels, (780, 1180), (930, 1230), BLACK, 2)
    photograph, drawing = figures_on(pixels)
    assert photograph == pytest.approx((150, 700, 550, 1000), abs=8)
    assert drawing == pytest.approx((730, 1080, 970, 1320), abs=8)


def test_a_ruled_table_and_a_frame_are_no_figures(pixels: np.ndarray):
    for y in range(700, 1000, 50):
        cv2.line(pixels, (150, y), (1100, y), BLACK, 2)
    for x in range(150, 1101, 190):
        cv2.line(pixels, (x, 700), (x, 950), BLACK, 2)
    cv2.rectangle(pixels, (120, 170), (1130, 540), BLACK, 3)
    cells = [
        (x + 10.0, y + 12.0, x + 90.0, y + 38.0) for x in range(150, 1000, 190) for y in range(700, 950, 50)
    ]
    assert figures_on(pixels, LINES + cells) == ()


def test_a_tint_behind_text_and_a_shadow_along_the_edge_are_no_figures(pixels: np.ndarray):
    cv2.rectangle(pixels, (140, 190), (1110, 520), (120, 140, 200), -1)
    pixels[:, :40] = 30
    assert figures_on(pixels) == ()


def test_a_figure_reaches_no_further_than_its_page():
    pixels = np.full((400, 300, 3), 255, np.uint8)
    pixels[100:, 60:] = np.random.default_rng(0).integers(0, 190, (300, 240, 1), np.uint8)
    ((x0, y0, x1, y1),) = figures_on(pixels, [])
    assert (x1, y1) == (300, 400)
    assert x0 == pytest.approx(60, abs=4)
    assert y0 == pytest.approx(100, abs=4)
