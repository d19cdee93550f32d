"""Which earlier blocks a decode step reads: pure functions from queries and key summaries to a bias per
block.

A bias is what is added to the attention logits of every token in a block: -inf leaves the block unread, 0
reads it as it is, and the learned router adds a centred log-prior. Training calls the same functions, with
gradients, so that routed attention is what was trained.

Nothing here knows of block ids, memory or pages beyond an ordinal per block.

The router, per layer, one choice for all heads (D head dim, S slots, g a KV head, the query averaged over the
heads that share g):

    a_j     = softmax_j(c . k_j,g / sqrt(D))      c = model.router_heads[layer]; without one, a_j = 1 /
    (filled slots) kbar_bg = sum_j a_j k_j,g                     over the filled slots j of block b, keys as
    they are cached (rotated) s_b     = mean_g(q_g . kbar_bg) / sqrt(D) p       = entmax_1.5(s over the 16
    best)      closed form kept    = the 12 best with p > 0 bias_b  = (log p_b - mean over kept of log p) /
    sigma

When no more blocks exist than the budget, all are read with bias 0: a budget at or above what exists is full
attention.
"""

import math

import torch
from torch import Tensor

from ocr_app.config import SparsityConfig

PRIOR_SIGMA = 8.0  # a gentle prior: a block at 1e-4 of the mean probability loses 1.15 of its logits
PROBABILITY_FLOOR = 1e-6  # bounds the gradient of log p at the edge of the support
NEGATIVE_INFINITY = float("-inf")


def block_summaries(keys: Tensor, head: Tensor | None, filled: Tensor | None = None) -> Tensor:
    """Pool the keys of each block into one: (..., S, D) to (..., D), differentiable in keys and head.

    `head` (D,) is the layer's learned pooling vector, None for the plain mean. `filled` (broadcasts to (...,
    S)) marks slots that hold a token; every block must have one. Keys of shape (B, Hkv, N, S, D) give
    summaries (B, Hkv, N, D), one per KV head.
    """
    if head is None:
        weights = keys.new_zeros(keys.shape[:-1])
    else:
        weights = keys @ head.to(keys.dtype) / math.sqrt(keys.shape[-1])
    if filled is not None:
        weights = weights.masked_fill(~filled, NEGATIVE_INFINITY)
    return (weights.softmax(-1).unsqueeze(-1) * keys).sum(-2)


def group_queries(queries: Tensor, num_kv_heads: int) -> Tensor:
    """Average the query heads that share a KV head: (B, H, T, D) to (B, Hkv, T, D)."""
    if queries.shape[1] == num_kv_heads:
        return queries
    return queries.unflatten(1, (num_kv_heads, -1)).mean(2)


def router_scores(queries: Tensor, summaries: Tensor) -> Tensor:
    """s_b of the module docstring: grouped queries (B, Hkv, T, D), summaries (B, Hkv, N, D) to scores (B, T,
    N).
    """
    num_kv_heads, head_dim = queries.shape[1], queries.shape[-1]
    flat_queries = queries.transpose(1, 2).flatten(2)
    flat_summaries = summaries.transpose(1, 2).flatten(2)
    return flat_queries @ flat_summaries.transpose(1, 2) / (num_kv_heads * math.sqrt(head_dim))


def minmax_scores(queries: Tensor, key_min: Tensor, key_max: Tensor) -> Tensor:
    """Upper bound of the mean logit any key of a block can have: sum_d max(q_d min_d, q_d max_d), as
    router_scores otherwise.
    """
    return router_scores(queries.clamp(min=0), key_max) + router_scores(queries.clamp(max=0), key_min)


def entmax15(scores: Tensor) -> Tensor:
    """entmax with alpha 1.5 over the last dimension, in closed form; -inf gets probability 0, unless a row
    has nothing else.
    """
    ordered, where = scores.sort(-1, descending=True)
    return torch.zeros_like(scores).scatter(-1, where, _entmax15_of_sorted(ordered))


