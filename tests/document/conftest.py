"""Documents drawn for the tests: small, and each with the one fault that its test is about."""

import io
from collections.abc import Callable

import pytest

MakePdf = Callable[..., bytes]


@pytest.fixture
def make_pdf() -> MakePdf:
    """A function that draws a PDF with numbered pages; `edit` may change the open PyMuPDF document before it
    is written.
    """
    import pymupdf

    def make(
        num_pages: int = 3,
        *,
        width: float = 595,
        height: float = 842,
        edit: Callable | None = None,
        **save_options,
    ) -> bytes:
        document = pymupdf.open()
        for number in range(1, num_pages + 1):
            document.new_page(width=width, height=height).insert_text(
                (50, 72), f"This is page {number}.", fontsize=12
            )
        if edit:
            edit(document)
        return document.tobytes(**save_options)

    return make


@pytest.fixture
def save_image() -> Callable[..., bytes]:
    """A function that writes a Pillow image into bytes."""

    def save(image, file_format: str, **options) -> bytes:
        buffer = io.BytesIO()
        image.save(buffer, file_format, **options)
        return buffer.getvalue()

    return save
