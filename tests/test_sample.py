"""The shipped reader, with its shipped weights and settings, on the shipped sample: from PDF to Markdown.

What it writes is stored. After a change of the reader, look at the difference and store the new text with

    ./run parse assets/sample.pdf -o tests/data/sample.md
"""

from pathlib import Path

import pytest
from rapidfuzz.distance import Indel

from ocr_app.cli import main

ROOT = Path(__file__).parent.parent
STORED = ROOT / "tests" / "data" / "sample.md"
# Not equality: networks of the encoder and the reader round differently on different processors, and a line
# that one reads with a doubt may be cut or read differently on another.
LEAST_SIMILARITY = 0.995


@pytest.mark.slow
def test_the_shipped_reader_writes_the_sample_as_it_did(tmp_path: Path):
    written = tmp_path / "sample.md"
    assert main(["parse", str(ROOT / "assets" / "sample.pdf"), "-o", str(written), "--quiet"]) == 0
    ours, theirs = written.read_text(encoding="utf-8"), STORED.read_text(encoding="utf-8")
    similarity = Indel.normalized_similarity(ours, theirs)
    assert similarity >= LEAST_SIMILARITY, f"similarity {similarity:.4f}; see this file for how to store anew"
