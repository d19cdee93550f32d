"""Type sizes from widths of letters, and the white space around a line on its page."""

import numpy as np
import pytest

from ocr_app.models.embedded.page_context import NUM_CONTEXT_FEATURES, advance, context_features, type_sizes

SIZE, FOLLOWING, PRECEDING, KNOWN, ABOVE, BELOW, GAP_ABOVE, GAP_BELOW = range(NUM_CONTEXT_FEATURES)
TEXTS = ["Running words", "of this page", "主机名解析", "Heading here", "7"]


def run_box(text: str, size: float, top: float) -> tuple[float, float, float, float]:
    return (50.0, top, 50.0 + size * sum(map(advance, text)), top + 12)


def features(sizes: list[float], tops: list[float]) -> np.ndarray:
    boxes = np.array([run_box(text, size, top) for text, size, top in zip(TEXTS, sizes, tops, strict=True)])
    lines = np.arange(len(TEXTS))
    return context_features(boxes, boxes, lines, TEXTS, lines.tolist(), 12.0)


def test_a_heading_a_tenth_larger_is_told_by_the_widths_of_its_letters():
    found = features([10, 10, 10, 11, 10], [0, 20, 40, 60, 80])
    assert found[:4, SIZE] == pytest.approx([0, 0, 0, np.log(1.1)], abs=1e-5)
    assert found[2, FOLLOWING] == found[4, PRECEDING] == found[3, SIZE]
    assert found[:, KNOWN].tolist() == [1, 1, 1, 1, 0], "one digit says nothing of its size"


def test_a_page_number_stands_alone_below_the_text():
    found = features([10] * 5, [0, 20, 40, 60, 130])
    assert found[4, GAP_ABOVE] > 0.9 > found[3, GAP_ABOVE]
    assert found[0, GAP_ABOVE] == found[4, GAP_BELOW] == 1
    assert found[:, ABOVE].tolist() == pytest.approx([0, 1 / 3, 2 / 3, 1, 4 / 3])
    assert found[:, BELOW].tolist() == pytest.approx([4 / 3, 1, 2 / 3, 1 / 3, 0])


def test_sizes_of_lines_too_short_to_say_are_unknown():
    sizes = type_sizes(np.array([[0, 0, 9, 9], [0, 20, 30, 29]]), np.array([0, 1]), ["7.", "words"], 2)
    assert sizes[0] == 0 < sizes[1]
