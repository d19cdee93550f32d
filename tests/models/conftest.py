"""An encoded page with real geometry and random features: enough for the network, not for reading."""

import numpy as np
import pytest

from ocr_app.types import EncodedPage, Line, PageImage, Run


def make_encoded_page(rows: list[list[str]], *, page_index: int = 0, seed: int = 0) -> EncodedPage:
    """One line per row; each string is a run, a trailing space means that a space follows it."""
    lines, runs = [], []
    for number, row in enumerate(rows):
        top, left, first = 40 + 24 * number, 50.0, len(runs)
        for place, text in enumerate(row):
            width = 9.0 * len(text.strip())
            box = (left, top, left + width, top + 16)
            runs.append(Run(text.strip(), box, 0.9, text.endswith(" "), number, place))
            left += width + (8 if text.endswith(" ") else 0)
        lines.append(Line((50.0, top, left, top + 16), first, len(row), 0.9))
    image = PageImage(page_index, np.full((1000, 800, 3), 255, np.uint8), 100, 576, 720)
    features = np.random.default_rng(seed).standard_normal((len(runs), 240)).astype(np.float32)
    return EncodedPage(image, tuple(lines), tuple(runs), features)


@pytest.fixture
def make_page():
    return make_encoded_page
