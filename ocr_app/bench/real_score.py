"""How near the Markdown of a page is to one marked up by hand. Figures from 0 to 1, higher is better but
for `leak`; None where there is nothing to measure.

    words    F1 of words as a multiset, characters for Chinese
    order    likeness of the running text; free blocks are taken out first and scored where they are found
    heads    F1 of headings by their text, at least 85 % alike
    levels   of the headings matched, the share of pairs whose relation of levels is right
    lists    F1 of list items by their text
    tables   soft F1 of cells: rows and cells aligned in order, each pair worth the likeness of its texts
    leak     share of running heads, feet and page numbers that stand in the body
    page     mean of order, heads, lists and tables, of those the page has

A page without tables in which one is written counts tables 0, and the same for headings and lists.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from ocr_app.bench.real_blocks import Block, MarkedPage, Rows, read_page

MIN_RATIO = 85  # of two headings or items that are the same, in percent
MIN_CELL_LIKENESS = 0.5
MIN_FLOAT_RATIO = 50  # of a free block that was found, in percent
MIN_LEAK_RATIO = 90
MIN_LEAK_CHARACTERS = 5
_MEASURED = re.compile(r"<!--\s*measure:(.*?)-->")
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class RealScore:
    """The figures of one page, or their means over pages."""

    page: float | None
    words: float | None
    order: float | None
    heads: float | None
    levels: float | None
    lists: float | None
    tables: float | None
    leak: float | None


FIGURES = tuple(figure.name for figure in fields(RealScore))


def score_markdown(truth: str, output: str) -> RealScore:
    """Score an engine's Markdown. A truth that names what is measured on it (`measure: order leak`) leaves
    the rest unknown.
    """
    known, written = read_page(truth), read_page(output)
    score = _score(known, written)
    if (mark := _MEASURED.search(truth)) is not None:
        asked = {"words", *mark[1].split()}
        score = replace(score, **{name: None for name in FIGURES if name not in asked})
    parts = [score.order, score.heads, score.lists, score.tables]
    return replace(score, page=mean(parts))


def mean_score(scores: Sequence[RealScore]) -> RealScore:
    """Each figure's mean over the pages that have it."""
    return RealScore(*(mean(getattr(score, name) for score in scores) for name in FIGURES))


def mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def word_f1(truth: str, output: str) -> float:
    known, written = (Counter(_WORD.findall(text.lower())) for text in (truth, output))
    return 2 * (known & written).total() / max(1, known.total() + written.total())


def order_likeness(truth: Sequence[Block], output: Sequence[Block]) -> float:
    """Likeness of the texts by insertions and deletions, each passage weighted by its characters."""
    rest = " ".join(block.text for block in output)
    found = weight = 0.0
    for text in sorted(_free_texts(truth), key=len, reverse=True):
        likeness, rest = _take_out(text, rest)
        found, weight = found + len(text) * likeness, weight + len(text)
    fixed, rest = (" ".join(part.split()) for part in (_fixed_text(truth), rest))
    size = max(len(fixed), len(rest))
    found, weight = found + size * _likeness(fixed, rest), weight + size
    return found / weight if weight else 1.0


def pair_texts(truth: Sequence[str], output: Sequence[str]) -> list[tuple[int, int]]:
    """Indices of texts that are the same but for a few letters, the most alike first, each used once."""
    from rapidfuzz import fuzz

    candidates = [
        (fuzz.ratio(known.lower(), written.lower()), -abs(i - j), i, j)
        for i, known in enumerate(truth)
        for j, written in enumerate(output)
    ]
    return _best_pairs((i, j) for ratio, _, i, j in sorted(candidates, reverse=True) if ratio >= MIN_RATIO)


def level_agreement(
    truth: Sequence[Block], output: Sequence[Block], pairs: Sequence[tuple[int, int]]
) -> float | None:
    """Share of pairs of matched headings of which the same one, or neither, stands higher in both."""
    agreements = [
        _sign(truth[i].level - truth[p].level) == _sign(output[j].level - output[q].level)
        for index, (i, j) in enumerate(pairs)
        for p, q in pairs[index + 1 :]
    ]
    return sum(agreements) / len(agreements) if agreements else None


def table_f1(truth: Sequence[Rows], output: Sequence[Rows]) -> float | None:
    """Soft F1 of filled cells, tables paired so that the best pairs come first."""
    if not truth and not output:
        return None
    worth = [(_cells_in_common(a, b), i, j) for i, a in enumerate(truth) for j, b in enumerate(output)]
    by_pair = {(i, j): value for value, i, j in worth}
    pairs = _best_pairs((i, j) for _, i, j in sorted(worth, reverse=True))
    return 2 * sum(by_pair[pair] for pair in pairs) / max(1, num_filled(truth) + num_filled(output))


