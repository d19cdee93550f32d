"""Order by white space: what stands in the margins belongs to no column."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.models.embedded.reading_order import reading_blocks

HEIGHT = 12.0


def columns_with(*extra: tuple[float, float, float, float]) -> list[tuple[float, float, float, float]]:
    """Two columns of ten lines from y = 100 on, and other boxes behind them."""
    return [
        (x, 100 + 18.0 * row, x + 240, 112 + 18.0 * row) for x in (50.0, 320.0) for row in range(10)
    ] + list(extra)


def order(boxes: list[tuple[float, float, float, float]]) -> list[int]:
    return [index for block in reading_blocks(boxes, HEIGHT) for row in block for index in row]


def test_a_footer_below_the_first_column_is_read_after_both():
    assert order(columns_with((50.0, 320.0, 130.0, 332.0))) == [*range(20), 20]


def test_a_page_number_above_the_second_column_is_read_first():
    assert order(columns_with((530.0, 60.0, 560.0, 72.0))) == [20, *range(20)]


def test_a_paragraph_below_a_gap_is_no_margin():
    tail = [(50.0, 330 + 18.0 * row, 290.0, 342 + 18.0 * row) for row in range(4)]
    assert order(columns_with(*tail)) == [*range(10), *range(20, 24), *range(10, 20)]


def test_a_title_close_above_both_columns_is_read_first():
    title = (240.0, 84.0, 370.0, 98.0)
    assert order(columns_with(title)) == [20, *range(20)]


def test_a_line_across_both_columns_parts_what_is_above_it_from_what_is_below():
    boxes = columns_with()
    boxes[5] = boxes[15] = (50.0, 190.0, 560.0, 202.0)  # the sixth line reaches over the gutter
    read = order(boxes[:15] + boxes[16:])
    assert read == [*range(5), *range(10, 15), 5, *range(6, 10), *range(15, 19)]


def test_a_table_in_a_column_of_prose_stays_in_its_column():
    cells = [
        (320 + 80.0 * column, 284 + 18.0 * row, 380 + 80.0 * column, 296 + 18.0 * row)
        for row in range(5)
        for column in range(3)
    ]
    prose = [(50.0, 284 + 18.0 * row, 290.0, 296 + 18.0 * row) for row in range(5)]
    boxes = columns_with(*prose, *cells)
    assert order(boxes) == [*range(10), *range(20, 25), *range(10, 20), *range(25, 40)]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40), st.integers(1, 30)), min_size=1, max_size=30)
)
def test_every_box_is_read_once(places: list[tuple[int, int, int]]):
    boxes = [(10.0 * x, 15.0 * y, 10.0 * (x + width), 15.0 * y + HEIGHT) for x, y, width in places]
    assert sorted(order(boxes)) == list(range(len(boxes)))


def test_a_column_that_is_all_table_is_cut_from_the_prose_beside_it():
    """Rows that do not go on over the gutter are no table's."""
    prose = [(50.0, 100 + 18.0 * row, 290.0, 112 + 18.0 * row) for row in range(20)]
    cells = [
        (320 + 80.0 * column, 104 + 14.3 * row, 380 + 80.0 * column, 116 + 14.3 * row)
        for row in range(24)
        for column in range(3)
    ]
    assert order(prose + cells) == list(range(20 + 72))


def test_a_wide_column_of_a_table_is_not_cut_from_the_cells_beside_it():
    rows = [
        [
            (50.0, y, 110.0, y + 12),
            (118.0, y, 320.0, y + 12),
            (330.0, y, 380.0, y + 12),
            (400.0, y, 450.0, y + 12),
        ]
        for y in (100 + 18.0 * row for row in range(20))
    ]
    assert order([box for row in rows for box in row]) == list(range(80))


def test_a_picture_in_one_column_does_not_cut_the_other():
    """White across both columns, below a title of many lines, is no gap between blocks."""
    titles = [(200.0, 20.0 + 30 * row, 420.0, 40.0 + 30 * row) for row in range(5)]
    left = [(50.0, 400 + 16.0 * row, 290.0, 412 + 16.0 * row) for row in range(12)]
    right = [
        (320.0, 190 + 16.0 * row + 20 * (row // 6), 560.0, 202 + 16.0 * row + 20 * (row // 6))
        for row in range(24)
    ]
    assert order(titles + left + right) == list(range(5 + 12 + 24))
