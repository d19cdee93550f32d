"""Makes a training file: documents laid out by a real typesetter, some really encoded from degraded pictures,
most simulated.

`python -m ocr_app.training.prepare data.npz --encoded 60 --simulated 800` ; fixed seeds give the same
documents again.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from tqdm import tqdm

from ocr_app.config import EncoderConfig
from ocr_app.training.dataset import save_documents
from ocr_app.training.degrade import degrade
from ocr_app.training.html_typesetting import generate_html_document
from ocr_app.training.seen import FrameBank, PageSample, seen_by_encoding, seen_by_simulation
from ocr_app.training.truth import LaidOutDocument, PageTruth, TraceError
from ocr_app.training.typesetting import generate_document
from ocr_app.types import EncodedPage, PageImage

DPI_CHOICES = (100, 120, 150, 150, 150, 200)
MAX_RUNS = 900  # a longer page does not fit a training step
FIRST_SIMULATED_SEED = 1_000_000
FIRST_HTML_SEED = 2_000_000
TABLE_STYLES = ("register", "ledger")  # their pages are the longest; more of them would crowd out the rest
CHINESE_EVERY = 6  # documents, beside those drawn to be: its structure was learned worst


class Scanner:
    """Draws, degrades and really encodes pages, with one encoder for all of them."""

    def __init__(self, threads: int = 1):
        from ocr_app.models.embedded.encoder import VisualEncoder

        self._encoder = VisualEncoder(EncoderConfig(threads=threads, reuse=False, straighten=False))

    def scan(
        self, document: LaidOutDocument, rng: random.Random
    ) -> Iterator[tuple[PageTruth, EncodedPage, np.ndarray]]:
        """Truth, what was seen, and the map (2, 3) from points to pixels, page by page."""
        import pymupdf

        dpi = rng.choice(DPI_CHOICES)
        noise = np.random.default_rng(rng.randrange(2**32))
        with pymupdf.open(stream=document.pdf, filetype="pdf") as pdf:
            for truth in document.pages:
                pixmap = pdf[truth.page_index].get_pixmap(dpi=dpi, alpha=False)
                pixels = np.frombuffer(pixmap.samples, np.uint8).reshape(pixmap.h, pixmap.w, pixmap.n)[
                    :, :, :3
                ]
                pixels, moved = degrade(pixels.copy(), noise)
                to_pixels = np.asarray(moved, np.float64)[:2] @ np.array(
                    [[dpi / 72, 0, 0], [0, dpi / 72, 0], [0, 0, 1]]
                )
                image = PageImage(truth.page_index, pixels, dpi, truth.width_pt, truth.height_pt)
                yield truth, self._encoder.encode(image), to_pixels


def scan_documents(
    seeds: range, split: str, bank: FrameBank | None, threads: int, *, loud_heads: float | None = None
) -> Iterator[list[PageSample]]:
    """Really encoded documents; their frames go into the bank."""
    scanner = Scanner(threads)
    for seed in seeds:
        rng = random.Random(seed)
        pages = []
        for truth, encoded, to_pixels in scanner.scan(
            generate_document(seed, split=split, max_pages=3, loud_heads=loud_heads), rng
        ):
            if not encoded.runs or len(encoded.runs) > MAX_RUNS:
                continue
            if bank is not None:
                bank.add(encoded, rng)
            pages.append(seen_by_encoding(encoded, truth, to_pixels)[1])
        if pages:
            yield pages


def simulate_document(seed: int, split: str, bank: FrameBank) -> list[PageSample]:
    rng = random.Random(seed)
    generate = generate_html_document if seed >= FIRST_HTML_SEED else generate_document
    document = generate(
        seed, split=split, language="zh" if split == "train" and seed % CHINESE_EVERY == 0 else None
    )
    truths = document.pages[:2] if any(name in document.style for name in TABLE_STYLES) else document.pages
    pages = [seen_by_simulation(truth, bank, rng) for truth in truths]
    return [page for page in pages if page is not None and len(page.positions) <= MAX_RUNS]


_bank: FrameBank | None = None  # of a worker process, set once by its initializer


def _start_worker(bank: FrameBank) -> None:
    global _bank
    _bank = bank


def _simulate_in_worker(job: tuple[int, str]) -> list[PageSample]:
    """A document that cannot be laid out faithfully in any of its tries is left out, and said so."""
    assert _bank is not None
    try:
        return simulate_document(*job, _bank)
    except TraceError as error:
        print(f"document {job[0]} is left out: {error}", file=sys.stderr)
        return []


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument(
        "--encoded", type=int, default=60, help="documents that are drawn, degraded and really encoded"
    )
    parser.add_argument(
        "--simulated", type=int, default=800, help="documents whose encoding is simulated from their truth"
    )
    parser.add_argument(
        "--html", type=int, default=0, help="simulated documents that a browser lays out, beside those"
    )
    parser.add_argument("--split", choices=("train", "held_out"), default="train")
    parser.add_argument(
        "--loud-heads", type=float, help="share of encoded documents with running heads as loud as headings"
    )
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args(argv)

    bank = FrameBank()
    seeds = range(args.first_seed, args.first_seed + args.encoded)
    scanned = scan_documents(seeds, args.split, bank, args.processes, loud_heads=args.loud_heads)
    documents = list(tqdm(scanned, total=len(seeds), desc="encoding", file=sys.stderr))
    first = FIRST_SIMULATED_SEED + args.first_seed
    first_html = FIRST_HTML_SEED + args.first_seed
    jobs = [
        (seed, args.split)
        for seed in (*range(first, first + args.simulated), *range(first_html, first_html + args.html))
    ]
    with ProcessPoolExecutor(args.processes, get_context("spawn"), _start_worker, (bank,)) as pool:
        simulated = pool.map(_simulate_in_worker, jobs, chunksize=4)
        documents += [
            pages for pages in tqdm(simulated, total=len(jobs), desc="simulating", file=sys.stderr) if pages
        ]
    save_documents(documents, args.out)
    num_pages = sum(map(len, documents))
    size_mb = args.out.stat().st_size / 1e6
    print(
        f"{len(documents)} documents, {num_pages} pages, {bank.num_characters} characters in the bank, {size_mb:.1f} MB"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
