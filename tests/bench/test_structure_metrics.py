"""The structure metrics keep what they promise: identity is perfect, damage is seen, and only where it is."""

import random
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.bench.structure_metrics import (
    Counts,
    OrderCounts,
    count_loops,
    match_cells,
    match_texts,
    order_counts,
    similarity,
)

texts = st.lists(st.text("abcde fg", min_size=3, max_size=12), max_size=6)
rows = st.lists(
    st.lists(st.sampled_from(["", "alpha", "beta", "gamma", "delta"]), max_size=4).map(tuple), max_size=5
)
# Lines that are far from each other, so that each is found at one place only.
LINES = [
    f"{word * 3}{number:03d}"
    for number, word in enumerate(("abcd", "efgh", "ijkl", "mnop", "qrst", "uvwx", "yzab", "cegi"))
]


@given(texts)
def test_texts_match_themselves(lines: list[str]):
    assert match_texts(lines, lines) == Counts(len(lines), len(lines), len(lines))


@given(texts, texts)
def test_a_match_uses_each_text_once(truth: list[str], output: list[str]):
    counts = match_texts(truth, output)
    assert counts.num_found <= min(len(truth), len(output))
    assert (counts.num_truth, counts.num_output) == (len(truth), len(output))


def test_a_misread_letter_is_no_lost_heading_and_another_heading_is():
    assert match_texts(["Introduction", "Scope"], ["lntroduction", "Results"]) == Counts(1, 2, 2)


@given(rows)
def test_tables_match_themselves(table: list[tuple[str, ...]]):
    num_filled = sum(bool(cell) for row in table for cell in row)
    assert match_cells(table, table) == Counts(num_filled, num_filled, num_filled)


def slow_match_cells(truth: list[tuple[str, ...]], output: list[tuple[str, ...]]) -> int:
    """The best over every order-preserving choice of as many rows from both."""
    best = 0
    for size in range(min(len(truth), len(output)) + 1):
        for chosen, partners in product(combinations(truth, size), combinations(output, size)):
            cells = [pair for a, b in zip(chosen, partners, strict=True) for pair in zip(a, b, strict=False)]
            best = max(best, sum(bool(a) and bool(b) and similarity(a, b) >= 0.8 for a, b in cells))
    return best


@settings(max_examples=60, deadline=None)
@given(rows, rows)
def test_row_alignment_equals_trying_every_alignment(
    truth: list[tuple[str, ...]], output: list[tuple[str, ...]]
):
    assert match_cells(truth, output).num_found == slow_match_cells(truth, output)


def test_a_cell_in_the_wrong_column_does_not_count():
    truth = [("a1", "b1"), ("a2", "b2")]
    assert match_cells(truth, [("a1", "b1"), ("", "a2", "b2")]) == Counts(2, 4, 4)


@given(st.permutations(range(len(LINES))))
def test_order_distance_is_the_kendall_distance_of_the_shuffle(order: list[int]):
    counts = order_counts(LINES, "".join(LINES[index] for index in order))
    num_swapped = sum(a > b for a, b in combinations(order, 2))
    assert counts == OrderCounts(num_swapped, len(LINES) * (len(LINES) - 1) // 2)


def test_order_is_told_from_lines_that_can_be_found_only():
    output = LINES[0] + LINES[2].replace("j", "i")  # one line missing, one misread
    assert order_counts([LINES[0], LINES[1], LINES[2]], output) == OrderCounts(0, 1)
    assert order_counts(["12", "13", "12345678", "12345678"], "13121234567812345678").distance is None


def test_unknown_is_none_and_backwards_is_one():
    assert Counts().f1 is None
    assert Counts(0, 0, 3).f1 == 0
    assert order_counts([], "text").distance is None
    assert order_counts(LINES, "".join(reversed(LINES))).distance == 1


WORDS = [f"w{number}" for number in range(200)]


def test_a_page_that_repeats_itself_is_no_loop():
    page = [*WORDS, *["total", "0.00"] * 30, *WORDS]
    assert count_loops(page, page) == 0
    shuffled = random.Random(1).sample(page, len(page))
    assert count_loops(shuffled, page) == 0


@pytest.mark.parametrize("period", [1, 2, 7, 40])
def test_a_repeated_phrase_is_one_loop(period: int):
    num_repeats = max(4, -(-12 // period)) + 1
    output = [*WORDS[:60], *WORDS[100 : 100 + period] * num_repeats, *WORDS[60:100]]
    assert count_loops(WORDS, output) == 1


def test_three_times_is_no_loop_and_two_loops_are_two():
    assert count_loops(WORDS, [*WORDS, *WORDS[:6] * 2]) == 0
    assert count_loops(WORDS, [*WORDS[:10] * 6, *WORDS[50:90], *WORDS[20:30] * 6]) == 2


@given(st.lists(st.sampled_from("ab"), max_size=60))
def test_the_truth_itself_never_loops(words: list[str]):
    assert count_loops(words, words) == 0
