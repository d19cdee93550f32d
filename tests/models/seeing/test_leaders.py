"""Dots that lead to a number are taken out; other dots stay."""

from ocr_app.models.embedded.seeing.leaders import without_leaders
from ocr_app.types import Run


def trimmed(*lines: tuple[float, str]) -> list[str]:
    """Lines by left edge, on one row; words are runs."""
    laid, boxes = [], []
    for index, (x, text) in enumerate(lines):
        words = text.split(" ")
        laid.append(
            [
                Run(
                    word,
                    (x + 20 * place, 0, x + 20 * place + 18, 10),
                    0.9,
                    place < len(words) - 1,
                    index,
                    place,
                )
                for place, word in enumerate(words)
            ]
        )
        boxes.append((x, 0.0, x + 20 * len(words), 10.0))
    return [
        "".join(run.text + " " * run.has_space_after for run in runs) for runs in without_leaders(laid, boxes)
    ]


def test_leaders_inside_a_line_are_taken_out():
    assert trimmed((0, "Kettles ..... 12")) == ["Kettles 12"]


def test_leaders_before_a_number_of_its_own_are_taken_out():
    assert trimmed((0, "Kettles ...."), (200, "12")) == ["Kettles", "12"]
    assert trimmed((0, "Kettles...."), (200, "xiv")) == ["Kettles", "xiv"]


def test_dots_that_lead_to_nothing_stay():
    assert trimmed((0, "and so on ....")) == ["and so on ...."]
    assert trimmed((0, "and so on ...."), (200, "words")) == ["and so on ....", "words"]


def test_a_line_of_nothing_but_leaders_keeps_its_run():
    assert trimmed((0, "....."), (200, "12")) == [".....", "12"]
