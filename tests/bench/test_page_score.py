"""A page compared with itself is perfect; each kind of damage shows in its own column and in no other."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.bench.engines import EngineOutput
from ocr_app.bench.ground_truth import TruthDocument, TruthPage, load_held_out
from ocr_app.bench.page_score import PageScore, add_up, comparable_text, score_page

HELD_OUT = Path(__file__).parents[1] / "data" / "held_out"
MARKDOWN = [
    page
    for name in ("001", "002")
    for page in (HELD_OUT / f"{name}.md").read_text(encoding="utf-8").split("\f")
]
PAGES = [(document, page) for document in load_held_out(HELD_OUT) for page in document.pages]
PLAIN = TruthDocument("plain.pdf", Path("plain.pdf"), "digital, Latin", False, ())
WORDS = [f"{a}{b}{c}" for a in "bdfg" for b in "aeio" for c in "lmnr"]


def plain_score(truth: str, text: str, document: TruthDocument = PLAIN) -> PageScore:
    return score_page(document, TruthPage(0, truth), EngineOutput(text, text))


@pytest.mark.parametrize(
    ("known", "markdown"), list(zip(PAGES, MARKDOWN, strict=True)), ids=["en-1", "en-2", "zh-1"]
)
def test_the_truth_itself_is_perfect(known: tuple[TruthDocument, TruthPage], markdown: str):
    figures = add_up([score_page(*known, EngineOutput(markdown, num_lost_runs=0))])
    assert figures["cer"] == figures["loops"] == figures["lost_runs"] == 0
    assert figures["order_distance"] == 0
    assert figures["words_f1"] == figures["headings_f1" if known[1].structure.headings else "words_f1"] == 1
    assert figures["list_items_f1"] == 1
    assert figures["cells_f1"] in (1, None)


@given(st.text())
def test_any_text_equals_itself(text: str):
    score = plain_score(text, text)
    assert score.num_edits == score.num_loops == 0
    assert score.words.f1 in (1, None)


@given(st.integers(0, 10_000))
def test_shuffled_lines_keep_their_words_and_lose_their_order(seed: int):
    shuffle = random.Random(seed)
    lines = [" ".join(shuffle.sample(WORDS, 6)) for _ in range(12)]
    other = shuffle.sample(lines, len(lines))
    score = plain_score("\n".join(lines), "\n".join(other))
    assert score.words.f1 == 1
    assert (score.num_edits > 0) == (score.order.num_swapped > 0) == (lines != other)


@given(st.integers(1, 11))
def test_lost_lines_cost_words_and_characters_and_no_order(num_lost: int):
    lines = [" ".join(WORDS[start : start + 4]) for start in range(0, 48, 4)]
    score = plain_score("\n".join(lines), "\n".join(lines[num_lost:]))
    assert score.words.num_found == score.words.num_output == 48 - 4 * num_lost
    assert score.num_edits == len(" ".join(lines[:num_lost])) + 1
    assert score.order.num_swapped == 0


def test_form_does_not_count_and_text_does():
    truth = "• first construc- \ntion\n– second “item”\n(1) third"
    assert comparable_text(truth) == 'first construction second "item" (1) third'
    assert (
        score_page(
            PLAIN, TruthPage(0, truth), EngineOutput('- first construction\n- second "item"\n- (1) third')
        ).num_edits
        == 0
    )
    assert (
        plain_score("well-known", "well-\nknown").num_edits == 1
    )  # a hyphen at a line end is taken for a division, on both sides


def test_a_truth_that_lists_a_table_by_column_gives_words_only():
    score = plain_score("a b\nc d", "a c\nb d", replace(PLAIN, is_ordered=False))
    assert (score.num_edits, score.order) == (None, None)
    assert score.words.f1 == 1
    assert add_up([score])["cer"] is None


def test_an_unproofread_truth_gives_no_text_figures():
    figures = add_up([plain_score("a b", "a c", replace(PLAIN, is_exact=False))])
    assert (figures["cer"], figures["words_f1"], figures["order_distance"]) == (None, None, None)


def test_sums_weigh_pages_by_their_length_and_keep_unknown_unknown():
    short, long = plain_score("ab", "cd"), plain_score("abcdefgh" * 6, "abcdefgh" * 6)
    figures = add_up([short, long, replace(short, num_lost_runs=3)])
    assert figures["cer"] == pytest.approx(4 / 52)
    assert figures["lost_runs"] is None
    assert add_up([replace(short, num_lost_runs=3), replace(long, num_lost_runs=0)])["lost_runs"] == 3
    assert figures["headings_f1"] is None


def test_a_heading_of_another_level_is_found_but_not_by_level():
    (document, page), markdown = PAGES[0], MARKDOWN[0]
    deeper = "\n".join("#" + line if line.startswith("#") else line for line in markdown.splitlines())
    figures = add_up([score_page(document, page, EngineOutput(deeper))])
    assert figures["headings_f1"] == 1
    assert figures["headings_by_level_f1"] < 1
    assert figures["list_items_by_depth_f1"] == 1


def test_what_a_user_gets_by_default_has_its_own_error_rate():
    text = "Running head\nThe text of this page."
    document = PLAIN
    output = EngineOutput(text, text, default_markdown="The text of this page.")
    figures = add_up([score_page(document, TruthPage(0, text), output)])
    assert figures["cer"] == 0
    assert figures["default_cer"] == pytest.approx(len("Running head ") / len(text))


def test_structure_damage_shows_in_its_own_column():
    (document, page), markdown = PAGES[0], MARKDOWN[0]
    damaged = {
        "headings_f1": markdown.replace("# Harbour", "Harbour"),
        "list_items_f1": markdown.replace("- Soundings", "Soundings").replace("- Tide", "\nTide"),
        "cells_f1": markdown.replace("| 14 | 6.2 |", "| 6.2 | 14 |"),
    }
    for column, text in damaged.items():
        figures = add_up([score_page(document, page, EngineOutput(text))])
        columns = {name: figures[name] for name in damaged}
        assert columns.pop(column) < 1
        assert set(columns.values()) == {1}
