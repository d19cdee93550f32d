"""One engine's page against its truth, as counts that can be added up over pages before anything is divided.

What is compared as text is the same for truth and output, whoever wrote it: a word split by a hyphen at a
line end is joined, the bullet in front of a line goes, the rest is folded by `metrics.normalise`. Text, not
layout, is measured.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ocr_app.bench.engines import EngineOutput
from ocr_app.bench.ground_truth import TruthDocument, TruthPage
from ocr_app.bench.markdown_structure import PageStructure, Row, read_markdown
from ocr_app.bench.metrics import normalise, words
from ocr_app.bench.structure_metrics import (
    Counts,
    OrderCounts,
    count_loops,
    match_cells,
    match_texts,
    order_counts,
)

_LINE_END_HYPHEN = re.compile(r"(?<=[a-zß-ÿ])[-‐\u00ad][^\S\n]*\n[^\S\n]*(?=[a-zß-ÿ])")
_BULLET = re.compile(r"^[^\S\n]*[•▪●◦○■□‣·∙*–-][^\S\n]+", re.MULTILINE)

STRUCTURE = ("headings", "headings_by_level", "list_items", "list_items_by_depth", "cells")
Levelled = tuple[int, str]  # level of a heading or depth of an item, and its text


@dataclass(frozen=True, slots=True)
class PageScore:
    """Counts of one page. None: not known for this truth or this engine."""

    num_characters: int | None = None  # of the truth; None where its order says nothing
    num_edits: int | None = None
    num_default_edits: int | None = None  # of what a user gets without asking for more
    words: Counts | None = None
    headings: Counts | None = None
    headings_by_level: Counts | None = None
    list_items: Counts | None = None
    list_items_by_depth: Counts | None = None
    cells: Counts | None = None
    order: OrderCounts | None = None
    num_loops: int = 0
    num_lost_runs: int | None = None
    num_unplaced_runs: int | None = None
    has_failed: bool = False
    wall_s: float = 0.0
    decode_s: float | None = None
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True)
class PageRecord:
    """One page read by one engine."""

    engine: str
    document: TruthDocument
    page: TruthPage
    output: EngineOutput
    score: PageScore

    @property
    def cer(self) -> float | None:
        """Edits per true character; a page without text counts as one character, so that what is invented
        there weighs.
        """
        return (
            None if self.score.num_edits is None else self.score.num_edits / max(1, self.score.num_characters)
        )

    @property
    def word_f1(self) -> float:
        """1 where there is nothing to read and nothing was written, or where the truth cannot be trusted with
        words.
        """
        f1 = self.score.words.f1 if self.score.words else None
        return 1.0 if f1 is None else f1


def comparable_lines(text: str) -> list[str]:
    """The lines of a text, folded, with split words joined and without bullets."""
    return [normalise(line) for line in _BULLET.sub("", _LINE_END_HYPHEN.sub("", text)).splitlines()]


def comparable_text(text: str) -> str:
    return normalise("\n".join(comparable_lines(text)))


def score_page(document: TruthDocument, page: TruthPage, output: EngineOutput) -> PageScore:
    """Compare one page. Structure is scored where the truth has it, text and order where the truth can be
    trusted with them.
    """
    structure = read_markdown(output.markdown)
    truth, text = (
        comparable_text(page.text),
        comparable_text(structure.text if output.text is None else output.text),
    )
    truth_words, text_words = words(truth), words(text)
    is_ordered = document.is_ordered and document.is_exact
    return PageScore(
        num_characters=len(truth) if is_ordered else None,
        num_edits=_edits(truth, text) if is_ordered else None,
        num_default_edits=_edits(truth, _default_text(output, text)) if is_ordered else None,
        words=_shared(truth_words, text_words) if document.is_exact else None,
        order=order_counts([_squeeze(line) for line in comparable_lines(page.text)], _squeeze(text))
        if is_ordered
        else None,
        num_loops=count_loops(truth_words, text_words),
        num_lost_runs=output.num_lost_runs,
        num_unplaced_runs=output.num_unplaced_runs,
        has_failed=output.has_failed,
        wall_s=output.wall_s,
        decode_s=output.decode_s,
        cpu_s=output.cpu_s,
        **(_structure_counts(page.structure, structure) if output.text is None else {}),
    )


def add_up(scores: Iterable[PageScore]) -> dict[str, Any]:
    """Figures over pages: rates from summed counts; None where no page knew."""
    scores = list(scores)
    ordered = [score for score in scores if score.num_characters is not None]
    num_characters = sum(score.num_characters for score in ordered)
    order = sum((score.order for score in scores if score.order), OrderCounts())
    return {
        "pages": len(scores),
        "cer": sum(score.num_edits for score in ordered) / num_characters if num_characters else None,
        "default_cer": sum(score.num_default_edits for score in ordered) / num_characters
        if num_characters
        else None,
        **{f"{name}_f1": _total(scores, name).f1 for name in ("words", *STRUCTURE)},
        "order_distance": order.distance,
        "loops": sum(score.num_loops for score in scores),
        "failures": sum(score.has_failed for score in scores),
        "lost_runs": _known_sum(score.num_lost_runs for score in scores),
        "unplaced_runs": _known_sum(score.num_unplaced_runs for score in scores),
        "s_per_page": _known_mean(score.wall_s for score in scores),
        "decode_s_per_page": _known_mean(score.decode_s for score in scores),
        "cpu_s_per_page": _known_mean(score.cpu_s for score in scores),
    }


def never_written(scores: Iterable[PageScore]) -> list[str]:
    """Kinds of structure of which an engine wrote none on any page: it has none, and is not wrong."""
    scores = list(scores)
    return [name for name in STRUCTURE if not _total(scores, name).num_output]


def _structure_counts(truth: PageStructure | None, output: PageStructure) -> dict[str, Counts]:
    if truth is None:
        return {}
    heads, written_heads = ([(h.level, h.text) for h in page.headings] for page in (truth, output))
    items, written_items = ([(i.depth, i.text) for i in page.list_items] for page in (truth, output))
    return {
        "headings": _matched(heads, written_heads),
        "headings_by_level": _matched_by_level(heads, written_heads),
        "list_items": _matched(items, written_items),
        "list_items_by_depth": _matched_by_level(items, written_items),
        "cells": match_cells(_folded_rows(truth.rows), _folded_rows(output.rows)),
    }


def _matched(truth: Sequence[Levelled], output: Sequence[Levelled]) -> Counts:
    return match_texts(_folded(text for _, text in truth), _folded(text for _, text in output))


def _matched_by_level(truth: Sequence[Levelled], output: Sequence[Levelled]) -> Counts:
    """Found only where level, or depth, is right as well."""
    found = Counts()
    for level in {level for level, _ in (*truth, *output)}:
        found += _matched(*([one for one in side if one[0] == level] for side in (truth, output)))
    return found


def _default_text(output: EngineOutput, text: str) -> str:
    """The text of what a user gets by default; `text` where that is what was compared."""
    default = output.default_markdown
    return text if default is None else comparable_text(read_markdown(default).text)


def _folded(texts: Iterable[str]) -> list[str]:
    return [comparable_text(text) for text in texts]


def _folded_rows(rows: Iterable[Row]) -> list[Row]:
    return [tuple(_folded(row)) for row in rows]


def _edits(truth: str, text: str) -> int:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.distance(truth, text)


def _shared(truth: list[str], text: list[str]) -> Counts:
    return Counts((Counter(truth) & Counter(text)).total(), len(truth), len(text))


def _squeeze(text: str) -> str:
    return text.replace(" ", "")


def _total(scores: list[PageScore], name: str) -> Counts:
    return sum((counts for score in scores if (counts := getattr(score, name)) is not None), Counts())


def _known_sum(values: Iterable[float | None]) -> float | None:
    """The sum, or None if any of them, or all, is unknown."""
    values = list(values)
    return None if not values or any(value is None for value in values) else sum(values)


def _known_mean(values: Iterable[float | None]) -> float | None:
    values = list(values)
    total = _known_sum(values)
    return None if total is None else total / len(values)
