"""Reading order: all blocks once, columns one after the other, rows across, what stands over them first."""

from hypothesis import given, settings

from ocr_app.models.embedded.geometry.blocks import make_block
from ocr_app.models.embedded.geometry.order import reading_order
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.types import EncodedPage
from tests.models.conftest import typeset
from tests.models.geometry.drawing import pages

LINE_STEP = 16.0


def order(*blocks: tuple[float, float, str], num_lines: int = 1) -> list[str]:
    """The first lines of blocks, each of several lines below each other, in reading order."""
    lines = [
        (x, y + LINE_STEP * row, text if row == 0 else "and so on")
        for x, y, text in blocks
        for row in range(num_lines)
    ]
    page = SeenPage(typeset(*lines))
    starts = range(0, len(lines), num_lines)
    made = [make_block(page.lines[start : start + num_lines]) for start in starts]
    return [block.lines[0].text for block in reading_order(made, page.body_size)]


def column(x: float, top: float, *texts: str, step: float = 60) -> list[tuple[float, float, str]]:
    return [(x, top + step * place, text) for place, text in enumerate(texts)]


@settings(max_examples=100)
@given(pages())
def test_the_order_is_a_permutation_whatever_the_boxes(page: EncodedPage):
    seen = SeenPage(page)
    blocks = [make_block([line]) for line in seen.lines]
    ordered = reading_order(blocks, seen.body_size)
    assert sorted(map(id, ordered)) == sorted(map(id, blocks))


def test_columns_whose_blocks_do_not_begin_beside_each_other_are_read_one_after_the_other():
    left = column(50, 100, "left first", "left second", "left third")
    right = column(400, 130, "right first", "right second", "right third")
    assert order(*right, *left) == [text for _, _, text in (*left, *right)]


def test_a_title_over_two_columns_comes_first_and_what_stands_below_both_last():
    title, foot = (
        "a title that reaches over both of the columns",
        "a text below that reaches over both columns",
    )
    left = column(50, 100, "left first", "left second")
    right = column(300, 130, "right first", "right second")
    ordered = order((50, 300, foot), *right, *left, (50, 20, title), num_lines=3)
    assert ordered == [title, "left first", "left second", "right first", "right second", foot]


def test_numbers_that_count_across_are_read_across():
    left, right = (
        column(50, 100, "1. one", "3. three", "5. five"),
        column(400, 100, "2. two", "4. four", "6. six"),
    )
    assert order(*left, *right) == ["1. one", "2. two", "3. three", "4. four", "5. five", "6. six"]


def test_numbers_that_count_down_are_read_down():
    left, right = (
        column(50, 100, "1. one", "2. two", "3. three"),
        column(400, 100, "4. four", "5. five", "6. six"),
    )
    assert order(*right, *left) == ["1. one", "2. two", "3. three", "4. four", "5. five", "6. six"]


def test_no_block_and_one_block():
    assert order() == []
    assert order((0, 0, "alone")) == ["alone"]
