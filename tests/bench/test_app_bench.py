"""The bench of the app: what it makes of its readings. The browser itself is in tests/ui."""

from pathlib import Path

import pytest

from ocr_app.bench import app
from ocr_app.bench.app import Reading
from ocr_app.errors import ConfigError


def test_what_is_received_is_counted_per_page_since_the_reading_before():
    readings = [
        Reading(2, 1.0, 30_000_000, 900, 4_000, 10**8),
        Reading(6, 3.0, 31_000_000, 950, 12_000, None),
    ]
    assert app.rows(readings) == [[2, 1, 30.0, 900, 2.0, 100], [6, 3, 31.0, 950, 2.0, None]]


@pytest.mark.parametrize(
    ("values", "expected"), [([10.0, 40.0, 40.0, 42.0], 1.05), ([7.0], None), ([], None)]
)
def test_growth_compares_the_end_with_the_middle(values: list[float], expected: float | None):
    assert app.growth(values) == expected


def test_a_file_that_is_not_there_is_named():
    with pytest.raises(ConfigError, match=r"gone\.pdf"):
        app.main([str(Path("gone.pdf"))])
