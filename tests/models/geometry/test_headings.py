"""Levels of headings follow their type, their numbers and their capitals."""

from ocr_app.models.embedded.geometry.headings import set_levels
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.text import Part
from ocr_app.types import RegionKind
from tests.models.conftest import SIZE, typeset


def levels(*headings: tuple[str, float]) -> list[int]:
    """The level of each heading of a text and a size in multiples of the running text's."""
    parts = [
        Part(RegionKind.HEADING, [SeenPage(typeset((50, 50, text), size=SIZE * size)).lines])
        for text, size in headings
    ]
    set_levels(
        [Part(RegionKind.PARAGRAPH, parts[0].rows), *parts], SeenPage(typeset((50, 50, "body"))).body_size
    )
    return [part.level for part in parts]


def test_larger_type_stands_higher():
    assert levels(("title", 2.0), ("section", 1.5), ("subsection", 1.2), ("section", 1.5)) == [1, 2, 3, 2]


def test_sizes_that_hardly_differ_are_one():
    assert levels(("title", 2.0), ("section", 1.5), ("section", 1.45)) == [1, 2, 2]


def test_numbers_tell_the_depth_of_headings_of_one_size():
    assert levels(("title", 2.0), ("1 one", 1.2), ("1.1 two", 1.2), ("1.1.1 three", 1.2)) == [1, 2, 3, 4]


def test_capitals_stand_above():
    assert levels(("title", 2.0), ("CAPITALS", 1.2), ("small", 1.2)) == [1, 2, 3]


def test_the_only_heading_of_a_page_is_a_title_when_it_is_large():
    assert levels(("heading", 1.2)) == [2]
    assert levels(("heading", 1.6)) == [1]


def test_no_level_lies_below_the_fourth():
    sizes = (4.0, 3.0, 2.5, 2.0, 1.6, 1.2)
    assert levels(*[("heading", size) for size in sizes]) == [1, 2, 3, 4, 4, 4]
