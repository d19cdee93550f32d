"""Tables of a document against its cells, in both files of the competition's format."""

from pathlib import Path

import pytest

from ocr_app.bench.real_tables import load_tables, score_tables, word_pairs
from ocr_app.errors import ConfigError

CELLS = """<document filename="x"><table id="1"><region page="2">
<cell start-row="0" start-col="0" end-col="1"><content>SEA LEVEL</content></cell>
<cell start-row="1" start-col="0"><content>spring
tide</content></cell><cell start-row="1" start-col="1"><content>1.8</content></cell>
<cell start-row="2" start-col="0"><content>neap</content></cell>
<cell start-row="2" start-col="1"><content>0.9</content></cell>
</region></table></document>"""
PLACES = '<document filename="x"><table id="1"><region id="1" page="2"/></table></document>'
TABLE = "| SEA LEVEL | |\n| --- | --- |\n| spring tide | 1.8 |\n| neap | 0.9 |\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "x.pdf").write_bytes(b"%PDF-1.7")
    (tmp_path / "x-str.xml").write_text(CELLS)
    (tmp_path / "x-reg.xml").write_text(PLACES)
    return tmp_path


def test_cells_stand_at_their_first_row_and_column(folder: Path):
    (document,) = load_tables(folder)
    assert document.tables == ((("SEA LEVEL", ""), ("spring tide", "1.8"), ("neap", "0.9")),)
    assert document.table_pages == {1}


def test_the_truth_itself_is_perfect(folder: Path):
    score = score_tables(load_tables(folder)[0], f"Text.\n\n{TABLE}", ["Text.", TABLE])
    assert (score.row_pairs, score.column_pairs, score.exact, score.cells) == (1, 1, 1, 1)
    assert (score.num_needless, score.num_bare) == (0, 1)


def test_two_values_that_change_rows_keep_columns_and_cells(folder: Path):
    swapped = TABLE.replace("1.8", "@").replace("0.9", "1.8").replace("@", "0.9")
    score = score_tables(load_tables(folder)[0], swapped, ["", swapped])
    assert (score.column_pairs, score.exact) == (1, 1)
    assert score.row_pairs == 0


def test_a_table_split_by_columns_keeps_no_rows(folder: Path):
    split = "| SEA LEVEL |\n| --- |\n| spring tide |\n| neap |\n\n| 1.8 |\n| --- |\n| 0.9 |\n"
    score = score_tables(load_tables(folder)[0], split, ["", split])
    assert (score.row_pairs, score.column_pairs, score.exact) == (0, 1, 1)


def test_a_table_on_a_page_without_one_is_needless(folder: Path):
    score = score_tables(load_tables(folder)[0], TABLE, [TABLE, "Text.", TABLE])
    assert (score.num_needless, score.num_bare) == (2, 2)


def test_no_output_is_nothing_right(folder: Path):
    score = score_tables(load_tables(folder)[0], "", ())
    assert (score.row_pairs, score.exact, score.cells) == (0, 0, 0)


def test_pairs_are_counted_once_and_never_inside_a_cell():
    assert word_pairs((("a b", "c"),)) == {("row", "a", "c"): 1, ("row", "b", "c"): 1}


@pytest.mark.parametrize("bad", ["<document", CELLS.replace('"2" start-col="1"', '"900000" start-col="1"')])
def test_damaged_cells_are_named(folder: Path, bad: str):
    (folder / "x-str.xml").write_text(bad)
    with pytest.raises(ConfigError, match=r"x-str\.xml|900000"):
        load_tables(folder)


def test_a_folder_without_documents_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match="NAME-str"):
        load_tables(tmp_path)
