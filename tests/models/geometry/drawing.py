"""Layouts at random, nonsense among them: what geometry must take without losing a run."""

import numpy as np
from hypothesis import strategies as st

from ocr_app.models.embedded.seeing.layout import CLASSES
from ocr_app.types import EncodedPage, Line, PageImage, PageLayout, Rule, Run, TableGrid

WORDS = (
    "a",
    "word",
    "1.",
    "2)",
    "•",
    "[x]",
    "(b)",
    "inter-",
    "17",
    "Chapter",
    "....",
    "表格",
    "3.1",
    "--all",
    "1,200",
)
PIXELS = np.full((600, 800, 3), 255, np.uint8)
X, Y = st.integers(0, 780), st.integers(0, 580)


@st.composite
def boxes(draw) -> tuple[float, float, float, float]:
    """Also empty ones, and many that are equal, below or beside each other."""
    x, y = draw(st.sampled_from([0, 40, 300, 500]) | X), draw(st.sampled_from([0, 20, 40, 60, 80]) | Y)
    width, height = (
        draw(st.sampled_from([0, 40, 200]) | st.integers(0, 400)),
        draw(st.sampled_from([0, 12, 14, 40])),
    )
    return float(x), float(y), float(min(800, x + width)), float(min(600, y + height))


@st.composite
def grids(draw) -> TableGrid:
    box = draw(boxes())
    rows, columns = (sorted(draw(st.sets(place, max_size=5))) for place in (Y, X))
    return TableGrid(box, tuple(map(float, rows)), tuple(map(float, columns)))


@st.composite
def rules(draw, place, extent) -> tuple[Rule, ...]:
    ends = st.tuples(place, extent, extent)
    found = draw(st.lists(ends, max_size=6))
    return tuple(Rule(float(at), float(min(a, b)), float(max(a, b) + 1)) for at, a, b in found)


@st.composite
def pages(draw, max_lines: int = 12) -> EncodedPage:
    """Any lines, classes, links, rules and grids."""
    lines: list[Line] = []
    runs: list[Run] = []
    for box in draw(st.lists(boxes(), max_size=max_lines)):
        words = draw(st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
        step = (box[2] - box[0]) / len(words)
        stroke, ink = draw(st.sampled_from([0.0, 1.0, 3.0])), draw(st.none() | st.just(box))
        lines.append(Line(box, len(runs), len(words), 0.9, stroke, ink))
        for place, word in enumerate(words):
            part = (box[0] + place * step, box[1], box[0] + (place + 1) * step, box[3])
            runs.append(Run(word, part, 0.9, draw(st.booleans()), len(lines) - 1, place))
    layout = draw(st.none() | layouts(len(lines)))
    image = PageImage(0, PIXELS, 100, 576, 432)
    return EncodedPage(
        image, tuple(lines), tuple(runs), np.zeros((len(runs), 240), np.float32), layout=layout
    )


@st.composite
def layouts(draw, num_lines: int) -> PageLayout:
    kinds = draw(st.lists(st.integers(0, len(CLASSES) - 1), min_size=num_lines, max_size=num_lines))
    classes = np.full((num_lines, len(CLASSES)), 0.02, np.float32)
    classes[np.arange(num_lines), kinds] = draw(st.sampled_from([0.3, 0.8]))
    line = st.integers(0, max(0, num_lines - 1))
    links = (
        draw(st.lists(st.tuples(line, line, st.sampled_from([0.2, 0.9])), max_size=16)) if num_lines else []
    )
    return PageLayout(
        classes,
        np.array([link[:2] for link in links], np.int64).reshape(-1, 2),
        np.array([link[2] for link in links], np.float32),
        tuple(draw(st.lists(boxes(), max_size=2))),
        draw(rules(Y, X)),
        draw(rules(X, Y)),
        tuple(draw(st.lists(grids(), max_size=2))),
    )
