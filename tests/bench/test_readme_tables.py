"""The tables of both README files are the stored results and nothing else."""

import json
import runpy
from pathlib import Path

import pytest

from ocr_app.bench.environment import RESULTS, print_result

REPOSITORY = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "readme_tables.py"))
fill, stored_tables, rendered, FILES = (
    SCRIPT[name] for name in ("fill", "stored_tables", "rendered", "FILES")
)
TABLE = {"columns": ["engine", "CER %"], "rows": [["tiny", "1.5"], ["other", None]]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    print_result("pages", {"command": "bench pages", "tables": {"pages": TABLE}}, tmp_path / "pages.json")
    return tmp_path


def test_a_slot_is_filled_with_table_command_and_machine(folder: Path):
    text = fill("before\n<!-- table:pages -->\nold\n\n| rows |\n<!-- end -->\nafter\n", stored_tables(folder))
    assert text.startswith(
        "before\n<!-- table:pages -->\n| engine | CER % |\n| :--- | ---: |\n"
        "| tiny | 1.5 |\n| other | – |\n\n<sub>`bench pages`; "
    )
    assert text.endswith("</sub>\n<!-- end -->\nafter\n")
    assert "old" not in text


def test_filling_twice_changes_nothing_and_text_outside_stays(folder: Path):
    tables = stored_tables(folder)
    once = fill("a <!-- end --> b\n<!-- table:pages -->\n<!-- end -->\n<!-- note -->", tables)
    assert fill(once, tables) == once
    assert once.startswith("a <!-- end --> b\n")
    assert once.endswith("<!-- note -->")


def test_a_slot_without_a_result_is_an_error(folder: Path):
    with pytest.raises(KeyError, match="speed"):
        fill("<!-- table:speed -->\n<!-- end -->", stored_tables(folder))


def test_a_table_name_is_used_once(folder: Path):
    (folder / "again.json").write_text((folder / "pages.json").read_text())
    with pytest.raises(ValueError, match="twice"):
        stored_tables(folder)


def test_a_part_of_a_table_is_what_was_asked_for(folder: Path):
    marker = "<!-- table:pages where engine=other|third show CER %, engine -->"
    text = fill(f"{marker}\n<!-- end -->", stored_tables(folder))
    assert text.startswith(f"{marker}\n| CER % | engine |\n| ---: | :--- |\n| – | other |\n\n<sub>")
    assert fill(text, stored_tables(folder)) == text


@pytest.mark.parametrize("wish", ["where engine=nobody", "where speed=1", "show speed"])
def test_a_part_that_is_not_there_is_an_error(folder: Path, wish: str):
    with pytest.raises((KeyError, ValueError), match=r"nobody|speed"):
        fill(f"<!-- table:pages {wish} -->\n<!-- end -->", stored_tables(folder))


def test_a_table_that_may_be_missing_says_so(folder: Path):
    text = "<!-- table:speed? -->\n<!-- end -->"
    assert fill(text, {}) == "<!-- table:speed? -->\nNot measured yet.\n<!-- end -->"
    again = fill(fill(text.replace("speed", "pages"), {}), stored_tables(folder))
    assert "| tiny | 1.5 |" in again
    assert "Not measured" not in again


def test_every_stored_result_can_be_rendered():
    for path in RESULTS.glob("*.json"):
        tables = json.loads(path.read_text(encoding="utf-8")).get("tables", {})
        assert all(len(row) == len(table["columns"]) for table in tables.values() for row in table["rows"]), (
            path.name
        )
    assert all(rendered(*stored).startswith("| ") for stored in stored_tables(RESULTS).values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.parent.name + "/" + path.name)
def test_the_files_agree_with_the_stored_results(path: Path):
    text = path.read_text(encoding="utf-8")
    assert fill(text, stored_tables(RESULTS)) == text, "run scripts/readme_tables.py"


def test_every_stored_table_is_shown_somewhere():
    text = "".join(path.read_text(encoding="utf-8") for path in FILES)
    assert [name for name in stored_tables(RESULTS) if f"<!-- table:{name}" not in text] == []


def test_the_readme_is_short_enough_for_a_newcomer():
    assert len(FILES[0].read_text(encoding="utf-8").splitlines()) < 150
