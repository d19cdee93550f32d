#!/usr/bin/env python3
"""Put the stored bench results into README.md, between `<!-- table:NAME -->` and `<!-- end -->`. With
--check, only say whether they agree.

NAME is a key of "tables" in one of assets/bench/*.json. Under each table stand the command, the machine and
the date of its run. A marker without a stored table is an error: a table nobody measured must not stay in the
README.
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

_SLOT = re.compile(r"<!-- table:(?P<name>[\w-]+) -->\n.*?<!-- end -->", re.DOTALL)


def stored_tables(folder: Path) -> dict[str, str]:
    """Every table of every saved result, rendered, by name."""
    tables: dict[str, str] = {}
    for path in sorted(folder.glob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        for name, table in result.get("tables", {}).items():
            if name in tables:
                raise ValueError(f"table {name!r} is stored twice, the second time in {path.name}")
            tables[name] = _rendered(table, result)
    return tables


def fill(text: str, tables: dict[str, str]) -> str:
    """The text with every slot filled. Raises KeyError with the name of a table that is not stored."""

    def filled(slot: re.Match[str]) -> str:
        name = slot["name"]
        return f"<!-- table:{name} -->\n{tables[name]}\n<!-- end -->"

    return _SLOT.sub(filled, text)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Render the README's tables from the stored bench results.")
    parser.add_argument(
        "--check", action="store_true", help="change nothing; exit 1 if the README does not agree"
    )
    options = parser.parse_args(argv)
    readme = REPOSITORY / "README.md"
    before = readme.read_text(encoding="utf-8")
    after = fill(before, stored_tables(RESULTS))
    if options.check:
        print(
            "README.md agrees with assets/bench."
            if after == before
            else "README.md differs; run scripts/readme_tables.py."
        )
        return int(after != before)
    readme.write_text(after, encoding="utf-8")
    return 0


def _rendered(table: dict[str, Any], result: dict[str, Any]) -> str:
    source = f"`{result['command']}`; " if "command" in result else ""
    return f"{markdown_table(**table)}\n\n<sub>{source}{machine_line(result['machine'])}</sub>"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
