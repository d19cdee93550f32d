"""A page compared with itself is perfect; each kind of damage moves its own figure, by what is worked out
here.
"""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.bench.real_blocks import read_page
from ocr_app.bench.real_score import FIGURES, RealScore, mean_score, score_markdown, table_f1

TRUTH = """<!-- furniture: Yearly report of the harbour -->
# Why we dredge

The channel has lost depth.

## Costs

- 1.8 m at low water
- 2.4 m for the ferry
  - more in spring

<!-- float -->
| Option | Cost |
| --- | --- |
| Nothing | 0 |
| Channel | 90 |
<!-- /float -->

The whole basin is dearer.
"""


def without(part: str, instead: str = "") -> RealScore:
    assert part in TRUTH
    return score_markdown(TRUTH, TRUTH.replace(part, instead))


def test_the_truth_itself_is_perfect():
    assert score_markdown(TRUTH, TRUTH) == RealScore(1, 1, 1, 1, 1, 1, 1, 0)


def test_an_empty_page_has_nothing_right():
    score = score_markdown(TRUTH, "")
    assert (score.page, score.words, score.heads, score.lists, score.tables) == (0, 0, 0, 0, 0)
    assert score.leak is None


def test_a_heading_written_as_a_paragraph_costs_headings_alone():
    score = without("## Costs", "Costs")
    assert score.heads == pytest.approx(2 / 3)
    assert (score.words, score.order, score.lists, score.tables) == (1, 1, 1, 1)
    assert score.page == pytest.approx((3 + 2 / 3) / 4)


def test_equal_levels_of_unequal_headings_are_wrong():
    assert without("## Costs", "# Costs").levels == 0
    assert without("## Costs", "### Costs").levels == 1


def test_items_are_found_by_their_text_whatever_their_bullet():
    assert without("- 1.8 m at low water", "* 1.8 m at low water").lists == 1
    assert without("- 1.8 m at low water\n").lists == pytest.approx(4 / 5)


def test_a_cell_lost_and_a_cell_moved():
    assert without("| Nothing | 0 |", "| Nothing |  |").tables == pytest.approx(2 * 5 / 11)
    assert without("| Channel | 90 |", "| 90 | Channel |").tables == pytest.approx(2 * 4 / 12)


def test_a_table_where_there_is_none_counts_nothing():
    assert score_markdown("Plain text.", "Plain text.").tables is None
    assert score_markdown("Plain text.", "| Plain |\n| --- |\n| text. |").tables == 0


def test_a_running_head_in_the_body_leaks():
    assert score_markdown(TRUTH, "Yearly report of the harbour\n\n" + TRUTH).leak == 1


def test_a_free_block_may_stand_anywhere_and_fixed_ones_may_not():
    start, end = TRUTH.index("<!-- float -->"), TRUTH.index("<!-- /float -->") + 16
    moved = TRUTH[start:end] + "\n" + TRUTH[:start] + TRUTH[end:]
    assert score_markdown(TRUTH, moved).order == pytest.approx(1, abs=0.02)
    first, second = "The channel has lost depth.", "The whole basin is dearer."
    swapped = TRUTH.replace(first, "@").replace(second, first).replace("@", second)
    assert score_markdown(TRUTH, swapped).order < 0.9


def test_only_what_a_page_asks_for_is_measured():
    score = score_markdown("<!-- measure: order leak -->\n" + TRUTH, TRUTH)
    assert (score.heads, score.levels, score.lists, score.tables) == (None,) * 4
    assert (score.page, score.words, score.order, score.leak) == (1, 1, 1, 0)


def test_chinese_words_are_characters():
    assert score_markdown("港口报告", "港口报表").words == pytest.approx(3 / 4)


def test_html_tables_count_like_pipe_tables():
    html = '<table><tr><th colspan="2">a</th><th>b</th></tr><tr><td>1</td><td>2</td><td>3</td></tr></table>'
    assert read_page(html).of_kind("table")[0].rows == (("a", "", "b"), ("1", "2", "3"))


def test_a_hostile_span_takes_no_memory():
    rows = read_page('<table><tr><td colspan="999999999999">a</td></tr></table>').of_kind("table")[0].rows
    assert len(rows[0]) == 1000
    assert read_page('<table><tr><td colspan="-5x">a</td></tr></table>').blocks[0].rows == (("a",),)


def test_tables_are_paired_whatever_their_order():
    one, other = (("a", "b"), ("c", "d")), (("left", "right"),)
    assert table_f1([one, other], [other, one]) == 1


def test_means_are_over_the_pages_that_have_the_figure():
    mean = mean_score([score_markdown("# A title", "# A title"), score_markdown("Text only.", "Text.")])
    assert mean.heads == 1
    assert mean.tables is None


@settings(max_examples=60, deadline=None)
@given(st.text(alphabet="#-| <!>/$`a1\n港tdr", max_size=120))
def test_any_output_gets_figures_between_none_and_all(output: str):
    score = score_markdown(TRUTH, output)
    assert all((value := getattr(score, name)) is None or 0 <= value <= 1 for name in FIGURES)
