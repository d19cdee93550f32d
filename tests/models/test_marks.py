"""Bullets that the recogniser passes over or takes for letters are named by their shape; letters and digits
are left alone.
"""

import cv2
import numpy as np
import pytest

from ocr_app.models.embedded.marks import bullet_for, leading_mark

HEIGHT, MIDDLE = 48, 24
TEXT_LEFT = 84


def crop_with(draw, *, has_text: bool = True) -> np.ndarray:
    """A line crop with something drawn at its left, and letters further right."""
    crop = np.full((HEIGHT, 300, 3), 255, np.uint8)
    draw(crop)
    for x in range(TEXT_LEFT, 290 if has_text else 0, 24):
        cv2.rectangle(crop, (x, 12), (x + 14, 36), (0, 0, 0), 3)
    return crop if has_text else crop[:, :60]


def circle(crop: np.ndarray) -> None:
    cv2.circle(crop, (24, MIDDLE), 12, (60, 60, 60), 2, cv2.LINE_AA)


def disc(crop: np.ndarray) -> None:
    cv2.circle(crop, (24, MIDDLE), 6, (0, 0, 0), -1)


def square(crop: np.ndarray) -> None:
    cv2.rectangle(crop, (12, 12), (34, 34), (0, 0, 0), -1)


def dash(crop: np.ndarray) -> None:
    cv2.line(crop, (14, MIDDLE), (34, MIDDLE), (0, 0, 0), 2)


def nought(crop: np.ndarray) -> None:
    cv2.ellipse(crop, (24, MIDDLE), (8, 13), 0, 0, 360, (0, 0, 0), 2)


def full_stop(crop: np.ndarray) -> None:
    cv2.circle(crop, (24, 38), 2, (0, 0, 0), -1)


@pytest.mark.parametrize(("draw", "bullet"), [(circle, "○"), (disc, "•"), (square, "■"), (dash, "–")])
def test_marks_are_told_by_their_shape(draw, bullet: str):
    mark = leading_mark(crop_with(draw))
    assert mark is not None
    assert mark.bullet == bullet
    assert mark.gap >= 36


@pytest.mark.parametrize(
    "draw", [nought, full_stop, lambda crop: None], ids=["a nought", "a full stop", "nothing"]
)
def test_what_is_no_bullet_is_left_alone(draw):
    assert leading_mark(crop_with(draw)) is None


def test_a_circle_alone_in_its_line_is_a_bullet():
    mark = leading_mark(crop_with(circle, has_text=False))
    assert mark is not None
    assert bullet_for(["0"], np.array([24.0]), mark, HEIGHT) == (1, "○")
    assert bullet_for([], np.zeros(0), mark, HEIGHT) == (0, "○"), "nothing was read"


def test_a_square_that_fills_its_crop_is_a_bullet():
    crop = np.zeros((HEIGHT, HEIGHT, 3), np.uint8)
    crop[:, :4] = 255
    mark = leading_mark(crop)
    assert mark is not None
    assert bullet_for([], np.zeros(0), mark, HEIGHT) == (0, "■")


def test_a_bullet_that_was_not_read_is_put_before_the_text():
    mark = leading_mark(crop_with(square))
    assert mark is not None
    assert bullet_for(["a", "b"], np.array([90.0, 115.0]), mark, HEIGHT) == (0, "■")
    assert bullet_for([" ", "a"], np.array([60.0, 90.0]), mark, HEIGHT) == (1, "■"), "in place of the space"


def test_a_letter_read_for_a_circle_is_mended_and_a_word_is_not():
    mark = leading_mark(crop_with(circle))
    assert mark is not None
    assert bullet_for(["O", " ", "a"], np.array([24.0, 60.0, 90.0]), mark, HEIGHT) == (1, "○")
    assert bullet_for(["C", " ", "a"], np.array([24.0, 60.0, 90.0]), mark, HEIGHT) is None, (
        "read as another letter"
    )
    near = crop_with(circle)
    cv2.rectangle(near, (58, 12), (70, 36), (0, 0, 0), 3)  # a word space after it: O give thanks
    mark = leading_mark(near)
    assert mark is not None
    assert bullet_for(["O", " ", "g"], np.array([24.0, 48.0, 60.0]), mark, HEIGHT) is None
