"""Degraded pages keep their geometry, and held-out documents are written with matching truth."""

import json
from pathlib import Path

import numpy as np
import pytest

from ocr_app.training.degrade import AMOUNTS, degrade, move_boxes
from ocr_app.training.held_out import PAGE_SEPARATOR, write_held_out

pytestmark = pytest.mark.filterwarnings("ignore:No text package:RuntimeWarning")


@pytest.fixture
def page_with_a_mark() -> tuple[np.ndarray, np.ndarray]:
    pixels = np.full((400, 300, 3), 255, np.uint8)
    pixels[40:60, 200:260] = 0
    return pixels, np.array([[200, 40, 260, 60]], np.float32)


def test_no_degradation_changes_nothing(page_with_a_mark: tuple[np.ndarray, np.ndarray]):
    pixels, boxes = page_with_a_mark
    worse, matrix = degrade(pixels, np.random.default_rng(0), "none")
    assert np.array_equal(worse, pixels)
    assert np.array_equal(move_boxes(boxes, matrix), boxes)


@pytest.mark.parametrize("strength", AMOUNTS)
@pytest.mark.parametrize("seed", range(6))
def test_boxes_follow_the_ink(page_with_a_mark: tuple[np.ndarray, np.ndarray], strength: str, seed: int):
    import cv2

    pixels, boxes = page_with_a_mark
    worse, matrix = degrade(pixels, np.random.default_rng(seed), strength)
    assert worse.shape == pixels.shape
    assert worse.dtype == np.uint8
    grey = cv2.blur(worse, (5, 5)).mean(axis=2)
    dark = grey < (np.median(grey) + grey.min()) / 2
    rows, columns = np.flatnonzero(dark.sum(1) > 20), np.flatnonzero(dark.sum(0) > 8)
    found = np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])
    assert np.abs(found - move_boxes(boxes, matrix)[0]).max() <= 3


def test_strong_degradation_is_worse_than_light(page_with_a_mark: tuple[np.ndarray, np.ndarray]):
    pixels, _ = page_with_a_mark

    def difference(strength: str) -> float:
        copies = [degrade(pixels, np.random.default_rng(seed), strength)[0] for seed in range(8)]
        return float(np.mean([np.abs(copy.astype(int) - pixels).mean() for copy in copies]))

    assert difference("light") < difference("strong")


def test_held_out_documents_have_a_truth_for_every_page(tmp_path: Path):
    import pymupdf

    write_held_out(tmp_path, 4, max_pages=2, language="en")
    index = json.loads((tmp_path / "index.json").read_text())
    assert [entry["file"] for entry in index] == ["000.pdf", "001.pdf", "002.pdf", "003.pdf"]
    for entry in index:
        with pymupdf.open(tmp_path / entry["file"]) as document:
            assert len(document) == entry["pages"]
            assert bool(document[0].get_text().strip()) is not entry["is_scan"]
        truth = (tmp_path / entry["truth"]).read_text(encoding="utf-8")
        assert len(truth.split(PAGE_SEPARATOR)) == entry["pages"]
