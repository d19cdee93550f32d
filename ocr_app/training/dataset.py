"""Page samples on disk: one compressed file of documents, so that a training run starts from prepared data.

Features are stored as 8-bit integers with one scale per column, which loses less than the scanner does.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ocr_app.models.embedded.grammar import HEADINGS, LIST_ITEMS, Structure
from ocr_app.training.batches import Document
from ocr_app.training.seen import PageSample

FEATURE_STEPS = 127.0
RARE = (*HEADINGS, *LIST_ITEMS, Structure.TABLE, Structure.CODE, Structure.CAPTION, Structure.FOOTNOTE)


def save_documents(documents: Sequence[Document], path: Path) -> None:
    """Write documents to one .npz file; atomic, so that a cut run leaves the old file."""
    pages = [page for document in documents for page in document]
    features = np.concatenate([page.features for page in pages]).astype(np.float32)
    scale = np.maximum(np.abs(features).max(0), 1e-6) / FEATURE_STEPS
    temporary = path.with_suffix(".tmp.npz")
    np.savez_compressed(
        temporary,
        features=np.round(features / scale).astype(np.int8),
        scale=scale,
        geometry=np.concatenate([page.geometry for page in pages]),
        positions=np.concatenate([page.positions for page in pages]).astype(np.float16),
        tokens=np.concatenate([page.tokens for page in pages]),
        legal=np.packbits(np.concatenate([page.legal for page in pages]), axis=1),
        num_runs=np.array([len(page.positions) for page in pages]),
        num_tokens=np.array([len(page.tokens) for page in pages]),
        num_pages=np.array([len(document) for document in documents]),
        num_legal=np.array(pages[0].legal.shape[1]),
    )
    temporary.replace(path)


def load_documents(path: Path) -> list[list[PageSample]]:
    """All documents of a file."""
    with np.load(path) as arrays:
        stored = {name: arrays[name] for name in arrays.files}
    features = stored["features"].astype(np.float16) * stored["scale"].astype(np.float16)
    legal = np.unpackbits(stored["legal"], axis=1, count=int(stored["num_legal"])).astype(bool)
    run_ends, token_ends = np.cumsum(stored["num_runs"]), np.cumsum(stored["num_tokens"])
    pages = []
    for i, (run_end, token_end) in enumerate(zip(run_ends, token_ends, strict=True)):
        runs = slice(run_end - stored["num_runs"][i], run_end)
        tokens = slice(token_end - stored["num_tokens"][i], token_end)
        positions = stored["positions"][runs].astype(np.float32)
        pages.append(
            PageSample(
                features[runs], stored["geometry"][runs], positions, stored["tokens"][tokens], legal[tokens]
            )
        )
    ends = np.cumsum(stored["num_pages"])
    return [pages[end - count : end] for end, count in zip(ends, stored["num_pages"], strict=True)]


@dataclass(frozen=True, slots=True)
class BatchPlan:
    """How much goes into one step."""

    pages_per_step: int = 8
    max_tokens: int = 12_000  # runs and output tokens of a step, padding included


def plan_batches(
    documents: Sequence[Document], plan: BatchPlan, rng: random.Random
) -> Iterator[list[Document]]:
    """Endless: documents cut to 1 to 3 consecutive pages, grouped by page count and length so that little is
    padding.
    """
    while True:
        stretches = [
            stretch
            for document in documents
            for stretch in _stretches(document, rng)
            if rng.random() < _share_drawn(stretch)
        ]
        rng.shuffle(stretches)
        pools: dict[int, list[Document]] = {}
        for stretch in stretches:
            pools.setdefault(len(stretch), []).append(stretch)
        batches = [batch for pool in pools.values() for batch in _group(pool, plan)]
        rng.shuffle(batches)
        yield from batches


def _share_drawn(stretch: Document) -> float:
    """Stretches that are mostly table, and pages of nothing but paragraphs, are drawn less often: they are
    long, and alike.
    """
    tokens = np.concatenate([page.tokens for page in stretch])
    if (tokens == Structure.CELL).sum() > 60 * len(stretch):
        return 0.4
    return 1.0 if np.isin(tokens, RARE).any() else 0.6


def _stretches(document: Document, rng: random.Random) -> Iterator[Document]:
    start = 0
    while start < len(document):
        count = rng.choices((1, 2, 3), (0.55, 0.3, 0.15))[0]
        yield document[start : start + count]
        start += count


def _group(pool: list[Document], plan: BatchPlan) -> Iterator[list[Document]]:
    """Neighbours in length, from chunks of the shuffled pool."""
    chunk = 32 * plan.pages_per_step
    for start in range(0, len(pool), chunk):
        batch: list[Document] = []
        for document in sorted(pool[start : start + chunk], key=_length):
            longest = _length(document)  # sorted, so the newest is the longest
            if batch and (
                (len(batch) + 1) * longest > plan.max_tokens
                or (len(batch) + 1) * len(document) > plan.pages_per_step
            ):
                yield batch
                batch = []
            batch.append(document)
        if batch:
            yield batch


def _length(document: Document) -> int:
    return sum(len(page.positions) + len(page.tokens) for page in document)
