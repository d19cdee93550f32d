"""The README's tables are the stored results and nothing else."""

import json
import runpy
from pathlib import Path

import pytest

from ocr_app.bench.environment import RESULTS, print_result

REPOSITORY = Path(__file__).parents[2]
SCRIPT = runpy.run_path(str(REPOSITORY / "scripts" / "readme_tables.py"))
fill, stored_tables = SCRIPT["fill"], SCRIPT["stored_tables"]
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


def test_every_stored_result_can_be_rendered():
    for path in RESULTS.glob("*.json"):
        tables = json.loads(path.read_text(encoding="utf-8")).get("tables", {})
        assert all(len(row) == len(table["columns"]) for table in tables.values() for row in table["rows"]), (
            path.name
        )
    assert all(text.startswith("| ") for text in stored_tables(RESULTS).values())


@pytest.mark.skipif(not (REPOSITORY / "README.md").exists(), reason="there is no README.md yet")
def test_the_readme_agrees_with_the_stored_results():
    text = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    assert fill(text, stored_tables(RESULTS)) == text, "run scripts/readme_tables.py"
