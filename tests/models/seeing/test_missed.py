"""Small text that nobody detected is found where a page number or a cell must be."""

import numpy as np

from ocr_app.models.embedded.seeing.missed import cell_marks, leader_ends
from ocr_app.types import TableGrid
from tests.models.seeing.pictures import draw_words, paper, quad

ENTRY, NUMBER = (50.0, 100.0, 300.0, 120.0), (500, 102, 516, 118)


def page_of_contents(*, has_number: bool = True) -> np.ndarray:
    pixels = paper()
    draw_words(pixels, ENTRY)
    draw_words(pixels, (50, 140, 540, 160))
    if has_number:
        draw_words(pixels, NUMBER)
    return pixels


def ends(pixels: np.ndarray, text: str) -> list[tuple[float, float]]:
    quads = np.stack([quad(ENTRY), quad((50.0, 140.0, 540.0, 160.0))])
    return [
        (corners[0][0], corners[1][0])
        for corners in leader_ends(pixels, quads, [text, "Another line"]).tolist()
    ]


def test_a_number_behind_leaders_is_found():
    ((left, right),) = ends(page_of_contents(), "Kettles ....")
    assert left < NUMBER[0] < right
    assert right - left < 40


def test_nothing_is_found_without_leaders_or_without_ink():
    assert ends(page_of_contents(), "Kettles") == []
    assert ends(page_of_contents(has_number=False), "Kettles ....") == []


def test_a_page_without_lines_has_no_ends():
    assert leader_ends(paper(), np.zeros((0, 4, 2), np.float32), []).shape == (0, 4, 2)


GRID = TableGrid((50.0, 90.0, 450.0, 190.0), (140.0,), (250.0,))
RUNS = [(60.0, 100.0, 200.0, 120.0), (260.0, 100.0, 400.0, 120.0), (60.0, 150.0, 200.0, 170.0)]


def test_a_mark_in_a_cell_without_runs_is_found():
    pixels = paper()
    draw_words(pixels, (340, 152, 352, 168))
    (mark,) = cell_marks(pixels, GRID, RUNS, 20.0)
    corners = np.array(mark.corners)
    assert corners[:, 0].min() < 340
    assert 350 < corners[:, 0].max() < 365


def test_cells_with_runs_empty_cells_and_filled_cells_have_none():
    assert len(cell_marks(paper(), GRID, RUNS, 20.0)) == 0
    pixels = paper()
    for box in RUNS:
        draw_words(pixels, box)
    pixels[141:190, 251:450] = 90
    assert len(cell_marks(pixels, GRID, RUNS, 20.0)) == 0
    assert cell_marks(paper(), GRID, [], 20.0) == []
