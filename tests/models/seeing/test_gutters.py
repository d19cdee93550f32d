"""Lines over a gutter are cut, lines over a space are not, and no ink is lost."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.models.embedded.seeing.gutters import cut_at_gutters
from tests.models.seeing.pictures import draw_words, paper, quad

TOPS = range(50, 230, 30)
PLACES = st.tuples(st.integers(0, 600), st.integers(0, 560), st.integers(30, 400))  # left, top and width
LEFT, RIGHT = (50, 300), (320, 600)  # columns 20 pixels apart, in lines 20 high


def two_columns(tops=TOPS, joined: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """A page of two columns and the corners of its lines, each over both columns or of one."""
    pixels, quads = paper(), []
    for top in tops:
        for left, right in (LEFT, RIGHT):
            draw_words(pixels, (left, top, right, top + 20))
            quads.append(quad((left, top, right, top + 20)))
        if joined:
            quads[-2:] = [quad((LEFT[0], top, RIGHT[1], top + 20))]
    return pixels, np.stack(quads)


def spans(quads: np.ndarray) -> list[tuple[int, int]]:
    return sorted((int(corners[:, 0].min()), int(corners[:, 0].max())) for corners in quads)


def test_lines_over_both_columns_become_two():
    assert spans(cut_at_gutters(*two_columns())) == [(50, 310)] * 6 + [(310, 600)] * 6


def test_lines_of_one_column_are_left_as_they_are():
    pixels, quads = two_columns(joined=False)
    assert np.array_equal(cut_at_gutters(pixels, quads), quads)


def test_a_gap_in_few_rows_is_no_gutter():
    pixels, quads = two_columns(tops=range(50, 140, 30))
    assert np.array_equal(cut_at_gutters(pixels, quads), quads)


def test_a_line_of_words_through_the_gutter_is_no_gutter():
    pixels, quads = two_columns()
    for top in TOPS[1::2]:
        draw_words(pixels, (LEFT[0], top, RIGHT[1], top + 20))
    assert np.array_equal(cut_at_gutters(pixels, quads), quads)


def test_a_page_without_lines_has_none():
    assert cut_at_gutters(paper(), np.zeros((0, 4, 2), np.float32)).shape == (0, 4, 2)


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.integers(0, 600), st.integers(0, 560), st.integers(30, 400)), max_size=12),
    st.booleans(),
)
def test_no_ink_inside_a_line_is_left_out(places: list[tuple[int, int, int]], has_columns: bool):
    pixels, quads = two_columns() if has_columns else (paper(), np.zeros((0, 4, 2), np.float32))
    more = [(x, y, min(799, x + width), y + 20) for x, y, width in places]
    for box in more:
        draw_words(pixels, box)
    quads = np.concatenate([quads, *[quad(box)[None] for box in more]])
    cut = cut_at_gutters(pixels, quads)
    assert len(cut) >= len(quads)
    ink = pixels.min(axis=2) == 0
    assert not (ink & covered(quads) & ~covered(cut)).any()


def covered(quads: np.ndarray) -> np.ndarray:
    inside = np.zeros((600, 800), bool)
    for corners in quads:
        (x0, y0), (x1, y1) = (
            np.floor(corners.min(axis=0)).astype(int),
            np.ceil(corners.max(axis=0)).astype(int),
        )
        inside[y0:y1, x0:x1] = True
    return inside
