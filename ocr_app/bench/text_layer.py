"""The upper reference on born-digital files: pymupdf4llm, which reads a PDF's own text layer."""

from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from ocr_app.bench.engines import EngineMissingError


def text_layer_pages(path: Path, indices: list[int] | None = None, *, furniture: bool = False) -> list[str]:
    """The Markdown that pymupdf4llm makes of a PDF's text layer, by page; pictures are not recognised."""
    try:
        import pymupdf4llm
    except ImportError as error:
        raise EngineMissingError("pymupdf4llm is not installed; pip install pymupdf4llm.") from error
    with redirect_stdout(StringIO()):  # the library prints hints of its own
        chunks = pymupdf4llm.to_markdown(
            str(path),
            pages=indices,
            page_chunks=True,
            use_ocr=False,
            header=furniture,
            footer=furniture,
            show_progress=False,
        )
    return [chunk["text"] for chunk in chunks]