def _entmax15_of_sorted(scores: Tensor) -> Tensor:
    """p_i = max(s_i / 2 - tau, 0)^2, with tau from the largest k for which tau_k <= z_k: sorting makes the
    support a prefix.
    """
    top = scores[..., :1].clamp(
        min=torch.finfo(scores.dtype).min
    )  # a row of nothing but padding stays free of NaN
    halves = ((scores - top) / 2).clamp(
        min=-2.0
    )  # below -1 nothing is in the support, so -2 stands for all of it
    counts = torch.arange(1, scores.shape[-1] + 1, device=scores.device, dtype=scores.dtype)
    mean = halves.cumsum(-1) / counts
    spread = halves.square().cumsum(-1) - counts * mean.square()
    tau = mean - ((1 - spread) / counts).clamp(min=1e-12).sqrt()
    support = (tau <= halves).sum(-1, keepdim=True)
    return (halves - tau.gather(-1, support - 1)).clamp(min=0).square()


def route_log_prior(
    scores: Tensor, *, candidates: int = 16, budget: int = 12, sigma: float = PRIOR_SIGMA
) -> Tensor:
    """Bias per block from router scores (..., N): -inf for blocks not kept, the centred log-prior for those
    kept.

    -inf scores are padding. A row with at most `budget` real blocks keeps them all with bias 0.
    Differentiable in the scores.
    """
    best, where = scores.topk(
        min(candidates, scores.shape[-1]), dim=-1
    )  # sorted, so the first `budget` are the best
    probability = _entmax15_of_sorted(best)
    is_real = best > NEGATIVE_INFINITY
    fits = (scores > NEGATIVE_INFINITY).sum(-1, keepdim=True) <= budget
    kept = is_real & (probability > 0)
    kept[..., budget:] = False
    log_p = probability.clamp(min=PROBABILITY_FLOOR).log()
    centre = (log_p * kept).sum(-1, keepdim=True) / kept.sum(-1, keepdim=True).clamp(min=1)
    prior = (
        ((log_p - centre) / sigma)
        .masked_fill(fits, 0.0)
        .masked_fill(~(kept | (is_real & fits)), NEGATIVE_INFINITY)
    )
    return torch.full_like(scores, NEGATIVE_INFINITY).scatter(-1, where, prior)


def top_blocks(scores: Tensor, budget: int) -> Tensor:
    """Bias per block (..., N): 0 for the `budget` best scores, -inf for the rest and for padding."""
    budget = min(budget, scores.shape[-1])
    best, where = scores.topk(budget, dim=-1)
    kept = torch.zeros_like(best).masked_fill(best == NEGATIVE_INFINITY, NEGATIVE_INFINITY)
    return torch.full_like(scores, NEGATIVE_INFINITY).scatter(-1, where, kept)


def keep_best_pages(scores: Tensor, page_ordinals: Tensor, num_pages: int, page_budget: int) -> Tensor:
    """First stage: set to -inf the scores of blocks outside the best pages; a page is worth its best block.

    scores (B, T, N); page_ordinals (B, N) in [0, num_pages).
    """
    if num_pages <= page_budget:
        return scores
    ordinals = page_ordinals.unsqueeze(1).expand_as(scores)
    page_scores = scores.new_full((*scores.shape[:-1], num_pages), NEGATIVE_INFINITY)
    page_scores = page_scores.scatter_reduce(-1, ordinals, scores, "amax")
    page_bias = top_blocks(page_scores, page_budget)
    return scores + page_bias.gather(-1, ordinals)


def route(scores: Tensor, page_ordinals: Tensor, num_pages: int, config: SparsityConfig) -> Tensor:
    """Both stages: pages, then blocks inside them. Bias (B, T, N) from scores (B, T, N), padding -inf."""
    if config.routing == "all":
        return torch.zeros_like(scores).masked_fill(scores == NEGATIVE_INFINITY, NEGATIVE_INFINITY)
    if config.routing == "recent":  # candidates stand in order of page and place, so the index is the age
        age = torch.arange(scores.shape[-1], device=scores.device, dtype=scores.dtype)
        scores = age.expand_as(scores).masked_fill(scores == NEGATIVE_INFINITY, NEGATIVE_INFINITY)
    scores = keep_best_pages(scores, page_ordinals, num_pages, config.page_budget)
    if config.routing == "dash":
        return route_log_prior(scores, candidates=config.candidate_blocks, budget=config.block_budget)
    return top_blocks(scores, config.block_budget)
