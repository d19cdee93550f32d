"""Printed rules are found with their ends; letters and bars are none."""

from ocr_app.models.embedded.seeing.rules import find_rules
from tests.models.seeing.pictures import draw_words, paper


def test_a_level_and_an_upright_rule_are_found_where_they_lie():
    pixels = paper()
    pixels[100:102, 50:400] = 0
    pixels[200:400, 600:602] = 0
    (level,), (upright,) = find_rules(pixels, 20.0)
    assert abs(level.place - 101) <= 1
    assert abs(level.start - 50) <= 3
    assert abs(level.end - 400) <= 3
    assert abs(upright.place - 601) <= 1
    assert abs(upright.start - 200) <= 3
    assert abs(upright.end - 400) <= 3


def test_letters_and_short_strokes_are_no_rules():
    pixels = paper()
    draw_words(pixels, (50, 100, 400, 120))
    pixels[200:202, 50:66] = 0
    assert find_rules(pixels, 20.0) == ((), ())


def test_a_bar_is_no_rule():
    pixels = paper()
    pixels[100:140, 50:400] = 0
    assert all(rule.end - rule.start < 45 for rules in find_rules(pixels, 20.0) for rule in rules)


def test_an_empty_page_has_none():
    assert find_rules(paper(), 20.0) == ((), ())
