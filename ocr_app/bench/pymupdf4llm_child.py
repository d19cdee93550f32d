"""Run by another interpreter path than ours: the Markdown pymupdf4llm makes of a PDF's text layer, as one
JSON line.

pymupdf4llm needs the full `pymupdf`, which cannot be installed beside the `pymupdf-lite` the app uses;
therefore a process of its own with its own PYTHONPATH. Arguments: file, page indices with commas, and 1 or 0
for running headers and footers.
"""

import json
import sys
import time

import pymupdf4llm


def main(path: str, indices: str, furniture: str) -> None:
    pages = [int(index) for index in indices.split(",")]
    keep = furniture == "1"
    start = time.perf_counter()
    chunks = pymupdf4llm.to_markdown(
        path, pages=pages, page_chunks=True, use_ocr=False, header=keep, footer=keep, show_progress=False
    )
    elapsed_s = time.perf_counter() - start
    # The library prints hints of its own on standard output; the last line is ours.
    print(
        "\n"
        + json.dumps(
            {
                "pages": dict(zip(pages, (chunk["text"] for chunk in chunks), strict=True)),
                "elapsed_s": elapsed_s,
            }
        )
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
