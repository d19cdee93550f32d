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


def page_of(*lines: tuple[float, float, list[str]]) -> EncodedPage:
    """Lines by left and top edge, 12 high, 40 to a run."""
    runs, laid = [], []
    for x, y, words in lines:
        laid.append(Line((x, y, x + 40 * len(words), y + 12), len(runs), len(words), 1.0))
        for place, word in enumerate(words):
            runs.append(
                Run(word, (x + 40 * place, y, x + 40 * place + 38, y + 12), 1.0, True, len(laid) - 1, place)
            )
    image = PageImage(0, np.zeros((600, 600, 3), np.uint8), 100, 400.0, 400.0)
    return EncodedPage(image, tuple(laid), tuple(runs), np.zeros((len(runs), 240), np.float32))


@pytest.fixture
def make_page():
    return make_encoded_page
