"""Blank pages are told from pages with the faintest legitimate text."""

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont

from ocr_app.document.blank import is_blank, is_dark

SIZE = (1240, 1754)  # A4 at 150 dpi


def page(paper: object = "white") -> Image.Image:
    return Image.new("RGB", SIZE, paper)


def with_text(
    image: Image.Image,
    fill: object,
    *,
    text: str = "Some words of text",
    size_pt: float = 10,
    dpi: float = 150,
) -> Image.Image:
    ImageDraw.Draw(image).text((200, 300), text, fill=fill, font=ImageFont.load_default(size_pt / 72 * dpi))
    return image


def scanned(image: Image.Image, noise: float = 4, num_specks: int = 40, speck: int = 3) -> np.ndarray:
    """Noise of a scanner, and specks of dust scattered over the page."""
    rng = np.random.default_rng(1)
    pixels = np.asarray(image).astype(np.float32) + rng.normal(0, noise, (SIZE[1], SIZE[0], 1))
    for x, y in zip(
        rng.integers(0, SIZE[0] - 9, num_specks), rng.integers(0, SIZE[1] - 9, num_specks), strict=True
    ):
        pixels[y : y + speck, x : x + speck] = 30
    return pixels.clip(0, 255).astype(np.uint8)


def test_white_paper_is_blank():
    assert is_blank(np.asarray(page()), 150)


def test_print_showing_through_at_four_percent_is_blank():
    show_through = page()
    for line in range(40):
        ImageDraw.Draw(show_through).text(
            (100, 60 + 40 * line), "Text of the other side " * 4, fill=(245, 245, 245)
        )
    assert is_blank(scanned(show_through, num_specks=0), 150)


def test_scanner_noise_and_specks_are_blank():
    assert is_blank(scanned(page((240, 236, 225))), 150)


@pytest.mark.parametrize("paper", ["black", (30, 60, 120), (250, 240, 200)])
def test_a_surface_of_one_colour_is_blank(paper: object):
    assert is_blank(np.asarray(page(paper)), 150)


def test_only_a_dark_surface_is_called_dark():
    assert is_dark(np.asarray(page("black")))
    assert not is_dark(np.asarray(page()))


@pytest.mark.parametrize("dpi", [96, 150, 200, 300])
@pytest.mark.parametrize("text", ["1", "7", "i", "Page 12"])
def test_a_lone_small_page_number_is_not_blank(dpi: int, text: str):
    assert not is_blank(np.asarray(with_text(page(), "black", text=text, size_pt=8, dpi=dpi)), dpi)


@pytest.mark.parametrize(
    ("paper", "ink"),
    [
        ("white", (190, 190, 190)),
        ("white", (255, 255, 0)),
        ("black", "white"),
        ((20, 40, 90), (200, 210, 255)),
    ],
)
def test_pale_and_inverted_text_is_not_blank(paper: object, ink: object):
    assert not is_blank(np.asarray(with_text(page(paper), ink)), 150)


@pytest.mark.parametrize("y", range(0, 300, 23))
def test_text_is_found_wherever_it_stands(y: int):
    image = page()
    ImageDraw.Draw(image).rectangle((600, y, 605, y + 5), fill="black")
    assert not is_blank(np.asarray(image), 150)


def test_random_noise_is_not_blank():
    assert not is_blank(np.random.default_rng(0).integers(0, 255, (300, 300, 3), np.uint8), 150)