def num_filled(tables: Iterable[Rows]) -> int:
    return sum(bool(cell) for rows in tables for row in rows for cell in row)


def _score(truth: MarkedPage, output: MarkedPage) -> RealScore:
    heads, written_heads = truth.of_kind("heading"), output.of_kind("heading")
    items, written_items = truth.of_kind("item"), output.of_kind("item")
    pairs = pair_texts(_texts(heads), _texts(written_heads))
    return RealScore(
        page=None,
        words=word_f1(truth.text, output.text),
        order=order_likeness(truth.blocks, output.blocks),
        heads=_f1(len(pairs), len(heads), len(written_heads)),
        levels=level_agreement(heads, written_heads, pairs),
        lists=_f1(len(pair_texts(_texts(items), _texts(written_items))), len(items), len(written_items)),
        tables=table_f1(_rows(truth.of_kind("table")), _rows(output.of_kind("table"))),
        leak=_leak(truth.furniture, output.text),
    )


def _texts(blocks: Iterable[Block]) -> list[str]:
    return [block.text for block in blocks]


def _rows(tables: Iterable[Block]) -> list[Rows]:
    return [table.rows for table in tables]


def _f1(num_found: int, num_truth: int, num_output: int) -> float | None:
    return 2 * num_found / (num_truth + num_output) if num_truth or num_output else None


def _leak(furniture: Sequence[str], output: str) -> float | None:
    from rapidfuzz import fuzz

    body = output.lower()
    telling = [text.lower() for text in furniture if len(text) >= MIN_LEAK_CHARACTERS] if body else []
    return mean(float(fuzz.partial_ratio(text, body) >= MIN_LEAK_RATIO) for text in telling)


def _free_texts(blocks: Sequence[Block]) -> list[str]:
    """The text of every group of free blocks."""
    groups: list[list[str]] = []
    was_float = False
    for block in blocks:
        if block.is_float and (block.opens_float or not was_float):
            groups.append([])
        if block.is_float:
            groups[-1].append(block.text)
        was_float = block.is_float
    return [text for group in groups if (text := " ".join(group))]


def _fixed_text(blocks: Sequence[Block]) -> str:
    return " ".join(block.text for block in blocks if not block.is_float)


def _take_out(text: str, written: str) -> tuple[float, str]:
    """How like the text is to where it was found, and what is left without that place. A text longer than
    what is left takes it all.
    """
    from rapidfuzz import fuzz

    place = fuzz.partial_ratio_alignment(text, written) if written else None
    if place is None:
        return 0.0, written
    if len(text) > len(written):
        return _likeness(text, written), ""
    if place.score < MIN_FLOAT_RATIO:
        return 0.0, written
    found = written[place.dest_start : place.dest_end]
    return _likeness(text, found), f"{written[: place.dest_start]} {written[place.dest_end :]}"


def _likeness(one: str, other: str) -> float:
    from rapidfuzz.distance import Indel

    return Indel.normalized_similarity(one, other)


def _best_pairs(ranked: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The first pairs of which neither side was used before."""
    used_truth: set[int] = set()
    used_output: set[int] = set()
    pairs = []
    for i, j in ranked:
        if i not in used_truth and j not in used_output:
            used_truth.add(i)
            used_output.add(j)
            pairs.append((i, j))
    return pairs


def _cells_in_common(truth: Rows, output: Rows) -> float:
    """The sum of likenesses of the cells of two tables, under the best ordered pairing of rows."""
    return _aligned(truth, output, _row_likeness)


def _row_likeness(truth: tuple[str, ...], output: tuple[str, ...]) -> float:
    """The same of two rows. A cell may move by no more columns than one row has beyond the other."""
    slack = abs(len(truth) - len(output))

    def worth(one: tuple[int, str], other: tuple[int, str]) -> float:
        is_near = abs(one[0] - other[0]) <= slack
        likeness = _likeness(one[1].lower(), other[1].lower()) if one[1] and other[1] and is_near else 0.0
        return likeness if likeness >= MIN_CELL_LIKENESS else 0.0

    return _aligned(list(enumerate(truth)), list(enumerate(output)), worth)


def _aligned(truth: Sequence[Any], output: Sequence[Any], worth: Callable[[Any, Any], float]) -> float:
    """The most that an order-preserving pairing of the two sequences is worth."""
    best = [0.0] * (len(output) + 1)
    for known in truth:
        above, best = best, [0.0]
        for index, written in enumerate(output):
            best.append(max(above[index + 1], best[index], above[index] + worth(known, written)))
    return best[-1]


def _sign(number: int) -> int:
    return (number > 0) - (number < 0)
