"""Every hard file does what is expected of it: it is read within the limits, or refused with the reason."""

from dataclasses import dataclass, field
from pathlib import Path

import pytest

from ocr_app.config import LoaderConfig
from ocr_app.document.loader import open_document
from ocr_app.errors import (
    DamagedFileError,
    EmptyFileError,
    OCRError,
    PasswordRequiredError,
    UnsupportedFileError,
    WrongPasswordError,
)
from ocr_app.types import PageFailure, PageImage

NASTY = Path(__file__).parent.parent / "data" / "nasty"
PASSWORD = "asdfzxcv"


@dataclass(frozen=True)
class Expected:
    num_pages: int
    blank: set[int] = field(default_factory=set)  # page numbers
    failed: set[int] = field(default_factory=set)
    password: str | None = None


READ = {
    "annotations.pdf": Expected(1),
    "blank-pages-between.pdf": Expected(6, blank={2, 3, 5}),
    "bomb-image-64MB.pdf": Expected(1, blank={1}),
    "ccitt-g4.pdf": Expected(1),
    "enc-owner-only-nocopy.pdf": Expected(2),
    "enc-user-password-aes128.pdf": Expected(1, password=PASSWORD),
    "huge-page-a0.pdf": Expected(1),
    "javascript-authors.pdf": Expected(1),
    "junk-before-header.pdf": Expected(3),
    "pages-tree-refs.pdf": Expected(2, failed={2}),
    "rotate-90.pdf": Expected(2),
    "résumé 📄.pdf": Expected(1),
    "skinny-page.pdf": Expected(1),
    "transparency-alpha.pdf": Expected(1),
    "upload-name-dotdot.pdf": Expected(1),
    "xss-basic.pdf": Expected(1),
}
REFUSED = {
    "empty-file.pdf": EmptyFileError,
    "enc-user-password-aes128.pdf": PasswordRequiredError,
    "header-only.pdf": DamagedFileError,
    "html-named-as.pdf": UnsupportedFileError,
    "negative-page-count.pdf": DamagedFileError,
}


def test_every_hard_file_has_an_expectation():
    assert {path.name for path in NASTY.glob("*.pdf")} == READ.keys() | REFUSED.keys()


@pytest.mark.parametrize("name", READ)
def test_hard_file_is_read_page_for_page(name: str):
    expected, config = READ[name], LoaderConfig(max_pixels=4_000_000)
    with open_document(NASTY / name, config, password=expected.password) as document:
        pages = list(document.pages())
    assert (
        [page.page_index for page in pages] == list(range(expected.num_pages)) == list(document.page_indices)
    )
    assert {page.page_index + 1 for page in pages if isinstance(page, PageFailure)} == expected.failed
    images = [page for page in pages if isinstance(page, PageImage)]
    assert {image.page_number for image in images if image.is_blank} == expected.blank
    assert all(image.width_px * image.height_px <= config.max_pixels for image in images)


@pytest.mark.parametrize("name", REFUSED)
def test_hard_file_is_refused_with_its_reason(name: str):
    with pytest.raises(OCRError) as caught:
        open_document(NASTY / name, LoaderConfig())
    assert type(caught.value) is REFUSED[name]
    assert str(NASTY) not in str(caught.value)


def test_a_wrong_password_is_told_from_a_missing_one_and_never_repeated():
    with pytest.raises(WrongPasswordError) as caught:
        open_document(NASTY / "enc-user-password-aes128.pdf", LoaderConfig(), password="s3cret-guess")
    assert "s3cret" not in str(caught.value)


def test_a_large_page_is_reduced_before_it_is_drawn_and_says_so():
    with open_document(NASTY / "huge-page-a0.pdf", LoaderConfig(max_pixels=1_000_000)) as document:
        (page,) = document.pages()
    assert 900_000 < page.width_px * page.height_px <= 1_000_000
    assert page.dpi < 150
    assert "841 x 1189 mm" in page.notes[0]


def test_the_rotation_that_a_page_asks_for_is_applied_and_told():
    with open_document(NASTY / "rotate-90.pdf", LoaderConfig(dpi=72)) as document:
        pages = list(document.pages())
    assert [page.rotation for page in pages] == [90, 270]
    assert all(page.pixels.shape[:2] == (612, 792) and page.width_pt == 792 for page in pages)
