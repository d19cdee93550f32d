"""A line at the edge may be left out only where something proves it to be a running head; all else is
body.
"""

import pytest

from ocr_app.document.running_heads import PageEdges, PlacedText, Repeats, is_page_number, running_heads

WIDTH, HEIGHT, LINE = 1000, 1400, 20.0
BODY = PlacedText("Text of the page.", (100, 200, 900, 1150), LINE)
TOP, BOTTOM, MIDDLE = (100, 60, 500, 80), (100, 1300, 500, 1320), (100, 1160, 500, 1180)
CORNER = (880, 1300, 900, 1320)


def page(*called: tuple[str, tuple], body: tuple[PlacedText, ...] = (BODY,), index: int = 0) -> PageEdges:
    return PageEdges(index, WIDTH, HEIGHT, tuple(PlacedText(text, box, LINE) for text, box in called), body)


def verdicts(one: PageEdges, *others: PageEdges) -> tuple[bool, ...]:
    return running_heads(one, Repeats([*others, one]))


@pytest.mark.parametrize(
    "text",
    [
        "7",
        "- 4 -",
        "–12–",
        "Page 3",
        "page 3 of 9",
        "Seite 4 von 7",
        "p. 12",
        "xiv",
        "3-2",
        "B-4",
        "第3页",
        "| 8",
    ],
)
def test_page_numbers_are_known(text: str):
    assert is_page_number(text)
    assert verdicts(page((text, BOTTOM))) == (True,)


@pytest.mark.parametrize(
    "text", ["", "civil", "mix it", "3 apples", "Room 12", "1.2.3.4", "12 March 2024", "A"]
)
def test_what_is_no_page_number(text: str):
    assert not is_page_number(text)


@pytest.mark.parametrize(
    "text",
    [
        "Manual Transmittal",
        "12 March 2024",
        "Annual Report 2018",
        "Invoice 4711",
        "= Generated block via build",
        "FOOTER LINE",
        "1 The note of the page, in small print.",
        "A B C D",
    ],
)
@pytest.mark.parametrize("box", [TOP, BOTTOM])
def test_a_page_alone_with_no_number_has_no_running_heads(text: str, box: tuple):
    assert verdicts(page((text, box))) == (False,)


@pytest.mark.parametrize(
    "text",
    [
        "ISSN 1234-5678",
        "https://example.org/a/12",
        "www.example.org",
        "© 2014 The Authors. All rights reserved.",
        "Chapter 3 · Page 12",
        "Chapter 17: Harbours 295",
        "Vol 4 No 13 May 2013",
        "Journal of Tides 2004;13:445-447",
        "Downloaded from a library on 3 May 2020",
        "Form 12-02 (3/2016)",
    ],
)
def test_marks_that_only_heads_and_feet_carry_are_believed_on_one_page(text: str):
    assert verdicts(page((text, BOTTOM))) == (True,)
    assert verdicts(page((text, MIDDLE))) == (False,)


def test_a_later_page_number_makes_its_neighbours_running_heads():
    assert verdicts(page(("Harbours", TOP), ("233", CORNER), ("System Guide", BOTTOM))) == (True, True, True)


def test_the_title_of_a_first_page_is_not_a_running_head():
    for number in ("1", "i", "Page 1 of 3"):
        assert verdicts(page(("Application for a Mooring", TOP), (number, CORNER))) == (False, True)


@pytest.mark.parametrize(
    "text",
    [
        "Table 3. Depths at low water",
        "表 2 水深",
        "2Court roll of the manor",
        "It went on to the quay and stopped.",
    ],
)
def test_captions_notes_and_sentences_stay_on_a_numbered_page(text: str):
    assert verdicts(page((text, BOTTOM), ("12", CORNER))) == (False, True)


def test_a_line_close_to_the_body_or_inside_of_it_stays():
    close = PlacedText("Last line of a paragraph", (100, 200, 900, 1295), LINE)
    assert verdicts(page(("12", BOTTOM), body=(close,))) == (False,)
    below = PlacedText("A foot that is body", (100, 1350, 900, 1370), LINE)
    assert verdicts(page(("12", BOTTOM), body=(BODY, below))) == (False,)


def test_a_head_that_repeats_is_set_aside_with_its_digits_and_a_misread_letter():
    first = page(("The Ferry Book, part 1", TOP))
    again = page(("The Ferry B0ok, part 2", TOP), index=1)
    assert verdicts(first, again) == (True,)
    assert verdicts(first) == (False,)
    assert verdicts(first, page(("The Ferry Book, part 2", BOTTOM), index=1)) == (False,)
    assert verdicts(page(("The Ferry Book", TOP)), page(("Of other boats", TOP), index=1)) == (False,)


def test_a_head_repeated_far_away_counts_if_it_is_the_same():
    far = page(("The Ferry Book", TOP), index=400)
    assert verdicts(page(("The Ferry Book", TOP)), far) == (True,)
    assert verdicts(page(("The Ferry Bock", TOP)), far) == (False,)


def test_a_line_amid_the_page_stays_even_if_it_repeats():
    middle = (100, 600, 500, 620)
    assert verdicts(page(("Press any key", middle)), page(("Press any key", middle), index=1)) == (False,)


def test_without_a_body_only_repeated_lines_are_set_aside():
    assert verdicts(page(("3", TOP), ("www.example.org", BOTTOM), body=())) == (False, False)
    other = page(("www.example.org", BOTTOM), index=1)
    assert verdicts(page(("3", TOP), ("www.example.org", BOTTOM), body=()), other) == (False, True)


def test_a_line_without_a_place_needs_repetition():
    def unplaced(index: int) -> PageEdges:
        return page(("The Ferry Book", None), ("12", None), index=index)

    assert verdicts(unplaced(0)) == (False, False)
    assert verdicts(unplaced(0), unplaced(1)) == (True, True)


def test_a_spelled_page_number_beside_a_title_is_set_aside_and_the_title_is_not():
    title = PlacedText("Command Codes", (100, 58, 500, 82), LINE)
    beside = page(("page 5", (800, 60, 880, 80)), ("Overview", (600, 60, 700, 80)), body=(title, BODY))
    assert verdicts(beside) == (True, False)


def test_a_foot_that_repeats_is_set_aside_right_below_the_body_and_one_that_does_not_is_kept():
    full = PlacedText("The last line of a full page.", (100, 1200, 900, 1298), LINE)
    foot = ("Manual of the Harbour", BOTTOM)
    assert verdicts(page(foot, body=(full,)), page(foot, index=1)) == (True,)
    assert verdicts(page(foot, body=(full,))) == (False,)
