"""The frame around every bench: the last line is JSON, the file holds the same, unknown is a dash."""

import json
from pathlib import Path

import pytest

from ocr_app.bench.environment import describe_machine, machine_line, markdown_table, print_result


def test_the_last_line_is_the_saved_result(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    save = tmp_path / "deep" / "result.json"
    print_result("pages", {"pages_per_s": 1.5, "name": "页"}, save)
    printed = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert printed == json.loads(save.read_text(encoding="utf-8"))
    assert printed["bench"] == "pages"
    assert (printed["pages_per_s"], printed["name"]) == (1.5, "页")


def test_the_machine_line_names_cores_python_and_commit():
    machine = describe_machine()
    line = machine_line(machine)
    assert f"{machine['cores']} cores" in line
    assert f"Python {machine['python']}" in line
    assert (machine["commit"] or "unknown") in line


def test_a_table_shows_unknown_as_a_dash_and_escapes_pipes():
    lines = markdown_table(["engine", "lost"], [["a|b", None], ["c", 0]]).splitlines()
    assert lines == ["| engine | lost |", "| :--- | ---: |", "| a\\|b | – |", "| c | 0 |"]


def test_columns_of_numbers_are_aligned_right():
    rule = markdown_table(
        ["n", "share", "name", "mixed"], [[1, "12.5 %", "x", None], [-2.5, None, "3", "1 of 2"]]
    ).splitlines()[1]
    assert rule == "| ---: | ---: | :--- | :--- |"
