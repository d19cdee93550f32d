"""Runs and rows: how a recognised line is cut into visual tokens, where their edges lie, and how lines are
ordered.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.models.embedded.reading_order import reading_blocks
from ocr_app.models.embedded.rows import group_rows, row_order
from ocr_app.models.embedded.runs import (
    MAX_RUN_CHARACTERS,
    SPACE_PX,
    RunSpan,
    find_wide_gaps,
    run_edges,
    split_runs,
)

LINES = st.text(st.sampled_from("ab中é.- "), max_size=40)


def joined(text: str) -> str:
    return "".join(text[span.first : span.last + 1] + " " * span.has_space_after for span in split_runs(text))


@given(LINES)
def test_runs_and_their_spaces_are_the_line(text: str):
    assert joined(text).split() == text.split()
    assert joined(text).rstrip() == " ".join(text.split())


@pytest.mark.parametrize("length", range(1, 26))
def test_space_after_a_word_of_any_length_is_kept(length: int):
    text = "x" * length + " tail"
    assert joined(text) == text


@given(LINES)
def test_runs_are_short_and_hold_no_space(text: str):
    for span in split_runs(text):
        word = text[span.first : span.last + 1]
        assert 1 <= len(word) <= MAX_RUN_CHARACTERS
        assert " " not in word


def ink_of(*stretches: tuple[int, int], width: int) -> np.ndarray:
    ink = np.zeros(width, np.int16)
    for left, right in stretches:
        ink[left:right] = 200
    return ink


def test_edges_follow_the_ink_and_not_the_places_of_the_frames():
    ink = ink_of((10, 50), (70, 96), width=110)
    spans = split_runs("ab c")
    assert run_edges(spans, [20, 44, 60, 76], ink) == [(10, 50), (70, 96)]


def test_runs_that_touch_are_parted_without_a_gap_between_their_boxes():
    ink = ink_of((0, 90), width=90)
    ink[72] = 60  # thinnest between the eighth and the ninth letter, yet not empty
    spans = split_runs("abcdefghi")
    assert run_edges(spans, [4.0 + 9 * i for i in range(9)], ink) == [(0, 72), (72, 90)]


@pytest.mark.parametrize(("gap", "found"), [(SPACE_PX - 1, set()), (SPACE_PX, {2})])
def test_a_gap_as_wide_as_a_space_is_one(gap: int, found: set[int]):
    ink = ink_of((0, 40), (40 + gap, 80), width=80)
    assert find_wide_gaps("abcd", np.array([10, 30, 40 + gap + 5, 70]), ink) == found


def test_a_gap_beside_a_space_that_was_read_is_that_space():
    ink = ink_of((0, 40), (60, 100), width=100)
    assert find_wide_gaps("ab cd", np.array([10, 30, 38, 46, 90]), ink) == set()


def test_a_gap_between_chinese_characters_is_no_space():
    ink = ink_of((0, 40), (60, 100), width=100)
    assert find_wide_gaps("中文", np.array([20, 80]), ink) == set()


def test_rows_run_left_to_right_and_then_down():
    boxes = [(300, 12, 400, 32), (0, 40, 100, 60), (0, 10, 100, 30), (300, 38, 400, 58)]
    assert row_order(boxes) == [2, 0, 1, 3]


def test_two_lines_above_each_other_are_two_rows_however_much_their_boxes_overlap():
    slanted, straight = (240.0, 117.0, 956.0, 165.0), (244.0, 102.0, 1130.0, 133.0)
    assert group_rows([slanted, straight]) == [[1], [0]]


@given(
    st.lists(
        st.tuples(st.integers(0, 500), st.integers(0, 500), st.integers(1, 300), st.integers(1, 60)),
        max_size=30,
    )
)
def test_every_box_is_in_one_row_of_one_block(places: list[tuple[int, int, int, int]]):
    boxes = [(float(x), float(y), float(x + width), float(y + height)) for x, y, width, height in places]
    found = [index for block in reading_blocks(boxes, 20.0) for row in block for index in row]
    assert sorted(found) == list(range(len(boxes)))


def test_columns_of_prose_are_read_one_after_the_other():
    left = [(0.0, 30.0 * i, 480.0, 30.0 * i + 24) for i in range(6)]
    right = [(500.0, 30.0 * i, 980.0, 30.0 * i + 24) for i in range(6)]
    heading = [(0.0, -100.0, 980.0, -60.0)]
    order = [
        index for block in reading_blocks(heading + left + right, 24.0) for row in block for index in row
    ]
    assert order == list(range(13))


def test_a_table_is_read_by_its_rows():
    cells = [
        (200.0 * column, 30.0 * row, 200.0 * column + 90, 30.0 * row + 24)
        for row in range(5)
        for column in range(4)
    ]
    order = [index for block in reading_blocks(cells, 24.0) for row in block for index in row]
    assert order == list(range(20))


def test_a_letter_placed_in_the_padding_behind_its_crop_still_has_an_edge():
    spans = [RunSpan(0, 0, False), RunSpan(1, 1, False)]
    for first, second in ((10.0, 31.0), (29.0, 35.0)):
        edges = run_edges(spans, [first, second], np.ones(28))
        assert all(0 <= left < right <= 28 for left, right in edges)
