"""Batches from page samples: documents of a few pages, padded; pages may stand far apart, as retained pages
do in a long document.
"""

import random
from collections.abc import Sequence

import numpy as np
import torch

from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, REGIONS, Structure
from ocr_app.models.embedded.state import START_CURSOR
from ocr_app.models.embedded.visual import NUM_AXES
from ocr_app.training.forward import IGNORED, Batch
from ocr_app.training.seen import PageSample

Document = Sequence[PageSample]


def collate(documents: Sequence[Document], rng: random.Random, *, misread_share: float = 0.0) -> Batch:
    """Pad documents of one page count each.

    `misread_share` of the structure tokens are shown as others, with the targets as they were: when it reads,
    the reader sees its own wrong choices, and has to find the way from there.
    """
    num_pages = len(documents[0])
    assert all(len(document) == num_pages for document in documents), (
        "documents of one batch have one page count"
    )
    num_visual = max(len(page.positions) for document in documents for page in document)
    num_text = max(sum(len(page.tokens) for page in document) for document in documents)
    first = documents[0][0]
    size = (len(documents), num_pages, num_visual)
    arrays = {
        "features": np.zeros((*size, first.features.shape[1]), np.float32),
        "geometry": np.zeros((*size, first.geometry.shape[1]), np.float32),
        "positions": np.zeros((*size, NUM_AXES), np.float32),
        "is_visual": np.zeros(size, bool),
        "copied_at": np.full(size, num_text, np.int64),
        "inputs": np.zeros((len(documents), num_text), np.int64),
        "page_of": np.zeros((len(documents), num_text), np.int64),
        "cursors": np.zeros((len(documents), num_text, NUM_AXES), np.float32),
        "targets": np.full((len(documents), num_text), IGNORED, np.int64),
        "legal": np.zeros((len(documents), num_text, NUM_STRUCTURE_TOKENS + 1), bool),
    }
    arrays["legal"][..., Structure.PAD] = True  # keeps padding finite; overwritten where tokens are
    for row, document in enumerate(documents):
        _fill(row, document, arrays, rng)
    if misread_share:
        _misread(arrays["inputs"], misread_share, np.random.default_rng(rng.getrandbits(32)))
    arrays["is_visual"][..., 0] = True  # an empty page still needs something to look at
    return Batch(**{name: torch.from_numpy(array) for name, array in arrays.items()})


def _fill(row: int, document: Document, arrays: dict[str, np.ndarray], rng: random.Random) -> None:
    page_axis, start = float(rng.randint(0, 8)), 0
    for k, page in enumerate(document):
        count, end = len(page.positions), start + len(page.tokens)
        tokens = page.tokens.astype(np.int64)
        positions = page.positions.copy()
        positions[:, 0] = page_axis
        arrays["features"][row, k, :count] = page.features
        arrays["geometry"][row, k, :count] = page.geometry
        arrays["positions"][row, k, :count] = positions
        arrays["is_visual"][row, k, :count] = True
        arrays["inputs"][row, start:end] = [Structure.PAGE, *tokens[:-1]]
        arrays["targets"][row, start:end] = tokens
        arrays["page_of"][row, start:end] = k
        arrays["legal"][row, start:end] = page.legal
        arrays["cursors"][row, start:end] = _cursors(tokens, positions, page_axis)
        is_pointer = tokens >= NUM_STRUCTURE_TOKENS
        arrays["copied_at"][row, k, tokens[is_pointer] - NUM_STRUCTURE_TOKENS] = start + np.flatnonzero(
            is_pointer
        )
        start = end
        page_axis += 1.0 if rng.random() < 0.85 else rng.randint(2, 40)


def _misread(inputs: np.ndarray, share: float, rng: np.random.Generator) -> None:
    """Change structure tokens in place to any that open something; the opening of a page is left."""
    is_changed = (
        (inputs < NUM_STRUCTURE_TOKENS) & (inputs > Structure.PAGE) & (rng.random(inputs.shape) < share)
    )
    inputs[is_changed] = rng.choice([*REGIONS, Structure.ROW, Structure.CELL], is_changed.sum())


def _cursors(tokens: np.ndarray, positions: np.ndarray, page_axis: float) -> np.ndarray:
    """(T, NUM_AXES): where the run lies that was copied last before each target; the input at that step has
    this position too.
    """
    start = np.array([page_axis, *START_CURSOR], np.float32)
    table = np.concatenate([start[None], positions])
    index = np.maximum(tokens - NUM_STRUCTURE_TOKENS + 1, 0)  # 0: no pointer
    place = np.where(index > 0, np.arange(len(tokens)), -1)
    latest = np.maximum.accumulate(np.concatenate([[-1], place[:-1]]))
    return table[np.where(latest >= 0, index[np.maximum(latest, 0)], 0)]
