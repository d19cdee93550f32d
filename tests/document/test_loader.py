"""Opening documents and drawing their pages: limits, damage, and what is told about each page."""

import random
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from ocr_app.config import LoaderConfig
from ocr_app.document.loader import open_document
from ocr_app.errors import DamagedFileError, NoPagesError, PageRangeError, TooLargeError, UnsupportedFileError
from ocr_app.types import PageFailure, PageImage

MakePdf = Callable[..., bytes]
LOW = LoaderConfig(dpi=36)


def read_all(data: bytes | Path, config: LoaderConfig = LOW, **options) -> list[PageImage | PageFailure]:
    with open_document(data, config, **options) as document:
        return list(document.pages())


def test_pages_come_in_the_order_asked_for_once_each(make_pdf: MakePdf):
    with open_document(make_pdf(7), LOW, pages="5-,2,6") as document:
        assert document.page_count == 7
        assert document.page_indices == (4, 5, 6, 1)
        assert [page.page_number for page in document.pages()] == [5, 6, 7, 2]


def test_pixels_follow_page_size_and_dpi(make_pdf: MakePdf):
    (page,) = read_all(make_pdf(1, width=144, height=288), LoaderConfig(dpi=100))
    assert page.pixels.shape == (400, 200, 3)
    assert page.pixels.dtype == np.uint8
    assert (page.width_pt, page.height_pt, page.dpi, page.notes) == (144, 288, 100, ())


def test_file_and_bytes_give_the_same_pages(make_pdf: MakePdf, tmp_path: Path):
    path = tmp_path / "named.png"  # a PDF: the name says nothing
    path.write_bytes(make_pdf(2))
    for from_file, from_bytes in zip(read_all(path), read_all(path.read_bytes()), strict=True):
        assert np.array_equal(from_file.pixels, from_bytes.pixels)


def test_an_image_named_pdf_is_read_as_the_image_it_is(save_image: Callable[..., bytes], tmp_path: Path):
    from PIL import Image

    path = tmp_path / "photo.pdf"
    path.write_bytes(save_image(Image.new("RGB", (30, 20), "white"), "PNG"))
    (page,) = read_all(path)
    assert page.pixels.shape == (20, 30, 3)


def test_a_page_without_size_fails_alone(make_pdf: MakePdf):
    def flatten_page_two(document) -> None:
        document.xref_set_key(document[1].xref, "MediaBox", "[0 0 0 0]")

    pages = read_all(make_pdf(3, edit=flatten_page_two))
    assert [type(page) for page in pages] == [PageImage, PageFailure, PageImage]
    assert "no size" in pages[1].reason


def test_a_page_without_size_by_inheritance_fails(make_pdf: MakePdf):
    def flatten_all(document) -> None:
        for page in document:
            document.xref_set_key(page.xref, "MediaBox", "null")
        parent = document.xref_get_key(document[0].xref, "Parent")[1]
        document.xref_set_key(int(parent.split()[0]), "MediaBox", "[10 10 10 500]")

    assert [type(page) for page in read_all(make_pdf(2, edit=flatten_all))] == [PageFailure, PageFailure]


def test_a_wrong_startxref_is_repaired_and_told(make_pdf: MakePdf):
    data = make_pdf(3)
    at = data.rindex(b"startxref") + len(b"startxref\n")
    broken = data[:at] + (b"1" if data[at : at + 1] != b"1" else b"2") + data[at + 1 :]
    with open_document(broken, LOW) as document:
        assert document.is_repaired
        assert "3 page(s)" in document.notes[0]
        assert all(isinstance(page, PageImage) for page in document.pages())


def test_a_cut_off_tail_is_repaired(make_pdf: MakePdf):
    with open_document(make_pdf(20)[:-300], LOW) as document:
        assert (document.page_count, document.is_repaired) == (20, True)


def test_the_largest_legal_page_is_drawn_within_the_limits(make_pdf: MakePdf):
    config = LoaderConfig(max_pixels=1_000_000)
    (page,) = read_all(make_pdf(1, width=14_400, height=14_400), config)
    assert 950_000 < page.width_px * page.height_px <= config.max_pixels
    assert "instead of 150" in page.notes[0]


def test_a_page_whose_content_is_damaged_is_not_called_blank(make_pdf: MakePdf):
    def spoil_page_two(document) -> None:
        (xref,) = document[1].get_contents()
        document.update_stream(xref, b"this is not deflated", compress=False)
        document.xref_set_key(xref, "Filter", "/FlateDecode")

    pages = read_all(make_pdf(3, edit=spoil_page_two))
    assert [type(page) for page in pages] == [PageImage, PageFailure, PageImage]
    assert "damaged" in pages[1].reason


