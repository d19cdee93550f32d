"""Tables of contents and columns of marks are lists; tables that only look like them are none."""

import pytest

from ocr_app.models.embedded.geometry.blocks import make_block
from ocr_app.models.embedded.geometry.lists import list_rows
from ocr_app.models.embedded.geometry.seen import SeenPage
from tests.models.conftest import typeset


def rows(*pairs: tuple[str, str], bold: tuple[int, ...] = ()) -> list[tuple[str, bool]] | None:
    """The entries of a block of two columns; an empty right column is left out."""
    lines, is_bold = [], []
    for row, pair in enumerate(pairs):
        for x, text in zip((50.0, 600.0), pair, strict=True):
            if text:
                is_bold += [len(lines)] if row in bold else []
                lines.append((x, 50.0 + 20 * row, text))
    found = list_rows(make_block(SeenPage(typeset(*lines, bold=is_bold)).lines, "table"))
    return found and [(" ".join(line.text for line in row), is_head) for row, is_head in found]


CONTENTS = [("Kettles", "1"), ("Spoons", "4"), ("Anvils", "9"), ("Index", "12")]


def test_text_with_page_numbers_that_grow_is_contents():
    assert rows(*CONTENTS) == [
        ("Kettles 1", False),
        ("Spoons 4", False),
        ("Anvils 9", False),
        ("Index 12", False),
    ]


def test_numbers_behind_leaders_in_the_line_are_page_numbers():
    assert rows(*[(f"Part {number} ..... {number}", "") for number in range(1, 6)])
    assert rows(*[(f"Part {number}", "") for number in range(1, 6)]) is None


def test_a_bold_line_without_a_number_is_a_heading_between_entries():
    found = rows(("Tools", ""), *CONTENTS, bold=(0,))
    assert found[0] == ("Tools", True)
    assert not any(is_head for _, is_head in found[1:])


@pytest.mark.parametrize("numbers", [("12", "4", "9", "1"), ("x", "y", "z", "w")])
def test_numbers_that_fall_and_words_are_no_contents(numbers: tuple[str, ...]):
    assert rows(*[(name, number) for (name, _), number in zip(CONTENTS, numbers, strict=True)]) is None


def test_few_rows_are_no_contents():
    assert rows(*CONTENTS[:3]) is None


@pytest.mark.parametrize("marks", [("•", "•", "•"), ("1.", "2.", "3."), ("--all", "-q", "--long")])
def test_marks_in_a_column_of_their_own_make_items(marks: tuple[str, ...]):
    found = rows(*[(mark, "the text of it") for mark in marks])
    assert [text for text, _ in found] == [f"{mark} the text of it" for mark in marks]
    assert rows(*[("word", "the text of it") for _ in marks]) is None
