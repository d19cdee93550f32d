"""The embedded reader's network: a pointer decoder that writes a page by copying its visual tokens in reading
order.

It follows `decoder.protocol.DecoderModel`: the engine runs its attention when it reads, `training.forward`
when it learns, with the same weights and the same `project` and `finish_layer`. It knows tensors and token
ids; nothing of images, characters or files.
"""

from dataclasses import asdict, dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ocr_app.decoder.protocol import KVSpec
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import NUM_GEOMETRY_FEATURES, VisualPage

FORBIDDEN = float("-inf")
# logits: how far the suggestion of geometry is trusted over the reader's own choice. Page score of real pages
# at 4, 8, 16 and 100: 0.696, 0.839, 0.911, 0.913; of the suggestion alone 0.913. The network was trained on
# other hints.
SUGGESTION_LEAN = 32.0
MAX_REPEATS = 7  # of one structure token that are told apart
STANDARD_LIMIT = 8.0  # standard deviations; a lone mark far from everything is no reason for huge activations


@dataclass(frozen=True, slots=True)
class ReaderShape:
    """Sizes of the network. The default has about 2 M parameters."""

    width: int = 192
    num_layers: int = 4
    num_heads: int = 4
    head_dim: int = 48
    hidden_dim: int = 512
    geometry_dim: int = 128
    pointer_dim: int = 96
    num_features: int = 240  # three recogniser frames of 80

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


# share of the rotary pairs, and (highest, lowest) frequency: page, y in line heights, place in line, x in
# line heights, line in order
AXES = ((2, 1.0, 0.5), (7, 1.5, 0.015), (4, 1.5, 0.05), (5, 1.0, 0.01), (6, 1.5, 0.01))


