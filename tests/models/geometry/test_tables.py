"""Tables: which blocks are one, and which run stands in which cell."""

from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.geometry.tables import (
    cells_of,
    may_be_table,
    page_blocks,
    table_boxes,
    table_grids,
)
from ocr_app.types import EncodedPage, Rule, TableGrid
from tests.models.conftest import laid_out, typeset

XS, YS = (100.0, 300.0, 500.0), (100.0, 130.0, 160.0)
WORDS = ("Item", "Made", "Sold", "Kettle", "120", "98", "Spoon", "75", "64")
LINES = [(x, y, WORDS[3 * row + column]) for row, y in enumerate(YS) for column, x in enumerate(XS)]
LEVEL = tuple(Rule(y, 90, 530) for y in (92.0, 122.0, 152.0, 182.0))
UPRIGHT = tuple(Rule(x, 92, 182) for x in (90.0, 290.0, 490.0, 530.0))
GRID = TableGrid((90.0, 92.0, 560.0, 182.0), (122.0, 152.0), (290.0, 490.0))


def texts(page: EncodedPage) -> list[list[str]] | None:
    """What the only block's cells hold."""
    seen = SeenPage(page)
    (block,) = page_blocks(seen)
    cells = cells_of(seen, block)
    return cells and [[" ".join(page.runs[run].text for run in cell) for cell in row] for row in cells]


EXPECTED = [list(WORDS[:3]), list(WORDS[3:6]), list(WORDS[6:])]


def table(*lines, **seen) -> EncodedPage:
    return laid_out(typeset(*lines), ("table", range(len(lines))), **seen)


def test_rules_all_over_part_a_table_and_the_grid_network_is_not_asked():
    page = table(*LINES, level_rules=LEVEL, upright_rules=UPRIGHT)
    assert texts(page) == EXPECTED
    assert table_boxes(SeenPage(page)) == []


def test_without_rules_the_grid_network_is_asked_and_followed():
    ((left, top, right, bottom),) = table_boxes(SeenPage(table(*LINES)))
    assert (left, top) == (98.0, 98.0), "two pixels around its text"
    assert right > 500
    assert bottom == 176.0
    assert texts(table(*LINES)) is None, "and without its answer there is no table"
    assert texts(table(*LINES, grids=(GRID,))) == EXPECTED


def test_a_line_over_two_columns_is_parted_at_the_edge_between_its_words():
    lines = [*LINES[:4], (260.0, 130.0, "120"), *LINES[5:]]
    joined = [*lines[:3], (100.0, 130.0, "Kettle"), (240.0, 130.0, "1200 980"), *LINES[6:]]
    grid = TableGrid(GRID.box, GRID.row_edges, (200.0, 272.0))
    assert texts(table(*joined, grids=(grid,)))[1] == ["Kettle", "1200", "980"]


def test_a_cell_over_two_columns_is_written_into_the_first_of_them():
    lines = [(350.0, 100.0, "Pieces"), *LINES[3:]]
    upright = (UPRIGHT[0], UPRIGHT[1], Rule(490.0, 122, 182), UPRIGHT[3])
    assert texts(table(*lines, level_rules=LEVEL, upright_rules=upright))[0] == ["", "Pieces", ""]


def test_the_lines_of_one_cell_are_read_from_top_to_bottom():
    lines = [*LINES[:3], (100.0, 126.0, "Copper"), (100.0, 140.0, "kettle"), *LINES[4:]]
    assert texts(table(*lines, grids=(GRID,)))[1] == ["Copper kettle", "120", "98"]


def test_a_row_and_a_column_that_hold_nothing_are_left_out():
    grid = TableGrid(GRID.box, (95.0, *GRID.row_edges), (200.0, *GRID.column_edges))
    assert texts(table(*LINES, grids=(grid,))) == EXPECTED


def test_what_lies_inside_a_table_belongs_to_it_and_a_caption_does_not():
    page = typeset(*LINES, (100.0, 200.0, "Table 1: kettles and spoons"))
    parts = [("table", [0, 1, 2, 3, 5, 6, 7, 8]), ("section-header", [4]), ("caption", [9])]
    blocks = page_blocks(SeenPage(laid_out(page, *parts)))
    assert sorted((block.kind, len(block.lines)) for block in blocks) == [("caption", 1), ("table", 9)]


def test_prose_that_is_called_a_table_is_none():
    lines = [(100.0, 100.0 + 16 * row, "words that go on and on over the page") for row in range(5)]
    assert texts(table(*lines, grids=(TableGrid((90.0, 90.0, 700.0, 180.0), (130.0,), (300.0,)),))) is None


def test_figures_in_a_column_apart_make_a_table_of_text():
    lines = [
        (x, 100.0 + 16 * row, text)
        for row, (name, figure) in enumerate([("Kettles", "120"), ("Spoons", "75"), ("Anvils", "8")])
        for x, text in ((100.0, name), (400.0, figure))
    ]
    page = SeenPage(laid_out(typeset(*lines), ("text", range(6))))
    (block,) = page_blocks(page)
    assert may_be_table(page, block)
    words = [(x, y, "words" if text.isdigit() else text) for x, y, text in lines]
    page = SeenPage(laid_out(typeset(*words), ("text", range(6))))
    assert not any(may_be_table(page, block) for block in page_blocks(page))


def test_a_page_without_tables_has_no_grids():
    page = laid_out(typeset((50, 50, "a line of text")), ("text", [0]), grids=(GRID,))
    assert table_grids(SeenPage(page)) == []


def test_neighbouring_columns_that_no_row_fills_both_of_are_one():
    lines = [(240.0, 100.0, "Made"), *LINES[3:]]
    grid = TableGrid(GRID.box, GRID.row_edges, (220.0, 295.0, 490.0))
    assert texts(table(*lines, grids=(grid,))) == [
        ["", "Made", ""],
        ["Kettle", "120", "98"],
        ["Spoon", "75", "64"],
    ]


def test_columns_with_a_head_each_stay_apart_though_no_other_row_fills_both():
    lines = [
        *LINES[:3],
        (100.0, 130.0, "Kettle"),
        (300.0, 130.0, "120"),
        (100.0, 160.0, "Spoon"),
        (500.0, 160.0, "64"),
    ]
    assert texts(table(*lines, grids=(GRID,))) == [
        ["Item", "Made", "Sold"],
        ["Kettle", "120", ""],
        ["Spoon", "", "64"],
    ]
