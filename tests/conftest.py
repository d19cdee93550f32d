"""Shared fixtures: fixed seeds and one torch thread, so that tests are repeatable on a busy machine."""

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# A deadline measures the machine's other work, and this one may be busy.
settings.register_profile("busy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("busy")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Say in the last line what was skipped, and what brings it."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:
        return
    line = skipped_line([report.longrepr[2] for report in reporter.stats.get("skipped", [])])
    if line:
        print(line)


def skipped_line(reasons: list[str]) -> str:
    """One line for the reasons of all skipped tests, which begin with `needs`; empty when there are none."""
    counts = Counter(reason.removeprefix("Skipped: ").removeprefix("needs ") for reason in reasons)
    needs = ", ".join(f"{number} for want of {what}" for what, number in sorted(counts.items()))
    return f"Skipped: {needs}. scripts/optional.sh installs what Debian has of it." if counts else ""


@pytest.fixture(autouse=True)
def fixed_seed():
    import torch

    torch.manual_seed(0)
    torch.set_num_threads(1)


@pytest.fixture
def two_page_pdf(tmp_path: Path) -> Path:
    """A drawn PDF: one line of large text on each of two small pages."""
    import pymupdf

    path = tmp_path / "two.pdf"
    with pymupdf.open() as document:
        for text in ("Copper kettle", "Silver spoon"):
            document.new_page(width=220, height=90).insert_text((20, 50), text, fontsize=20)
        document.save(path)
    return path
