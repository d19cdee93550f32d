"""Boxes to tick are found, read as ticked or empty, and set before their text."""

import cv2
import numpy as np
import pytest

from ocr_app.models.embedded.seeing.checkboxes import CheckBox, find_check_boxes, with_check_boxes
from ocr_app.types import Run
from tests.models.seeing.pictures import paper

BOX = (50.0, 100.0, 67.0, 117.0)


def page_with(drawing: str) -> np.ndarray:
    pixels = paper()
    if drawing == "round":
        cv2.circle(pixels, (58, 108), 8, (0, 0, 0), 1)
    elif drawing == "full":
        cv2.rectangle(pixels, (50, 100), (66, 116), (0, 0, 0), -1)
    else:
        cv2.rectangle(pixels, (50, 100), (66, 116), (0, 0, 0), 1)
    if drawing == "ticked":
        cv2.line(pixels, (53, 103), (63, 113), (0, 0, 0), 2)
        cv2.line(pixels, (63, 103), (53, 113), (0, 0, 0), 2)
    return pixels


@pytest.mark.parametrize("is_ticked", [False, True])
def test_a_box_is_found_and_whether_it_is_ticked(is_ticked: bool):
    (found,) = find_check_boxes(page_with("ticked" if is_ticked else "empty"), 20.0)
    assert found.is_ticked is is_ticked
    assert np.allclose(found.box, BOX, atol=1)


@pytest.mark.parametrize("drawing", ["round", "full"])
def test_circles_and_bullets_are_no_boxes(drawing: str):
    assert find_check_boxes(page_with(drawing), 20.0) == []


def test_boxes_far_larger_than_a_line_and_empty_pages_have_none():
    assert find_check_boxes(page_with("empty"), 8.0) == []
    assert find_check_boxes(paper(), 20.0) == []


def run(text: str, left: float, right: float, place: int = 0) -> Run:
    return Run(text, (left, 100.0, right, 117.0), 0.9, True, 0, place)


def texts(runs: list[Run], left: float, is_ticked: bool = False) -> list[str]:
    (mended,) = with_check_boxes([runs], [(left, 98.0, 300.0, 119.0)], [CheckBox(BOX, is_ticked)])
    return [run.text for run in mended]


def test_the_box_takes_the_place_of_what_was_read_there():
    assert texts([run("口", 50, 67), run("words", 75, 120, 1)], 50) == ["[ ]", "words"]
    assert texts([run("X", 50, 67), run("words", 75, 120, 1)], 50, is_ticked=True) == ["[x]", "words"]
    assert texts([run("口words", 50, 120)], 50) == ["[ ]", "words"]


def test_a_box_that_was_not_read_is_set_before_its_text():
    assert texts([run("words", 75, 120)], 75) == ["[ ]", "words"]


def test_a_box_far_from_any_text_changes_nothing():
    assert texts([run("words", 200, 250)], 200) == ["words"]
