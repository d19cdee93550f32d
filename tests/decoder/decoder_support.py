"""What the decoder's tests share: tolerances per dtype, small settings, and a run of many pages through
engine or oracle.
"""

from dataclasses import dataclass, field

import torch
from oracle import Oracle
from torch import Tensor

from ocr_app.config import SparsityConfig
from ocr_app.decoder.engine import Engine
from ocr_app.decoder.sequence import Sequence
from ocr_app.models.toy import ToyModel, ToyState, toy_spec

# What must be equal is compared in float64, where rounding, which differs from processor to processor, is far
# below any mistake.
EXACT = toy_spec(dtype=torch.float64)
# greatest difference from float64, as a share of the largest logit
TOLERANCE = {"float64": 1e-11, "float32": 3e-5, "float16": 1e-2, "bfloat16": 1e-1, "int8": 2e-1}

UNLIMITED = {
    "text_window": 4096,
    "sparsity_ratio": 1.0,
    "page_window": 4096,
    "page_budget": 4096,
    "block_budget": 4096,
    "candidate_blocks": 4096,
    "max_resident_blocks": 4096,
}


def assert_close(ours: Tensor, theirs: Tensor, dtype: str = "float64") -> None:
    """Logits that differ by no more than rounding in `dtype` explains."""
    largest = float((ours - theirs).abs().max())
    allowed = TOLERANCE[dtype] * float(theirs.abs().max())
    assert largest <= allowed, f"largest difference {largest:.2e}, allowed {allowed:.2e}"


def small(**changes: object) -> SparsityConfig:
    """Settings at which everything happens within a few pages of some fifty tokens: blocks of 8, a window of
    16.
    """
    settings = {
        "block_size": 8,
        "text_window": 16,
        "block_budget": 3,
        "candidate_blocks": 4,
        "page_budget": 2,
        "sparsity_ratio": 0.4,
    }
    return SparsityConfig(**(settings | changes))


@dataclass
class Script:
    """Pages and output tokens of one document, drawn once so that every run reads and writes the same."""

    pages: list[Tensor]
    tokens: list[list[int]]

    @classmethod
    def draw(cls, page_sizes: list[int], num_steps: int, seed: int = 0, vocabulary: int = 64) -> "Script":
        random = torch.Generator().manual_seed(seed)
        pages = [torch.randint(vocabulary, (size,), generator=random) for size in page_sizes]
        tokens = [torch.randint(vocabulary, (num_steps,), generator=random).tolist() for _ in page_sizes]
        return cls(pages, tokens)


@dataclass
class Reader:
    """One document in an engine, advanced by hand."""

    engine: Engine
    script: Script
    state: ToyState = field(default_factory=ToyState)
    sequence: Sequence = field(init=False)

    def __post_init__(self) -> None:
        self.sequence = self.engine.add_sequence(self.state)

    def open_page(self, page_index: int) -> None:
        turn_page(self.state, self.engine.model, page_index)
        self.engine.prefill(self.sequence, page_index, self.script.pages[page_index])

    def step(self, *tokens: int) -> Tensor:
        (logits,) = self.engine.decode_step([self.sequence], [list(tokens)])
        self.state.num_output_tokens += len(tokens)
        return logits

    def back(self, num_tokens: int) -> None:
        self.engine.rollback(self.sequence, num_tokens)
        self.state.num_output_tokens -= num_tokens

    def read(self) -> Tensor:
        """The whole document, token by token: logits (steps, vocabulary)."""
        logits = []
        for page_index in range(len(self.script.pages)):
            self.open_page(page_index)
            logits += [self.step(token) for token in self.script.tokens[page_index]]
            self.engine.end_page(self.sequence)
            self.engine.check_integrity()
        return torch.cat(logits)

    @property
    def resident(self) -> dict[int, list[int]]:
        return {
            page.page_index: [record.place for record in page.records]
            for page in self.sequence.pages.values()
        }


def stored_kv(engine: Engine, page_index: int, sequence: Sequence, layer: int) -> tuple[Tensor, Tensor]:
    """A whole page's keys and values (T, Hkv, D) as they lie in the cache."""
    page = sequence.pages[page_index]
    gathered = engine.store.gather(layer, torch.tensor([page.block_ids]), engine.spec.dtype)
    keys, values = (tensor[0].transpose(0, 1)[: page.num_tokens].clone() for tensor in gathered)
    return keys, values


def turn_page(state: ToyState, model: ToyModel, page_index: int) -> None:
    """Place numbers start anew on each page, except for a causal model."""
    state.page_index = page_index
    if not model.reference_is_causal:
        state.num_reference_tokens = 0


def read_with_engine(
    script: Script, config: SparsityConfig, model: ToyModel | None = None, **options: object
) -> Tensor:
    with Engine(model or ToyModel(EXACT), config, **options) as engine:
        logits = Reader(engine, script).read()
    engine.check_integrity()
    assert engine.pool.num_used_blocks == 0
    return logits


def read_beside_oracle(
    script: Script, config: SparsityConfig, model: ToyModel, mode: str = "sparse"
) -> tuple[Tensor, Tensor]:
    """Logits of the engine and of the oracle, which is told at every page which blocks the engine still
    holds.
    """
    oracle, oracle_state = Oracle(model, config, mode), ToyState()
    ours, theirs = [], []
    with Engine(model, config, mode=mode) as engine:
        reader = Reader(engine, script)
        for page_index, page in enumerate(script.pages):
            reader.open_page(page_index)
            turn_page(oracle_state, model, page_index)
            oracle.prefill(oracle_state, page_index, page)
            for token in script.tokens[page_index]:
                ours.append(reader.step(token))
                theirs.append(oracle.step(oracle_state, [token], reader.resident))
                oracle_state.num_output_tokens += 1
    return torch.cat(ours), torch.cat(theirs)
