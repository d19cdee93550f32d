#!/usr/bin/env python3
"""Put the stored bench results into README.md and assets/bench/README.md, between `<!-- table:NAME -->` and
`<!-- end -->`. With --check, only say whether they agree.

NAME is a key of "tables" in one of assets/bench/*.json. Under each table stand the command, the machine and
the date of its run. A marker without a stored table is an error: a table nobody measured must not stay. A
name with a question mark may be missing, and the text says so until it is measured. A part of a table:

    <!-- table:memory where mode=sparse|full, pages=20|100 show mode, pages -->
"""

import argparse
import json
import re
import sys
from pathlib import Path
from typing import Any

REPOSITORY = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(REPOSITORY))

from ocr_app.bench.environment import RESULTS, machine_line, markdown_table  # noqa: E402

FILES = (REPOSITORY / "README.md", REPOSITORY / "assets" / "bench" / "README.md")
NOT_MEASURED = "Not measured yet."
_SLOT = re.compile(
    r"<!-- table:(?P<name>[\w-]+)(?P<optional>\??)"
    r"(?: where (?P<where>[^\n]*?))?(?: show (?P<show>[^\n]*?))? -->\n"
    r".*?<!-- end -->",
    re.DOTALL,
)

Stored = tuple[dict[str, Any], dict[str, Any]]  # a table and the result it belongs to


def stored_tables(folder: Path) -> dict[str, Stored]:
    """Every table of every saved result, by name."""
    tables: dict[str, Stored] = {}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        for name, table in result.get("tables", {}).items():
            if name in tables:
                raise ValueError(f"table {name!r} is stored twice, the second time in {path.name}")
            tables[name] = (table, result)
    return tables


def fill(text: str, tables: dict[str, Stored]) -> str:
    """The text with every slot filled. Raises KeyError with the name of a table or column that is not stored,
    ValueError where no row is left.
    """

    def filled(slot: re.Match[str]) -> str:
        first_line = slot[0].split("\n", 1)[0]
        name = slot["name"]
        if slot["optional"] and name not in tables:
            return f"{first_line}\n{NOT_MEASURED}\n<!-- end -->"
        table, result = tables[name]
        return f"{first_line}\n{rendered(part(table, slot['where'], slot['show']), result)}\n<!-- end -->"

    return _SLOT.sub(filled, text)


def part(table: dict[str, Any], where: str | None, show: str | None) -> dict[str, Any]:
    """The rows that have one of the values asked for in each column named, and the columns asked for."""
    columns, rows = list(table["columns"]), table["rows"]
    for condition in where.split(", ") if where else ():
        column, values = condition.split("=", 1)
        place = _place(columns, column)
        rows = [row for row in rows if str(row[place]) in values.split("|")]
    if where and not rows:
        raise ValueError(f"no row is left where {where}")
    shown = [_place(columns, column) for column in show.split(", ")] if show else range(len(columns))
    return {"columns": [columns[place] for place in shown], "rows": [[row[p] for p in shown] for row in rows]}


def rendered(table: dict[str, Any], result: dict[str, Any]) -> str:
    source = f"`{result['command']}`; " if "command" in result else ""
    return f"{markdown_table(**table)}\n\n<sub>{source}{machine_line(result['machine'])}</sub>"


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Render the tables from the stored bench results.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if a file does not agree"
    )
    options = parser.parse_args(argv)
    tables, differing = stored_tables(RESULTS), []
    for path in FILES:
        before = path.read_text(encoding="utf-8")
        after = fill(before, tables)
        if after != before:
            differing.append(path.relative_to(REPOSITORY).as_posix())
        if not options.check:
            path.write_text(after, encoding="utf-8")
    if options.check:
        print(f"{', '.join(differing)}: run scripts/readme_tables.py." if differing else "All tables agree.")
    return int(options.check and bool(differing))


def _place(columns: list[str], column: str) -> int:
    if column not in columns:
        raise KeyError(f"there is no column {column!r}; there are {', '.join(columns)}")
    return columns.index(column)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
