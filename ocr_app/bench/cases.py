"""Small inputs made after public reports of what goes wrong: `python -m ocr_app bench cases DIR`.

Each folder holds input.pdf, the same as scan.pdf (turned, with grain), and expected.md. Scored as `bench
real` scores, the two kinds apart; a folder's note says what its case is about and is for a person.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

from ocr_app.bench.environment import command, markdown_table, print_result
from ocr_app.bench.real import add_engine_options, load_marked, open_engines, read_files, summarise
from ocr_app.bench.real_engines import WholeOptions

KINDS = ("input", "scan")


def main(argv: list[str]) -> int:
    options = _parse(argv)
    missing: dict[str, str] = {}
    engines = open_engines(
        options.engines, WholeOptions(options.dpi, options.threads, options.weights), missing
    )
    found: dict[str, dict[str, Any]] = {}
    for kind in KINDS:
        files = load_marked(options.folder, f"{kind}.pdf", "expected.md", options.pages)
        output: Path | None = options.output / kind if options.output else None
        read = read_files(files, engines, missing, output)
        if not read:
            print("No engine could read any case; nothing is saved.", file=sys.stderr)
            return 1
        found[kind] = summarise(f"cases-{kind}", read)
    tables = {name: table for kind in KINDS for name, table in found[kind].pop("tables").items()}
    print("\n\n".join(markdown_table(**table) for table in tables.values()))
    result = {"command": command("cases", argv), "missing": missing, **found, "tables": tables}
    print_result("cases", result, options.into / "cases.json" if options.save else None)
    return 0


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ocr_app bench cases", description=__doc__.split("\n")[0])
    add_engine_options(parser)
    return parser.parse_args(argv)
