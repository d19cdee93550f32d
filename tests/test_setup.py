"""The two commands on a new machine: set-up says a line a step, and the last line of the tests what was
skipped.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.conftest import skipped_line

ROOT = Path(__file__).parent.parent
PYTHON = r"""#!/bin/sh
# plays Python for set-up: makes a virtual environment of itself; its pip warns of index locations
case "$*" in
    *sys.version_info*) exit 0 ;;
    "-m venv --clear .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    "-m pip --version") [ -e .venv/bin/python ] ;;
    "-c import torch") exit 1 ;;
    *+cpu*) echo "no such build" >&2; exit 1 ;;
    *"-m pip install"*)
        case "$*" in *-qq*) ;; *) echo "WARNING: Location 'file:///nowhere' is ignored" >&2 ;; esac
        echo "$*" >>installed ;;
    *) echo "unexpected: $*" >&2; exit 9 ;;
esac
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A new checkout, with a Python that installs nothing."""
    (tmp_path / "scripts").mkdir()
    shutil.copy(ROOT / "scripts" / "setup.sh", tmp_path / "scripts")
    for name in ("requirements.txt", "requirements-dev.txt"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "python").write_text(PYTHON)
    (tmp_path / "python").chmod(0o755)
    return tmp_path


def set_up(checkout: Path, requirements: str = "requirements-dev.txt") -> list[str]:
    """The lines that set-up prints."""
    environment = os.environ | {"PYTHON": str(checkout / "python")}
    command = ["sh", str(checkout / "scripts" / "setup.sh"), requirements]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return (done.stdout + done.stderr).splitlines()


def test_set_up_says_a_line_a_step_and_none_of_pips_warnings(checkout: Path):
    steps = ["making a virtual environment", "installing torch", "installing the packages", "done"]
    lines = set_up(checkout)
    assert len(lines) == len(steps)
    for line, step in zip(lines, steps, strict=True):
        assert line.startswith(f"set-up: {step}")


def test_set_up_does_and_says_nothing_the_second_time(checkout: Path):
    set_up(checkout)
    installed = (checkout / "installed").read_text()
    assert set_up(checkout) == []
    with (checkout / "requirements.txt").open("a") as file:
        file.write("# changed\n")
    assert set_up(checkout)
    assert (checkout / "installed").read_text() != installed


def test_the_last_line_counts_what_was_skipped_and_names_the_command():
    reasons = ["Skipped: needs chromium", "Skipped: needs tesseract", "Skipped: needs chromium"]
    line = skipped_line(reasons)
    assert line.startswith("Skipped: 2 for want of chromium, 1 for want of tesseract.")
    command = line.split(". ")[1].split()[0]
    assert os.access(ROOT / command, os.X_OK)
    assert skipped_line([]) == ""
