"""The reader's forward pass for learning: whole documents at once, with explicit masks, on the weights and
layers that the engine runs.

A batch holds B documents of K pages each; V visual tokens a page and T output tokens a document, padded.
"""

from dataclasses import dataclass, fields

import torch
import torch.nn.functional as F
from torch import Tensor

from ocr_app.decoder.routing import block_summaries, group_queries, route_log_prior, router_scores
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS
from ocr_app.models.embedded.reader import PointerReader

IGNORED = -100
BLOCK_SIZE = 32


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """Padded tensors of one step."""

    features: Tensor  # (B, K, V, F)
    geometry: Tensor  # (B, K, V, G)
    positions: Tensor  # (B, K, V, A)
    is_visual: Tensor  # (B, K, V) bool
    inputs: Tensor  # (B, T) tokens; pointers count within their page
    page_of: Tensor  # (B, T) page that each output token writes
    cursors: Tensor  # (B, T, A)
    targets: Tensor  # (B, T), IGNORED where padded
    legal: Tensor  # (B, T, NUM_STRUCTURE_TOKENS + 1) bool
    copied_at: Tensor  # (B, K, V) index into T at which the run is copied; T where it never is

    def to(self, device: str) -> "Batch":
        return Batch(*(getattr(self, field.name).to(device, non_blocking=True) for field in fields(self)))


@dataclass(frozen=True, slots=True)
class Sight:
    """What output tokens see beside their own page and the text window."""

    text_window: int = 128
    references: str = (
        "all"  # earlier pages: all, none, random (blocks), routed (by the learned router, as the engine does)
    )
    block_budget: int = 12
    overlap_pages: int = 1  # with `routed`: the pages before the current one that are read whole


def forward(model: PointerReader, batch: Batch, sight: Sight) -> Tensor:
    """Logits (B, T, NUM_STRUCTURE_TOKENS + V), illegal ones -inf."""
    num_documents, num_pages, _num_visual = batch.is_visual.shape
    visual = model.embed_visual(batch.features, batch.geometry).flatten(0, 1)  # (B * K, V, W)
    text = _embed_text(model, batch, visual)
    positions = batch.positions.flatten(0, 1)
    see_page = batch.is_visual.flatten(0, 1)[:, None, None, :]
    see = visible(batch, sight)  # (B, 1, T, K * V + T)
    for layer in range(model.kv_spec.num_layers):
        q, k, v = model.project(layer, visual, positions)
        visual = model.finish_layer(
            layer, visual, F.scaled_dot_product_attention(q, k, v, attn_mask=see_page)
        )
        tq, tk, tv = model.project(layer, text, batch.cursors)
        k, v = _by_document(k, num_documents), _by_document(v, num_documents)
        mask = _routed(model, layer, tq, k, batch, see, sight) if sight.references == "routed" else see
        attended = F.scaled_dot_product_attention(
            tq, torch.cat([k, tk], 2), torch.cat([v, tv], 2), attn_mask=mask
        )
        text = model.finish_layer(layer, text, attended)
    keys = model.pointer_keys(visual, positions).unflatten(0, (num_documents, num_pages))
    return _legal_logits(model, batch, text, keys)


def loss_of(logits: Tensor, batch: Batch, structure_weights: Tensor | None = None) -> Tensor:
    """Mean cross-entropy over written tokens; structure tokens may count for more, by `structure_weights`
    (NUM_STRUCTURE_TOKENS,).
    """
    targets = batch.targets.flatten()
    losses = F.cross_entropy(logits.flatten(0, 1).float(), targets, ignore_index=IGNORED, reduction="none")
    weights = (targets != IGNORED).float()
    if structure_weights is not None:
        is_structure = (targets >= 0) & (targets < NUM_STRUCTURE_TOKENS)
        weights = torch.where(
            is_structure, structure_weights[targets.clamp(0, NUM_STRUCTURE_TOKENS - 1)], weights
        )
    return (losses * weights).sum() / weights.sum()


def visible(batch: Batch, sight: Sight) -> Tensor:
    """(B, 1, T, K * V + T) bool: the text window, the whole current page, and earlier pages as `sight` says."""
    num_documents, num_pages, num_visual = batch.is_visual.shape
    page = torch.arange(num_pages, device=batch.page_of.device)[:, None].expand(-1, num_visual).flatten()
    is_own = batch.page_of[:, :, None] == page
    is_earlier = batch.page_of[:, :, None] > page
    if sight.references == "none":
        is_earlier = torch.zeros_like(is_earlier)
    elif sight.references == "random":
        is_earlier = is_earlier & _random_blocks(batch, sight)
    see_visual = (is_own | is_earlier) & batch.is_visual.flatten(1)[:, None]
    index = torch.arange(batch.inputs.shape[1], device=batch.inputs.device)
    age = index[:, None] - index
    see_text = ((age >= 0) & (age < sight.text_window)).expand(num_documents, -1, -1)
    return torch.cat([see_visual, see_text], -1)[:, None]