@pytest.mark.parametrize("seed", range(6))
def test_random_damage_gives_a_record_for_every_page_or_an_error_with_a_reason(make_pdf: MakePdf, seed: int):
    rng = random.Random(seed)
    data = bytearray(make_pdf(3))
    for _ in range(rng.choice([3, 20, 100])):
        data[rng.randrange(20, len(data))] = rng.randrange(256)
    reason = ""
    try:
        with open_document(bytes(data), LOW) as document:
            assert [page.page_index for page in document.pages()] == list(document.page_indices)
    except DamagedFileError as error:
        reason = str(error)
    assert not reason or "0 pages could be read" in reason or "has no pages" in reason


def test_documents_read_in_threads_at_once_are_as_read_one_by_one(make_pdf: MakePdf):
    documents = [make_pdf(number) for number in (1, 2, 3)]
    with ThreadPoolExecutor(3) as pool:
        at_once = list(pool.map(read_all, documents))
    for data, pages in zip(documents, at_once, strict=True):
        assert all(np.array_equal(a.pixels, b.pixels) for a, b in zip(read_all(data), pages, strict=True))


def test_annotations_are_drawn(make_pdf: MakePdf):
    def annotate(document) -> None:
        document[0].add_rect_annot((100, 300, 400, 600)).update(fill_color=(0, 0, 0))

    (page,) = read_all(make_pdf(1, edit=annotate))
    assert page.pixels[225, 125].max() < 50  # the middle of the rectangle, in pixels of 36 dpi


def test_no_pages_is_an_error_of_its_own():
    catalog, tree = (
        b"1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n",
        b"2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n",
    )
    header = b"%PDF-1.4\n"
    offsets = (len(header), len(header + catalog), len(header + catalog + tree))
    table = (
        b"xref\n0 3\n0000000000 65535 f \n%010d 00000 n \n%010d 00000 n \n"
        b"trailer<</Root 1 0 R/Size 3>>\nstartxref\n%d\n%%%%EOF" % offsets
    )
    with pytest.raises(NoPagesError):
        open_document(header + catalog + tree + table, LOW)


def test_limits_of_bytes_and_pages_hold_before_work(make_pdf: MakePdf):
    data = make_pdf(5)
    with pytest.raises(TooLargeError, match="max_file_bytes"):
        open_document(data, LoaderConfig(max_file_bytes=100))
    with pytest.raises(TooLargeError, match="5 pages to read; the limit is 4"):
        open_document(data, LoaderConfig(max_pages=4))
    assert len(read_all(data, LoaderConfig(dpi=36, max_pages=4), pages="2-5")) == 4


def test_a_bad_page_range_is_refused_at_opening(make_pdf: MakePdf):
    with pytest.raises(PageRangeError, match="has 3 page"):
        open_document(make_pdf(3), LOW, pages="9")


def test_a_missing_file_is_named_without_its_folder(tmp_path: Path):
    with pytest.raises(UnsupportedFileError) as caught:
        open_document(tmp_path / "gone.pdf", LOW)
    assert "gone.pdf" in str(caught.value)
    assert str(tmp_path) not in str(caught.value)


def test_memory_of_the_parent_does_not_grow_with_the_document(make_pdf: MakePdf):
    """Peak over 60 pages against peak over the first 10; tracemalloc sees numpy's and bytearray's memory
    alike.
    """
    data = make_pdf(60)
    tracemalloc.start()
    try:
        with open_document(data, LoaderConfig(dpi=72)) as document:
            peaks = []
            for page in document.pages():
                peaks.append(tracemalloc.get_traced_memory()[1])
                page_bytes = page.pixels.nbytes
                del page
    finally:
        tracemalloc.stop()
    assert peaks[9] >= page_bytes  # the measure sees pages at all
    assert peaks[-1] <= 1.1 * peaks[9]


def test_a_page_with_a_cut_picture_says_what_it_lacks(make_pdf):
    import pymupdf

    def cut(document: pymupdf.Document) -> None:
        pixmap = pymupdf.Pixmap(pymupdf.csRGB, (0, 0, 300, 400), False)
        pixmap.clear_with(255)
        pixmap.set_rect((20, 20, 280, 60), (0, 0, 0))
        xref = document[0].insert_image(document[0].rect, stream=pixmap.tobytes("jpeg"))
        data = document.xref_stream_raw(xref)
        document.update_stream(xref, data[: len(data) // 2], compress=0)
        document.xref_set_key(xref, "Filter", "/DCTDecode")

    with open_document(make_pdf(2, edit=cut), LoaderConfig()) as document:
        first, second = document.pages()
    assert "part of the page may be missing" in first.lack
    assert second.lack is None
