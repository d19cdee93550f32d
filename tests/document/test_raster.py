"""Image files: every frame, upright, as RGB over white, at their own resolution up to the limit."""

from collections.abc import Callable

import numpy as np
import pytest
from PIL import Image, ImageDraw

from ocr_app.config import LoaderConfig
from ocr_app.document.drawing import Limits
from ocr_app.document.loader import open_document
from ocr_app.document.raster import RasterSource
from ocr_app.document.sniff import FileKind
from ocr_app.errors import DamagedFileError, PageRenderError, TooLargeError
from ocr_app.types import PageImage

LIMITS = Limits(dpi=150, max_pixels=1_000_000, memory_bytes=2**30)
Save = Callable[..., bytes]


def corner_marked(mode: str = "RGB", size: tuple[int, int] = (60, 40)) -> Image.Image:
    """White, with a black square in the top left corner."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).rectangle((0, 0, 9, 9), fill="black")
    return image.convert(mode)


def deep(image: Image.Image) -> Image.Image:
    """The same in 16-bit grey."""
    return Image.fromarray(np.asarray(image.convert("L")).astype(np.uint16) * 257)


def read(data: bytes, kind: FileKind, page_index: int = 0) -> np.ndarray:
    """Decode in this process, without the renderer: these files are our own."""
    return RasterSource(data, kind, LIMITS).draw(page_index).pixels


def is_marked_top_left(pixels: np.ndarray) -> bool:
    return bool((pixels[2:8, 2:8] < 60).all() and (pixels[15:, 15:] > 200).all())


@pytest.mark.parametrize("file_format", ["PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF"])
def test_each_format_is_read_through_the_renderer(save_image: Save, file_format: str):
    with open_document(save_image(corner_marked(), file_format), LoaderConfig()) as document:
        (page,) = document.pages()
    assert isinstance(page, PageImage)
    assert page.pixels.shape == (40, 60, 3)
    assert is_marked_top_left(page.pixels)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"])
def test_every_colour_mode_of_png_shows_the_same_picture(save_image: Save, mode: str):
    if mode.startswith("I"):
        values = np.asarray(corner_marked("L")).astype(np.uint16 if mode == "I;16" else np.int32) * 257
        image = Image.fromarray(values)
    else:
        image = corner_marked(mode)
    assert is_marked_top_left(read(save_image(image, "PNG"), FileKind.PNG))


def test_cmyk_jpeg_keeps_black_on_white(save_image: Save):
    assert is_marked_top_left(read(save_image(corner_marked("CMYK"), "JPEG"), FileKind.JPEG))


@pytest.mark.parametrize("number", [np.float32(1 / 255), np.int32(1), np.int32(257), np.int32(70_000)])
def test_deep_grey_tiff_is_spread_over_eight_bits(save_image: Save, number: np.number):
    image = Image.fromarray(np.asarray(corner_marked("L")).astype(number.dtype) * number)
    assert is_marked_top_left(read(save_image(image, "TIFF"), FileKind.TIFF))


@pytest.mark.parametrize("mode", ["RGBA", "LA", "P"])
def test_transparent_background_is_white_paper(save_image: Save, mode: str):
    image = Image.new("RGBA", (60, 40), (0, 0, 0, 0))
    ImageDraw.Draw(image).rectangle((0, 0, 9, 9), fill="black")
    options = {}
    if mode == "P":
        image = corner_marked("P")
        options["transparency"] = image.getpixel((30, 30))
    else:
        image = image.convert(mode)
    assert is_marked_top_left(read(save_image(image, "PNG", **options), FileKind.PNG))


@pytest.mark.parametrize(("orientation", "rotation"), [(1, 0), (3, 180), (6, 90), (8, 270)])
def test_exif_orientation_is_applied_and_told(save_image: Save, orientation: int, rotation: int):
    stored = corner_marked().rotate(
        rotation, expand=True
    )  # counter-clockwise: turning by `rotation` clockwise puts it right
    exif = Image.Exif()
    exif[0x0112] = orientation
    drawing = RasterSource(save_image(stored, "JPEG", exif=exif, quality=95), FileKind.JPEG, LIMITS).draw(0)
    assert drawing.rotation == rotation
    assert drawing.pixels.shape == (40, 60, 3)
    assert is_marked_top_left(drawing.pixels)


def test_every_frame_of_a_tiff_is_a_page(save_image: Save):
    frames = [Image.new("L", (30 + 10 * number, 20), 255) for number in range(3)]
    data = save_image(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    with open_document(data, LoaderConfig(), pages="3,1") as document:
        assert document.page_count == 3
        assert [(page.page_number, page.width_px) for page in document.pages()] == [(3, 50), (1, 30)]


def test_of_an_animation_the_first_frame_is_the_page_and_the_note_says_so(save_image: Save):
    frames = [corner_marked("L"), Image.new("L", (60, 40), 0)]
    source = RasterSource(
        save_image(frames[0], "GIF", save_all=True, append_images=frames[1:]), FileKind.GIF, LIMITS
    )
    assert source.page_count == 1
    assert source.notes == ("Only the first of 2 pictures in the file is read.",)
    assert is_marked_top_left(source.draw(0).pixels)


def test_resolution_comes_from_the_file_or_is_assumed_and_said_so(save_image: Save):
    stated = RasterSource(save_image(corner_marked(), "PNG", dpi=(300, 300)), FileKind.PNG, LIMITS).draw(0)
    assert stated.dpi == pytest.approx(300, rel=1e-3)
    assert stated.width_pt == pytest.approx(60 / 300 * 72, rel=1e-3)
    assert stated.notes == ()
    assumed = RasterSource(save_image(corner_marked(), "PNG"), FileKind.PNG, LIMITS).draw(0)
    assert assumed.dpi == 150
    assert "150 dpi assumed" in assumed.notes[0]


@pytest.mark.parametrize(
    ("file_format", "mode"), [("JPEG", "RGB"), ("PNG", "1"), ("PNG", "P"), ("TIFF", "L"), ("PNG", "I;16")]
)
def test_large_images_are_reduced_to_the_limit_and_keep_their_size_on_paper(
    save_image: Save, file_format: str, mode: str
):
    image = corner_marked(size=(3000, 2000))
    image = deep(image) if mode == "I;16" else image.convert(mode)
    drawing = RasterSource(
        save_image(image, file_format, dpi=(300, 300)), FileKind(file_format), LIMITS
    ).draw(0)
    height, width = drawing.pixels.shape[:2]
    assert 800_000 < height * width <= LIMITS.max_pixels
    assert drawing.width_pt == pytest.approx(720, rel=0.01)
    assert "reduced from 300" in drawing.notes[-1]


@pytest.mark.parametrize(("mode", "is_refused"), [("1", False), ("RGB", True)])
def test_an_image_too_large_for_the_memory_is_refused_before_it_is_decoded(
    save_image: Save, mode: str, is_refused: bool
):
    data = save_image(Image.new(mode, (4000, 3000)), "PNG")
    limits = Limits(dpi=150, max_pixels=1_000_000, memory_bytes=4000 * 3000 * 4)
    if is_refused:
        with pytest.raises(TooLargeError, match="4000 x 3000"):
            RasterSource(data, FileKind.PNG, limits)
    else:
        assert RasterSource(data, FileKind.PNG, limits).draw(0).pixels.size <= 3_000_000


def test_a_truncated_image_shows_what_is_there_and_is_called_partial(save_image: Save):
    noise = Image.fromarray(np.random.default_rng(0).integers(0, 255, (200, 200, 3), np.uint8))
    data = save_image(noise, "JPEG")
    drawing = RasterSource(data[: len(data) // 2], FileKind.JPEG, LIMITS).draw(0)
    assert drawing.pixels[:20].std() > 20
    assert drawing.is_partial


@pytest.mark.parametrize(
    "magic",
    [b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"II*\x00", b"BM", b"GIF89a", b"RIFF\x00\x00\x00\x00WEBP"],
)
def test_a_magic_number_with_rubbish_behind_it_is_a_damaged_file(magic: bytes):
    with pytest.raises(DamagedFileError):
        open_document(magic + b"rubbish" * 50, LoaderConfig()).close()


def test_a_damaged_frame_is_a_page_with_its_reason(save_image: Save):
    frames = [Image.new("L", (30, 20), 255)] * 2
    data = bytearray(
        save_image(frames[0], "TIFF", save_all=True, append_images=frames[1:], compression="tiff_lzw")
    )
    source = RasterSource(bytes(data), FileKind.TIFF, LIMITS)
    with pytest.raises(PageRenderError):
        source.draw(7)


def test_one_pixel_is_a_blank_page(save_image: Save):
    with open_document(save_image(Image.new("RGB", (1, 1), "white"), "PNG"), LoaderConfig()) as document:
        (page,) = document.pages()
    assert page.pixels.shape == (1, 1, 3)
    assert page.is_blank
