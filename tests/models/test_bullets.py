"""Marks before a line are taken into it; letters, rules and the ink of other lines are not."""

import cv2
import numpy as np
import pytest

from ocr_app.models.embedded.bullets import take_in_bullets

HEIGHT, LEFT, TOP = 24, 120, 60
QUAD = np.array([[[LEFT, TOP], [500, TOP], [500, TOP + HEIGHT], [LEFT, TOP + HEIGHT]]], np.float32)
MIDDLE = TOP + HEIGHT // 2


@pytest.fixture
def pixels() -> np.ndarray:
    """A page with one line of letters, which begin a little inside the line's box."""
    page = np.full((200, 600, 3), 255, np.uint8)
    for x in range(LEFT + 6, 490, 16):
        cv2.rectangle(page, (x, TOP + 5), (x + 9, TOP + 19), (0, 0, 0), 2)
    return page


def begins_at(pixels: np.ndarray) -> float:
    widened = take_in_bullets(pixels, QUAD)
    assert (widened[:, 1:3] == QUAD[:, 1:3]).all()
    assert widened[0, 0, 0] == widened[0, 3, 0]
    return float(widened[0, 0, 0])


def test_a_line_without_a_mark_stays_as_it_is(pixels: np.ndarray):
    assert begins_at(pixels) == LEFT


def test_a_dot_and_a_dash_are_taken_in(pixels: np.ndarray):
    dot, dash = pixels.copy(), pixels.copy()
    cv2.circle(dot, (90, MIDDLE), 4, (0, 0, 0), -1)
    cv2.line(dash, (84, MIDDLE), (96, MIDDLE), (0, 0, 0), 2)
    assert 70 <= begins_at(dot) < 86
    assert 70 <= begins_at(dash) < 84


@pytest.mark.parametrize("dots", [[(70, MIDDLE), (95, MIDDLE)], [(90, TOP + 4)]], ids=["two", "too high"])
def test_other_dots_are_left_alone(pixels: np.ndarray, dots: list[tuple[int, int]]):
    for dot in dots:
        cv2.circle(pixels, dot, 3, (0, 0, 0), -1)
    assert begins_at(pixels) == LEFT


def test_a_stroke_that_touches_the_text_is_no_mark(pixels: np.ndarray):
    cv2.line(pixels, (100, MIDDLE), (LEFT + 8, MIDDLE), (0, 0, 0), 3)
    assert begins_at(pixels) == LEFT


def test_a_rule_beside_the_line_is_no_mark(pixels: np.ndarray):
    cv2.line(pixels, (90, 0), (90, 199), (0, 0, 0), 2)
    assert begins_at(pixels) == LEFT


def test_a_mark_beyond_another_line_is_not_its_mark(pixels: np.ndarray):
    cv2.circle(pixels, (60, MIDDLE), 4, (0, 0, 0), -1)
    other = np.array([[[20, TOP], [80, TOP], [80, TOP + HEIGHT], [20, TOP + HEIGHT]]], np.float32)
    assert take_in_bullets(pixels, np.concatenate([QUAD, other]))[0, 0, 0] == LEFT


def test_a_page_without_lines_is_none_the_worse():
    assert take_in_bullets(np.zeros((10, 10, 3), np.uint8), np.zeros((0, 4, 2), np.float32)).shape == (
        0,
        4,
        2,
    )


def test_a_pale_stain_is_no_mark(pixels: np.ndarray):
    cv2.circle(pixels, (90, MIDDLE), 4, (170, 170, 170), -1)
    assert begins_at(pixels) == LEFT


def test_a_circle_drawn_with_a_thin_line_is_taken_in(pixels: np.ndarray):
    cv2.circle(pixels, (90, MIDDLE), 7, (120, 120, 120), 1, cv2.LINE_AA)
    assert 60 <= begins_at(pixels) < 83


def test_an_item_number_of_a_few_characters_is_taken_in(pixels: np.ndarray):
    cv2.putText(pixels, "(i)", (70, TOP + 18), cv2.FONT_HERSHEY_SIMPLEX, 0.6, (0, 0, 0), 1, cv2.LINE_AA)
    assert 55 <= begins_at(pixels) < 72


def test_a_mark_that_is_a_line_of_its_own_is_not_taken_into_another(pixels: np.ndarray):
    cv2.circle(pixels, (90, MIDDLE), 4, (0, 0, 0), -1)
    own = np.array(
        [[[84, MIDDLE - 4], [97, MIDDLE - 4], [97, TOP + HEIGHT + 14], [84, TOP + HEIGHT + 14]]], np.float32
    )
    assert take_in_bullets(pixels, np.concatenate([QUAD, own]))[0, 0, 0] == LEFT
