"""What opens a list item, and what only looks so."""

import pytest

from ocr_app.models.embedded.geometry.marks import Mark, is_in_turn, read_mark


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("• an item", Mark("bullet")),
        ("- an item", Mark("bullet")),
        ("[x] done", Mark("bullet")),
        ("[ ] to do", Mark("bullet")),
        ("--all  shows everything", Mark("bullet")),
        ("3. An item", Mark("number", 3)),
        ("(12) An item", Mark("number", 12)),
        ("7) An item", Mark("number", 7)),
        ("3.项目", Mark("number", 3)),
        ("iv) An item", Mark("roman", 4)),
        ("(ix) An item", Mark("roman", 9)),
        ("b) An item", Mark("letter", 2)),
        ("①项目", Mark("other")),
        ("二、项目", Mark("other")),
        ("3.", Mark("number", 3)),
    ],
)
def test_a_mark_is_read_with_its_value(text: str, mark: Mark):
    assert read_mark(text) == mark


@pytest.mark.parametrize(
    "text", ["", "3.14 is a number", "1,200 pieces", "word", "—word", "2024 was", "a word"]
)
def test_other_beginnings_are_no_marks(text: str):
    assert read_mark(text) is None


def test_a_letter_counts_only_beside_its_neighbour():
    initial, others = Mark("letter", 7), [Mark("letter", 7), Mark("letter", 2)]
    assert not is_in_turn(initial, others)
    assert is_in_turn(initial, [*others, Mark("letter", 8)])
    assert is_in_turn(Mark("number", 1), [])
    assert is_in_turn(Mark("bullet"), [])
