"""`bench`: run one measurement by name."""

import argparse
import re
from importlib import import_module
from pathlib import Path

import ocr_app.bench
from ocr_app.errors import ConfigError


def run(args: argparse.Namespace) -> int:
    names = bench_names()
    if args.name is None:
        print("\n".join(names))
        return 0
    if args.name not in names:
        raise ConfigError(f"There is no bench {args.name}; it must be one of {', '.join(names)}.")
    return import_module(f"ocr_app.bench.{args.name}").main(args.args)


def bench_names() -> list[str]:
    """Modules of the bench package that can be run, found without importing them."""
    files = Path(ocr_app.bench.__file__).parent.glob("*.py")
    return sorted(
        file.stem
        for file in files
        if re.search(r"^def main\(argv\b", file.read_text(encoding="utf-8"), re.MULTILINE)
    )
