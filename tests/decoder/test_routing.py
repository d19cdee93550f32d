"""Routing: closed forms against slow references, and what every policy promises of its choice."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ocr_app.config import ROUTING_NAMES, SparsityConfig
from ocr_app.decoder.routing import (
    block_summaries,
    entmax15,
    group_queries,
    keep_best_pages,
    minmax_scores,
    route,
    route_log_prior,
    router_scores,
    top_blocks,
)

INF = float("inf")


def entmax15_by_bisection(scores: Tensor) -> Tensor:
    halves = scores.double() / 2
    high = halves.amax(-1, keepdim=True)
    low = high - 1
    for _ in range(60):
        middle = (low + high) / 2
        is_low = (halves - middle).clamp(min=0).square().sum(-1, keepdim=True) > 1
        low, high = torch.where(is_low, middle, low), torch.where(is_low, high, middle)
    return (halves - low).clamp(min=0).square()


@pytest.mark.parametrize("spread", [0.0, 0.1, 1.0, 3.0, 100.0])
@pytest.mark.parametrize("size", [1, 2, 12, 16])
def test_entmax_equals_bisection(spread: float, size: int):
    scores = torch.randn(500, size, dtype=torch.float64) * spread
    scores[::3, 0] = scores[::3].amax(-1)  # ties
    assert torch.allclose(entmax15(scores), entmax15_by_bisection(scores), rtol=0, atol=1e-9)
    assert torch.allclose(entmax15(scores.float()).double(), entmax15_by_bisection(scores), rtol=0, atol=2e-5)


def test_entmax_ignores_padding():
    scores = torch.tensor([[0.3, -INF, 1.2, -INF]])
    expected = entmax15(scores[:, [0, 2]])
    assert torch.allclose(entmax15(scores)[:, [0, 2]], expected)
    assert entmax15(scores)[0, [1, 3]].sum() == 0


def test_log_prior_is_centred_over_what_is_kept():
    prior = route_log_prior(torch.randn(50, 40))
    for row in prior:
        kept = row[row > -INF]
        assert 1 <= len(kept) <= 12
        assert abs(kept.sum()) < 1e-4


def test_log_prior_keeps_the_best_of_the_support():
    scores = torch.randn(50, 40) * 2
    for row, prior in zip(scores, route_log_prior(scores), strict=True):
        best = row.topk(16).indices
        probability = entmax15(row[best])
        expected = {int(place) for place, p in zip(best[:12], probability[:12], strict=True) if p > 0}
        assert set(prior.gt(-INF).nonzero().flatten().tolist()) == expected


def test_everything_is_read_when_it_fits():
    scores = torch.randn(3, 20) * 50
    scores[:, 12:] = -INF
    prior = route_log_prior(scores)
    assert torch.equal(prior[:, :12], torch.zeros(3, 12))
    assert prior[:, 12:].eq(-INF).all()


def test_router_trains_through_summaries_scores_and_prior():
    keys, head = torch.randn(2, 4, 30, 8, 16, requires_grad=True), torch.randn(16, requires_grad=True)
    queries = torch.randn(2, 4, 5, 16, requires_grad=True)
    prior = route_log_prior(router_scores(queries, block_summaries(keys, head)) * 5)
    prior[prior > -INF].square().sum().backward()
    for leaf in (keys, head, queries):
        assert leaf.grad is not None
        assert leaf.grad.isfinite().all()
        assert leaf.grad.abs().sum() > 0


def test_summary_equals_the_written_out_formula():
    keys, head = torch.randn(3, 8, 16), torch.randn(16)
    filled = torch.arange(8) < torch.tensor([[8], [3], [1]])
    for block, count, summary in zip(keys, (8, 3, 1), block_summaries(keys, head, filled), strict=True):
        weights = torch.stack([key @ head / 4 for key in block[:count]]).softmax(0)
        assert torch.allclose(
            summary, sum(w * key for w, key in zip(weights, block, strict=False)), atol=1e-6
        )
    assert torch.allclose(block_summaries(keys, None, filled)[1], keys[1, :3].mean(0), atol=1e-6)


def test_scores_are_the_mean_over_kv_heads_of_grouped_queries():
    queries, summaries = torch.randn(2, 6, 3, 16), torch.randn(2, 2, 5, 16)
    scores = router_scores(group_queries(queries, 2), summaries)
    for b in range(2):
        for t in range(3):
            for n in range(5):
                per_head = [
                    queries[b, 3 * g : 3 * g + 3, t].mean(0) @ summaries[b, g, n] / 4 for g in range(2)
                ]
                assert torch.isclose(scores[b, t, n], sum(per_head) / 2, atol=1e-5)


def test_minmax_bounds_every_key_of_a_block():
    keys, queries = torch.randn(1, 2, 6, 8, 16), torch.randn(1, 2, 4, 16)
    bound = minmax_scores(queries, keys.amin(3), keys.amax(3))
    for slot in range(8):
        assert (router_scores(queries, keys[:, :, :, slot]) <= bound + 1e-5).all()


def test_pages_first_keeps_whole_pages_with_the_best_block():
    scores = torch.tensor([[[0.1, 5.0, 3.0, 2.9, 4.0, -1.0]]])
    ordinals = torch.tensor([[0, 0, 1, 1, 2, 2]])
    assert keep_best_pages(scores, ordinals, 3, 2)[0, 0].tolist() == pytest.approx(
        [0.1, 5.0, -INF, -INF, 4.0, -1.0]
    )


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(ROUTING_NAMES),
    st.integers(1, 40),
    st.integers(0, 8),
    st.integers(1, 5),
    st.integers(0, 2**31),
)
def test_choices_are_real_blocks_within_the_budgets(
    routing: str, num_blocks: int, budget: int, page_budget: int, seed: int
):
    random = torch.Generator().manual_seed(seed)
    config = SparsityConfig(
        routing=routing, block_budget=budget, candidate_blocks=max(budget, 1) + 2, page_budget=page_budget
    )
    num_pages = min(num_blocks, 7)
    ordinals = (torch.arange(num_blocks) * num_pages // num_blocks).unsqueeze(0)
    scores = torch.randn(1, 3, num_blocks, generator=random)
    num_real = int(torch.randint(1, num_blocks + 1, (), generator=random))
    scores[:, :, num_real:] = -INF
    bias = route(scores, ordinals, num_pages, config)
    assert bias.shape == scores.shape
    assert not bias.isnan().any()
    assert bias[:, :, num_real:].eq(-INF).all()
    for row in bias[0]:
        chosen = row.gt(-INF).nonzero().flatten()
        if routing == "all":
            assert len(chosen) == num_real
        else:
            assert len(chosen) <= budget
            assert len(set(ordinals[0, chosen].tolist())) <= page_budget
            assert len(chosen) > 0 or budget == 0


def test_recent_takes_the_last_blocks():
    config = SparsityConfig(routing="recent", block_budget=2, page_budget=9)
    scores = torch.tensor([[[9.0, 8.0, 7.0, 6.0, -INF]]])
    assert route(scores, torch.tensor([[0, 1, 2, 3, 0]]), 4, config)[0, 0].tolist() == [
        -INF,
        -INF,
        0,
        0,
        -INF,
    ]


def test_budget_of_none_reads_none():
    assert top_blocks(torch.randn(2, 3), 0).eq(-INF).all()
    assert route_log_prior(torch.randn(2, 3), budget=0).eq(-INF).all()
