"""An encoded page with real geometry and random features: enough for the network, not for reading."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from ocr_app.models.embedded.geometry.seen import advance
from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import Box, EncodedPage, Line, PageImage, PageLayout, Run


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


def laid_out(page: EncodedPage, *blocks: tuple[str, Sequence[int]], **seen) -> EncodedPage:
    """A page of whose blocks the layout network is sure: class and lines of each. `seen`: rules and grids."""
    classes = np.full((len(page.lines), len(CLASSES)), 0.01, np.float32)
    links = []
    for kind, lines in blocks:
        classes[list(lines), CLASSES.index(kind)] = 0.9
        links += list(pairwise(lines))
    pairs = np.array(links, np.int64).reshape(-1, 2)
    return replace(page, layout=PageLayout(classes, pairs, np.ones(len(pairs)), **seen))


SIZE = 14.0  # pixels: of the type that `typeset` sets


def typeset(*lines: tuple[float, float, str], size: float = SIZE, bold: Sequence[int] = ()) -> EncodedPage:
    """Lines by left and top edge, words as runs, each letter of its usual width: a size is told by them."""
    runs, laid = [], []
    for index, (x, y, text) in enumerate(lines):
        first, left, words = len(runs), x, text.split(" ")
        for place, word in enumerate(words):
            right = left + size * sum(map(advance, word))
            is_last = place == len(words) - 1
            runs.append(Run(word, (left, y, right, y + size), 0.9, not is_last, index, place))
            left = right + 0.5 * size
        box: Box = (x, y, runs[-1].box[2], y + size)
        laid.append(Line(box, first, len(words), 0.9, 3.0 if index in bold else 1.5))
    image = PageImage(0, np.full((1000, 800, 3), 255, np.uint8), 100, 576, 720)
    return EncodedPage(image, tuple(laid), tuple(runs), np.zeros((len(runs), 240), np.float32))


@pytest.fixture
def make_page():
    return make_encoded_page