def _random_blocks(batch: Batch, sight: Sight) -> Tensor:
    """(B, T, K * V): for every page being written, a few blocks of the earlier ones."""
    num_documents, num_pages, num_visual = batch.is_visual.shape
    num_blocks = -(-num_visual // BLOCK_SIZE)
    lottery = torch.rand(num_documents, num_pages, num_pages * num_blocks, device=batch.features.device)
    rank = lottery.argsort(-1, descending=True).argsort(-1)
    kept = (rank < sight.block_budget).unflatten(-1, (num_pages, num_blocks))
    kept = kept.repeat_interleave(BLOCK_SIZE, -1)[..., :num_visual].flatten(2)  # (B, K, K * V)
    return kept.gather(1, batch.page_of[:, :, None].expand(-1, -1, kept.shape[-1]))


def _routed(
    model: PointerReader, layer: int, q: Tensor, k: Tensor, batch: Batch, see: Tensor, sight: Sight
) -> Tensor:
    """Replace plain sight of earlier pages by the router's log-prior, as `decoder.routing` defines it: (B, 1,
    T, K * V + T) float.
    """
    _num_documents, num_pages, num_visual = batch.is_visual.shape
    padding = -num_visual % BLOCK_SIZE
    keys = (
        F.pad(k.unflatten(2, (num_pages, num_visual)), (0, 0, 0, padding))
        .unflatten(3, (-1, BLOCK_SIZE))
        .flatten(2, 3)
    )
    filled = F.pad(batch.is_visual, (0, padding)).unflatten(2, (-1, BLOCK_SIZE)).flatten(1, 2)  # (B, N, S)
    has_tokens = filled.any(-1)
    filled = filled | ~has_tokens[..., None]
    summaries = block_summaries(keys, model.router_heads[layer], filled[:, None])
    scores = router_scores(group_queries(q, k.shape[1]), summaries)  # (B, T, N)
    page_of_block = torch.arange(num_pages, device=q.device).repeat_interleave(scores.shape[-1] // num_pages)
    is_candidate = (batch.page_of[:, :, None] - sight.overlap_pages > page_of_block) & has_tokens[:, None]
    prior = route_log_prior(scores.masked_fill(~is_candidate, float("-inf")), budget=sight.block_budget)
    prior = (
        prior.unflatten(-1, (num_pages, -1)).repeat_interleave(BLOCK_SIZE, -1)[..., :num_visual].flatten(2)
    )
    distance = batch.page_of[:, :, None] - torch.arange(num_pages, device=q.device).repeat_interleave(
        num_visual
    )
    is_fixed = (distance >= 0) & (distance <= sight.overlap_pages)
    bias = torch.where(is_fixed, torch.zeros_like(prior), prior)
    bias = torch.cat([bias, bias.new_zeros(*bias.shape[:2], see.shape[-1] - bias.shape[-1])], -1)[:, None]
    return bias.masked_fill(~see, float("-inf"))


def _by_document(tensor: Tensor, num_documents: int) -> Tensor:
    """(B * K, H, V, D) to (B, H, K * V, D)."""
    return tensor.unflatten(0, (num_documents, -1)).transpose(1, 2).flatten(2, 3)


def _embed_text(model: PointerReader, batch: Batch, visual: Tensor) -> Tensor:
    num_visual = batch.is_visual.shape[2]
    structure = model.embed_structure(batch.inputs, repeats_of(batch.inputs))
    pointer = (batch.inputs - NUM_STRUCTURE_TOKENS).clamp_min(0) + batch.page_of * num_visual
    by_document = visual.unflatten(0, (len(batch.inputs), -1)).flatten(1, 2)  # (B, K * V, W)
    copied = by_document.gather(1, pointer[..., None].expand(-1, -1, by_document.shape[-1])) + model.copied
    return torch.where((batch.inputs < NUM_STRUCTURE_TOKENS)[..., None], structure, copied)


def repeats_of(inputs: Tensor) -> Tensor:
    """(B, T): how many equal tokens stand right before each."""
    index = torch.arange(inputs.shape[1], device=inputs.device)
    begins = F.pad(inputs[:, 1:] != inputs[:, :-1], (1, 0), value=True)
    return index - torch.where(begins, index, 0).cummax(1).values


def _legal_logits(model: PointerReader, batch: Batch, text: Tensor, keys: Tensor) -> Tensor:
    """Pointers go to the token's own page; runs copied before and structure the grammar forbids are out."""
    num_visual = batch.is_visual.shape[2]
    structure, pointers = model.scores(text, batch.cursors, keys.flatten(1, 2))
    own = batch.page_of[..., None] * num_visual + torch.arange(num_visual, device=text.device)
    pointers = pointers.gather(2, own)
    legal = torch.cat([batch.legal[..., :-1], _open_runs(batch) & batch.legal[..., -1:]], -1)
    return torch.cat([structure, pointers], -1).masked_fill(~legal, float("-inf"))


def _open_runs(batch: Batch) -> Tensor:
    """(B, T, V) bool: the runs that `PageState` lets be copied at each step, all that are not copied yet."""
    num_documents, num_steps = batch.inputs.shape
    documents = torch.arange(num_documents, device=batch.inputs.device)[:, None]
    time = torch.arange(num_steps, device=batch.inputs.device)[:, None]
    is_copied = batch.copied_at[documents, batch.page_of] < time  # (B, T, V)
    return ~is_copied & batch.is_visual[documents, batch.page_of]