def rotary_table(dim: int) -> Tensor:
    """(NUM_AXES, dim / 2): angle per unit of position. Each axis has a share of the pairs, its frequencies
    spread evenly on a log scale.
    """
    num_pairs = dim // 2
    counts = [share * num_pairs // 24 for share, _, _ in AXES]
    counts[1] += num_pairs - sum(counts)
    table, start = torch.zeros(len(AXES), num_pairs), 0
    for axis, (count, (_, high, low)) in enumerate(zip(counts, AXES, strict=True)):
        table[axis, start : start + count] = torch.logspace(0, 1, count, base=low / high) * high
        start += count
    return table


def rotate(x: Tensor, positions: Tensor, table: Tensor) -> Tensor:
    """Rotary embedding over several axes: x (B, H, T, D), positions (B, T, NUM_AXES)."""
    # not a product of matrices: autocast would round it to bfloat16
    angles = (positions[..., table.argmax(0)] * table.amax(0))[:, None]  # (B, 1, T, D / 2)
    cos, sin = angles.cos(), angles.sin()
    first, second = x.chunk(2, -1)
    return torch.cat([first * cos - second * sin, first * sin + second * cos], -1)


class ReaderLayer(nn.Module):
    """Pre-norm attention and a gated MLP, in two halves: the attention between them belongs to the caller."""

    def __init__(self, shape: ReaderShape):
        super().__init__()
        inner = shape.num_heads * shape.head_dim
        self.num_heads = shape.num_heads
        self.attention_norm = nn.RMSNorm(shape.width)
        self.qkv = nn.Linear(shape.width, 3 * inner, bias=False)
        self.attention_out = nn.Linear(inner, shape.width, bias=False)
        self.mlp_norm = nn.RMSNorm(shape.width)
        self.mlp_in = nn.Linear(shape.width, 2 * shape.hidden_dim, bias=False)
        self.mlp_out = nn.Linear(shape.hidden_dim, shape.width, bias=False)

    def project(self, hidden: Tensor, positions: Tensor, table: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        qkv = self.qkv(self.attention_norm(hidden)).unflatten(-1, (3, self.num_heads, -1))
        q, k, v = qkv.permute(2, 0, 3, 1, 4)  # (B, H, T, D) each
        return rotate(q, positions, table), rotate(k, positions, table), v

    def finish(self, hidden: Tensor, attended: Tensor) -> Tensor:
        hidden = hidden + self.attention_out(attended.transpose(1, 2).flatten(2))
        value, gate = self.mlp_in(self.mlp_norm(hidden)).chunk(2, -1)
        return hidden + self.mlp_out(value * F.silu(gate))


class PointerReader(nn.Module):
    """The network, and the five methods the engine calls."""

    reference_is_causal = False

    def __init__(self, shape: ReaderShape | None = None):
        super().__init__()
        self.shape = shape = shape or ReaderShape()
        self.kv_spec = KVSpec(shape.num_layers, shape.num_heads, shape.num_heads, shape.head_dim)
        self.feature_in = nn.Linear(shape.num_features, shape.width)
        self.geometry_in = nn.Sequential(
            nn.Linear(NUM_GEOMETRY_FEATURES, shape.geometry_dim),
            nn.SiLU(),
            nn.Linear(shape.geometry_dim, shape.width),
        )
        self.structure_embedding = nn.Embedding(NUM_STRUCTURE_TOKENS, shape.width)
        self.repeat_embedding = nn.Embedding(MAX_REPEATS + 1, shape.width)
        nn.init.zeros_(self.repeat_embedding.weight)
        self.copied = nn.Parameter(torch.zeros(shape.width))  # tells a copy from its visual token
        self.layers = nn.ModuleList([ReaderLayer(shape) for _ in range(shape.num_layers)])
        self.final_norm = nn.RMSNorm(shape.width)
        self.pointer_query = nn.Linear(shape.width, shape.pointer_dim, bias=False)
        self.pointer_key = nn.Linear(shape.width, shape.pointer_dim, bias=False)
        self.structure_out = nn.Linear(shape.width, NUM_STRUCTURE_TOKENS)
        self.router_heads = nn.Parameter(torch.zeros(shape.num_layers, shape.head_dim))
        self.register_buffer("feature_mean", torch.zeros(shape.num_features))
        self.register_buffer("feature_scale", torch.ones(shape.num_features))
        self.register_buffer("geometry_mean", torch.zeros(NUM_GEOMETRY_FEATURES))
        self.register_buffer("geometry_scale", torch.ones(NUM_GEOMETRY_FEATURES))
        self.register_buffer("rotary", rotary_table(shape.head_dim), persistent=False)
        self.register_buffer("pointer_rotary", rotary_table(shape.pointer_dim), persistent=False)

    # ---- shared by reading and training

    def embed_visual(self, features: Tensor, geometry: Tensor) -> Tensor:
        """(..., V, W) from features (..., V, F) and geometry (..., V, G), both standardised."""
        features = (features - self.feature_mean) * self.feature_scale
        geometry = ((geometry - self.geometry_mean) * self.geometry_scale).clamp(
            -STANDARD_LIMIT, STANDARD_LIMIT
        )
        return self.feature_in(features) + self.geometry_in(geometry)

    def embed_structure(self, tokens: Tensor, repeats: Tensor) -> Tensor:
        """(..., W) from tokens (...) and how many equal ones stand right before each: cells left empty differ
        in nothing else.
        """
        return self.structure_embedding(tokens.clamp_max(NUM_STRUCTURE_TOKENS - 1)) + self.repeat_embedding(
            repeats.clamp_max(MAX_REPEATS)
        )

    def pointer_keys(self, hidden: Tensor, positions: Tensor) -> Tensor:
        """(B, V, P) from the last hidden state of visual tokens."""
        return rotate(self.pointer_key(self.final_norm(hidden))[:, None], positions, self.pointer_rotary)[
            :, 0
        ]

    def scores(self, hidden: Tensor, cursors: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
        """Unmasked scores of structure tokens (B, T, NUM_STRUCTURE_TOKENS) and of pointers (B, T, V)."""
        hidden = self.final_norm(hidden)
        query = rotate(self.pointer_query(hidden)[:, None], cursors, self.pointer_rotary)[:, 0]
        return self.structure_out(hidden), query @ keys.transpose(1, 2) / self.shape.pointer_dim**0.5

    # ---- what the engine calls

    @property
    def device(self) -> torch.device:
        """Where the weights are. A page's state stays on the CPU; what the network needs is moved here."""
        return self.copied.device

    def embed_reference(self, state: PageState, page: VisualPage) -> tuple[Tensor, Tensor]:
        features, geometry = (
            torch.from_numpy(each).to(self.device) for each in (page.features, page.geometry)
        )
        state.visual = self.embed_visual(features, geometry)
        return state.visual[None], state.positions[None].to(self.device)

    def embed_output(self, states: list[PageState], tokens: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.stack([self._embed_row(state, row) for state, row in zip(states, tokens, strict=True)])
        cursors = torch.stack(
            [state.cursors_after(row.tolist()) for state, row in zip(states, tokens, strict=True)]
        )
        return hidden, cursors.to(self.device)

    def project(self, layer: int, hidden: Tensor, positions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        return self.layers[layer].project(hidden, positions, self.rotary)

    def finish_layer(self, layer: int, hidden: Tensor, attended: Tensor) -> Tensor:
        return self.layers[layer].finish(hidden, attended)

    def logits(self, states: list[PageState], tokens: Tensor, hidden: Tensor) -> Tensor:
        rows = [
            self._logits_row(state, row.tolist(), hidden[i : i + 1])
            for i, (state, row) in enumerate(zip(states, tokens, strict=True))
        ]
        widest = max(row.shape[-1] for row in rows)
        return torch.stack([F.pad(row, (0, widest - row.shape[-1]), value=FORBIDDEN) for row in rows])

    def finish_reference(self, state: PageState, hidden: Tensor) -> None:
        """Take the page's last hidden state (1, V, W), as `Engine.prefill` returns it, and keep the pointer
        keys.
        """
        state.keys = self.pointer_keys(hidden, state.positions[None].to(self.device))[0]

    def _embed_row(self, state: PageState, tokens: Tensor) -> Tensor:
        is_structure = (tokens < NUM_STRUCTURE_TOKENS)[:, None]
        repeats = torch.tensor(state.repeats_after(tokens.tolist()), device=self.device)
        structure = self.embed_structure(tokens, repeats)
        if not state.num_runs:
            return structure
        pointer = (tokens - NUM_STRUCTURE_TOKENS).clamp_min(0)
        return torch.where(is_structure, structure, state.visual[pointer] + self.copied)

    def _logits_row(self, state: PageState, tokens: list[int], hidden: Tensor) -> Tensor:
        """(T, NUM_STRUCTURE_TOKENS + V), masked by the grammar; index t follows tokens[: t + 1]."""
        cursors, outlook = state.cursors_after(tokens)[None].to(self.device), state.look_ahead(tokens)
        structure, pointers = self.scores(hidden, cursors, state.keys[None])
        is_forbidden = ~outlook.allowed.to(self.device)
        scores = torch.cat([structure, pointers], -1)[0].masked_fill(is_forbidden, FORBIDDEN)
        for row, token in enumerate(outlook.suggested):
            if token is not None:
                scores[row, token] += SUGGESTION_LEAN
        return scores


def reader_from(shape: dict[str, Any]) -> PointerReader:
    """A reader of a stored shape; raises TypeError for unknown sizes."""
    return PointerReader(ReaderShape(**shape))
