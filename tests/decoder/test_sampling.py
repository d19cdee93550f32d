"""Picking a token: the repetition rule against brute force, temperature, and the page guard."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.decoder.sampling import PageGuard, SamplingConfig, pick_token, repeating_tokens
from ocr_app.errors import ConfigError


def repeating_by_brute_force(ids: list[int], size: int, window: int, whitelist: frozenset[int]) -> set[int]:
    """Every id that would make the last `size` ids occur earlier within the window."""
    first = max(len(ids) - window, 0)
    seen = {tuple(ids[start : start + size]) for start in range(first, len(ids)) if start + size <= len(ids)}
    return {
        token for token in range(4) if len(ids) >= size and tuple([*ids, token][-size:]) in seen
    } - whitelist


@given(
    st.lists(st.integers(0, 3), max_size=40),
    st.integers(1, 6),
    st.integers(1, 45),
    st.frozensets(st.integers(0, 3), max_size=2),
)
def test_repetition_rule_equals_brute_force(
    ids: list[int], size: int, window: int, whitelist: frozenset[int]
):
    config = SamplingConfig(ngram_size=size, ngram_window=window, ngram_whitelist=whitelist)
    assert repeating_tokens(ids, config) == repeating_by_brute_force(ids, size, window, whitelist)


@pytest.mark.parametrize(("period", "is_caught"), [(94, True), (95, False)])
def test_longest_loop_caught_at_35_of_128(period: int, is_caught: bool):
    loop = [place % period for place in range(400)]
    assert (
        400 % period in repeating_tokens(loop, SamplingConfig(ngram_size=35, ngram_window=128))
    ) is is_caught


def test_greedy_takes_the_best_allowed():
    logits, random = torch.tensor([1.0, 5.0, 3.0]), torch.Generator()
    assert pick_token(logits, set(), SamplingConfig(), random) == 1
    assert pick_token(logits, {1}, SamplingConfig(), random) == 2
    assert logits.tolist() == [1.0, 5.0, 3.0]


def test_temperature_draws_in_proportion_and_repeats_with_its_seed():
    logits, config = torch.tensor([0.0, 1.0, 2.0]), SamplingConfig(temperature=0.5)
    draws = [
        [pick_token(logits, {1}, config, random) for _ in range(2000)]
        for random in (torch.Generator().manual_seed(4), torch.Generator().manual_seed(4))
    ]
    assert draws[0] == draws[1]
    assert 1 not in draws[0]
    expected = (logits[[0, 2]] / 0.5).softmax(-1)[1]
    assert draws[0].count(2) / 2000 == pytest.approx(float(expected), abs=0.02)


def test_rules_that_forbid_everything_are_a_setting_to_change():
    with pytest.raises(ConfigError, match="Raise ngram_size"):
        pick_token(torch.zeros(2), {0, 1}, SamplingConfig(), torch.Generator())
    with pytest.raises(ConfigError, match="temperature is -1"):
        SamplingConfig(temperature=-1)
    with pytest.raises(ConfigError, match="ngram_size is 0"):
        SamplingConfig(ngram_size=0)


def test_guard_forces_the_border_at_the_cap_only():
    guard = PageGuard(page_token=7, end_token=8, max_page_tokens=3)
    assert guard.forced(2, has_more_pages=True) is None
    assert guard.forced(3, has_more_pages=True) == 7
    assert guard.forced(3, has_more_pages=False) == 8
    assert guard.forbidden(has_more_pages=True) == 8
    assert guard.forbidden(has_more_pages=False) == 7
