"""Write held-out documents with their true Markdown, to measure readers on.

`python -m ocr_app.training.held_out OUTDIR --documents 30` writes NNN.pdf (clean and scan-like in turn),
NNN.md (pages divided by a line with a form feed) and index.json. Families of styles, fonts and passages are
none that training ever uses.
"""

import argparse
import json
from pathlib import Path

import numpy as np

from ocr_app.training.degrade import degrade
from ocr_app.training.truth import LaidOutDocument
from ocr_app.training.typesetting import LANGUAGES, generate_document, render_pages

PAGE_SEPARATOR = "\n\f\n"
SCAN_DPI = 150
FIRST_SEED = 1_000_000


def write_held_out(
    directory: Path, num_documents: int, *, max_pages: int = 3, language: str | None = None
) -> list[dict[str, object]]:
    """Write the documents and their index, and return the index."""
    directory.mkdir(parents=True, exist_ok=True)
    index = []
    for number in range(num_documents):
        document = generate_document(
            FIRST_SEED + number, split="held_out", language=language, max_pages=max_pages
        )
        is_scan = number % 2 == 1
        pdf, truth = directory / f"{number:03}.pdf", directory / f"{number:03}.md"
        pdf.write_bytes(scan_pdf(document, FIRST_SEED + number) if is_scan else document.pdf)
        truth.write_text(PAGE_SEPARATOR.join(document.markdown) + "\n", encoding="utf-8")
        index.append(
            {
                "file": pdf.name,
                "truth": truth.name,
                "style": document.style,
                "language": document.language,
                "pages": len(document.pages),
                "is_scan": is_scan,
            }
        )
    (directory / "index.json").write_text(json.dumps(index, indent=1) + "\n", encoding="utf-8")
    return index


def scan_pdf(document: LaidOutDocument, seed: int) -> bytes:
    """The same pages as images without a text layer, worse by one strength throughout the document."""
    import cv2
    import pymupdf

    rng = np.random.default_rng(seed)
    strength = str(rng.choice(["light", "medium", "strong"], p=[0.45, 0.4, 0.15]))
    with pymupdf.open() as pdf:
        for page, pixels in zip(document.pages, render_pages(document.pdf, SCAN_DPI), strict=True):
            image, _ = degrade(pixels, rng, strength)
            done, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 88])
            assert done
            sheet = pdf.new_page(width=page.width_pt, height=page.height_pt)
            sheet.insert_image(sheet.rect, stream=data.tobytes())
        return pdf.tobytes(deflate=True, no_new_id=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--documents", type=int, default=30)
    parser.add_argument("--max-pages", type=int, default=3)
    parser.add_argument(
        "--language", choices=tuple(LANGUAGES), help="only this one; by default as they are mixed in training"
    )
    arguments = parser.parse_args()
    for entry in write_held_out(
        arguments.directory, arguments.documents, max_pages=arguments.max_pages, language=arguments.language
    ):
        print(" ".join(str(value) for value in entry.values()))


if __name__ == "__main__":
    main()
