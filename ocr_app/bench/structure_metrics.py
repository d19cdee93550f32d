"""How far an engine's page is from the truth in structure, reading order and repetition.

    headings, list items   found when a truth text has a partner of at least 80 % similarity; each partner is
    used once table cells            rows are aligned in order, then cells must agree in column and text;
    empty cells do not count reading order          share of pairs of truth lines that stand in the output in
    the other order, over lines found there loops                  a run of words repeated over and over that
    the page itself does not repeat

A letter misread must not be charged again as a lost heading, therefore similarity and not equality.
Everything here takes plain strings and gives counts, so that pages can be added up before anything is
divided.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ocr_app.bench.markdown_structure import Row

MIN_SIMILARITY = 0.8
MIN_LOOP_REPEATS = 4
MIN_LOOP_WORDS = 12
MAX_LOOP_PERIOD = 40


@dataclass(frozen=True, slots=True)
class Counts:
    """What was found, of what there is and of what was written."""

    num_found: int = 0
    num_truth: int = 0
    num_output: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.num_found + other.num_found,
            self.num_truth + other.num_truth,
            self.num_output + other.num_output,
        )

    @property
    def f1(self) -> float | None:
        """None where there is nothing to find and nothing was written."""
        total = self.num_truth + self.num_output
        return 2 * self.num_found / total if total else None


@dataclass(frozen=True, slots=True)
class OrderCounts:
    """Pairs of truth lines found in the output, and those of them that stand the wrong way round."""

    num_swapped: int = 0
    num_pairs: int = 0

    def __add__(self, other: "OrderCounts") -> "OrderCounts":
        return OrderCounts(self.num_swapped + other.num_swapped, self.num_pairs + other.num_pairs)

    @property
    def distance(self) -> float | None:
        """Normalised Kendall distance: 0 in order, 1 backwards, None if fewer than two lines were found."""
        return self.num_swapped / self.num_pairs if self.num_pairs else None


def similarity(truth: str, output: str) -> float:
    from rapidfuzz.distance import Levenshtein

    return Levenshtein.normalized_similarity(truth, output)


def match_texts(truth: Sequence[str], output: Sequence[str]) -> Counts:
    """Pair every truth text with the most similar output text still free."""
    free = list(output)
    num_found = 0
    for text in truth:
        best = max(free, key=lambda candidate: similarity(text, candidate), default=None)
        if best is not None and similarity(text, best) >= MIN_SIMILARITY:
            free.remove(best)
            num_found += 1
    return Counts(num_found, len(truth), len(output))


def match_cells(truth: Sequence[Row], output: Sequence[Row]) -> Counts:
    """Cells that agree in column and text, under the ordered alignment of rows that makes them most."""
    best = [0] * (len(output) + 1)
    for truth_row in truth:
        above, diagonal = best, 0
        best = [0]
        for index, output_row in enumerate(output, start=1):
            paired = diagonal + _num_equal_cells(truth_row, output_row)
            diagonal = above[index]
            best.append(max(paired, above[index], best[-1]))
    return Counts(best[-1], _num_filled(truth), _num_filled(output))


def order_counts(truth_lines: Sequence[str], output: str) -> OrderCounts:
    """Find the truth's lines in the output's text and count the pairs that changed places. Strings are
    folded, without whitespace.

    Lines that occur twice in the truth cannot be told apart and are left out, short ones too: they are found
    by accident.
    """
    times = Counter(truth_lines)
    places = [
        place for line in truth_lines if times[line] == 1 and (place := _place_in(line, output)) is not None
    ]
    num_swapped = sum(
        earlier > later for index, earlier in enumerate(places) for later in places[index + 1 :]
    )
    return OrderCounts(num_swapped, len(places) * (len(places) - 1) // 2)


def count_loops(truth_words: Sequence[str], output_words: Sequence[str]) -> int:
    """Number of places where the output repeats itself at once, beyond what the truth repeats."""
    surplus = Counter(output_words)
    surplus.subtract(Counter(truth_words))
    num_loops = position = 0
    while position < len(output_words):
        length, period = _longest_repeat(output_words, position)
        is_loop = length > 0 and all(
            surplus[word] >= MIN_LOOP_REPEATS - 1 for word in output_words[position : position + period]
        )
        num_loops += is_loop
        position += length if is_loop else 1
    return num_loops


def _num_equal_cells(truth: Row, output: Row) -> int:
    pairs = zip(truth, output, strict=False)
    return sum(bool(a) and bool(b) and (a == b or similarity(a, b) >= MIN_SIMILARITY) for a, b in pairs)


def _num_filled(rows: Sequence[Row]) -> int:
    return sum(bool(cell) for row in rows for cell in row)


def _place_in(line: str, output: str) -> int | None:
    from rapidfuzz import fuzz

    is_telling = len(line) >= (4 if any(character >= "⺀" for character in line) else 8)
    if not is_telling or len(output) < len(line):
        return None
    exact = output.find(line)
    if exact >= 0:
        return exact
    found = fuzz.partial_ratio_alignment(line, output, score_cutoff=100 * MIN_SIMILARITY)
    return found.dest_start if found else None


def _longest_repeat(words: Sequence[str], start: int) -> tuple[int, int]:
    """Length and period of the repetition that starts here, the shortest period first; (0, 0) where there is
    none.
    """
    for period in range(1, MAX_LOOP_PERIOD + 1):
        end = start + period
        while end < len(words) and words[end] == words[end - period]:
            end += 1
        length = end - start
        if length >= max(MIN_LOOP_REPEATS * period, MIN_LOOP_WORDS):
            return length, period
    return 0, 0
