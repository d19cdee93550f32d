"""What earlier pages are worth: wrong tokens by kind with references whole, by the learned router, and
without.

`python -m ocr_app.training.ablation held_out.npz` ; the tokens before each are the true ones. The first page
of a document has no earlier pages and is left out.
"""

import argparse
import random
import sys
from collections import Counter
from pathlib import Path

import torch

from ocr_app.config import ReaderConfig
from ocr_app.models.embedded.checkpoint import load_reader
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.reader import PointerReader
from ocr_app.training.batches import Document, collate
from ocr_app.training.dataset import load_documents
from ocr_app.training.forward import IGNORED, Sight, forward

REFERENCES = ("all", "routed", "none")
MAX_PAGES = 3


def kind_of(token: int) -> str:
    return "pointer" if token >= NUM_STRUCTURE_TOKENS else Structure(token).name.lower().replace("_", " ")


@torch.no_grad()
def count_wrong(
    model: PointerReader, documents: list[Document], references: str
) -> tuple[Counter[str], Counter[str]]:
    """How many tokens of each kind there are behind the first page, and how many of them are wrong."""
    total: Counter[str] = Counter()
    wrong: Counter[str] = Counter()
    for document in documents:
        batch = collate([document[:MAX_PAGES]], random.Random(1))
        chosen = forward(model, batch, Sight(references=references))[0].argmax(-1)
        later = (batch.page_of[0] > 0) & (batch.targets[0] != IGNORED)
        for target, token in zip(batch.targets[0][later].tolist(), chosen[later].tolist(), strict=True):
            total[kind_of(target)] += 1
            wrong[kind_of(target)] += target != token
    return total, wrong


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path, help="a file made by training.prepare")
    parser.add_argument("--weights", default=ReaderConfig().weight_path)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args(argv)

    torch.set_num_threads(args.threads)
    model = load_reader(args.weights)
    documents = [document for document in load_documents(args.data) if len(document) > 1]
    counts = {references: count_wrong(model, documents, references) for references in REFERENCES}
    total = counts["all"][0]
    print("| kind | tokens | " + " | ".join(REFERENCES) + " |\n| :--- |" + " ---: |" * (1 + len(REFERENCES)))
    for kind, number in total.most_common():
        print(
            f"| {kind} | {number} | "
            + " | ".join(str(counts[references][1][kind]) for references in REFERENCES)
            + " |"
        )
    print(
        f"| together | {total.total()} | "
        + " | ".join(str(counts[references][1].total()) for references in REFERENCES)
        + " |"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
