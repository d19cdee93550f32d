"""What every bench prints beside its figures: the machine, the versions, Markdown tables, and one JSON object
as the last line.

A saved result is the same JSON object with line breaks. Tables meant for the README go under its key
"tables", by name, as {"columns": [...], "rows": [[...], ...]}; scripts/readme_tables.py renders those and
nothing else. It knows nothing of what is measured.
"""

import json
import os
import platform
import re
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ocr_app.config import num_usable_cores

PACKAGES = ("torch", "onnxruntime", "numpy", "rapidocr", "pymupdf")
_NUMBER = re.compile(r"[-+]?[\d.,]+(?:e[-+]?\d+)?[ %×x]*|–|")
REPOSITORY = Path(__file__).resolve().parents[2]
RESULTS = REPOSITORY / "assets" / "bench"


def describe_machine() -> dict[str, Any]:
    """Hardware, versions, commit and date of this run. A value that cannot be found out is None."""
    return {
        "cpu": _cpu_name(),
        "cores": num_usable_cores(),
        "memory_gb": _memory_gb(),
        "gpu": _gpu_name(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
        "commit": _commit(),
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }


def command(bench: str, argv: Sequence[str]) -> str:
    """The command of a run as it goes into the result; of folders and files only the names."""
    words = (Path(word).name if "/" in word else word for word in argv if word != "--save")
    return " ".join(["python -m ocr_app bench", bench, *words])


def machine_line(machine: Mapping[str, Any]) -> str:
    """One line for a person, of what `describe_machine` found."""
    hardware = [machine["cpu"] or machine["system"], f"{machine['cores']} cores"]
    hardware += [f"{machine['memory_gb']} GB"] if machine["memory_gb"] is not None else []
    hardware += [machine["gpu"]] if machine["gpu"] else []
    software = [f"Python {machine['python']}"] + [
        f"{name} {found}" for name, found in machine["packages"].items()
    ]
    commit = machine["commit"] or "unknown"
    return f"{', '.join(hardware)}; {', '.join(software)}; commit {commit}, {machine['date']}"


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A pipe table; columns of numbers are aligned right. None, that is unknown, is shown as a dash."""
    cells = [[_cell(value) for value in row] for row in rows]
    is_text = [any(not _NUMBER.fullmatch(row[index]) for row in cells) for index in range(len(columns))]
    rule = [":---" if text else "---:" for text in is_text]
    return "\n".join(f"| {' | '.join(line)} |" for line in [[_cell(name) for name in columns], rule, *cells])


def print_result(name: str, result: Mapping[str, Any], save: Path | None = None) -> None:
    """Print the machine and, as the last line, the result as one JSON object; keep it in `save` if given."""
    record = {"bench": name, "machine": describe_machine(), **result}
    if save is not None:
        save.parent.mkdir(parents=True, exist_ok=True)
        save.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"\n{machine_line(record['machine'])}")
    print(json.dumps(record, ensure_ascii=False))


def _cell(value: object) -> str:
    return "–" if value is None else str(value).replace("|", "\\|")


def _cpu_name() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or None
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), None)


def _memory_gb() -> float | None:
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1)
    except (ValueError, OSError, AttributeError):
        return None


def _gpu_name() -> str | None:
    """The CUDA device, asked of torch only where it is installed."""
    try:
        import torch
    except ImportError:
        return None
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _commit() -> str | None:
    command = ["git", "-C", str(REPOSITORY), "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None
