"""Pages of an image file, decoded by Pillow. Runs in the renderer only: it parses bytes that may be hostile.

A TIFF has a page for every frame; of an animation only the first frame is a page. Images keep their own
resolution up to the pixel limit.
"""

import io
import math

import numpy as np
from PIL import Image, ImageFile, ImageOps, UnidentifiedImageError

from ocr_app.document.drawing import Drawing, Limits, fitting_scale
from ocr_app.document.sniff import FileKind
from ocr_app.errors import DamagedFileError, PageRenderError, TooLargeError

ASSUMED_DPI = 150
_DPI_RANGE = (36, 2400)
_BYTES_PER_PIXEL = {"1": 2, "L": 2}  # the decoded image and one converted copy
_MOST_BYTES_PER_PIXEL = 8
_ORIENTATION_TAG = 0x0112
_ROTATION = {3: 180, 4: 180, 5: 90, 6: 90, 7: 270, 8: 270}  # clockwise, from the EXIF orientation


class RasterSource:
    """An open image file."""

    is_repaired = False

    def __init__(self, source: bytes | str, kind: FileKind, limits: Limits) -> None:
        # our own limit, in bytes of memory, is checked per frame below; Pillow's would refuse honest A0 scans
        Image.MAX_IMAGE_PIXELS = None
        self._limits = limits
        self._image = _open(source, kind)
        num_frames = getattr(self._image, "n_frames", 1)
        self.page_count = num_frames if kind is FileKind.TIFF else 1
        self.notes = (
            ()
            if self.page_count == num_frames
            else (f"Only the first of {num_frames} pictures in the file is read.",)
        )
        self._check_size(TooLargeError)

    def draw(self, page_index: int) -> Drawing:
        try:
            self._image.seek(page_index)
        except (EOFError, OSError, SyntaxError) as error:
            raise PageRenderError("this frame of the image file is damaged") from error
        self._check_size(PageRenderError)
        dpi, notes = _resolution(self._image)
        stored_width = self._image.width
        image, was_cut = self._decode()
        pixels, rotation = _upright_rgb(image, self._limits.max_pixels)
        # dpi follows the reduction, measured on the side that was the stored width
        width_now = pixels.shape[0] if rotation in (90, 270) else pixels.shape[1]
        reduced_dpi = dpi * width_now / stored_width
        if reduced_dpi < dpi * 0.999:
            notes += (
                (
                    f"The image is large: reduced from {dpi:.3g} to {reduced_dpi:.3g} dpi to stay within the "
                    "pixel limit."
                ),
            )
        height_px, width_px = pixels.shape[:2]
        return Drawing(
            pixels,
            reduced_dpi,
            rotation,
            notes,
            width_px / reduced_dpi * 72,
            height_px / reduced_dpi * 72,
            is_partial=was_cut,
        )

    def _check_size(self, error_class: type[TooLargeError] | type[PageRenderError]) -> None:
        width, height = self._image.size
        max_pixels = self._limits.memory_bytes // _BYTES_PER_PIXEL.get(
            self._image.mode, _MOST_BYTES_PER_PIXEL
        )
        if width * height > max_pixels:
            raise error_class(
                f"The image is {width} x {height} pixels ({width * height / 1e6:.0f} megapixels); "
                f"the renderer's memory allows {max_pixels / 1e6:.0f}. "
                "Reduce the image, or raise loader.renderer_memory_bytes."
            )

    def _decode(self) -> tuple[Image.Image, bool]:
        """Decode the current frame, as a smaller one where JPEG allows it. Returns it and whether its end is
        missing.
        """
        image = self._image
        if image.format == "JPEG":
            fit = fitting_scale(*image.size, self._limits.max_pixels)
            image.draft(None, (math.ceil(image.width * fit), math.ceil(image.height * fit)))
        try:
            image.load()
            return image, False
        except (OSError, SyntaxError, ValueError):
            return self._decode_what_is_there(), True

    def _decode_what_is_there(self) -> Image.Image:
        ImageFile.LOAD_TRUNCATED_IMAGES = True
        try:
            self._image.load()
            return self._image
        except (OSError, SyntaxError, ValueError) as error:
            raise PageRenderError("the image data is damaged") from error
        finally:
            ImageFile.LOAD_TRUNCATED_IMAGES = False


def _open(source: bytes | str, kind: FileKind) -> Image.Image:
    try:
        return Image.open(io.BytesIO(source) if isinstance(source, bytes) else source, formats=[kind.value])
    except (UnidentifiedImageError, OSError, SyntaxError, ValueError) as error:
        raise DamagedFileError(
            f"The file starts like a {kind.value} image, but is damaged: 0 pages could be read. Save or "
            "download it again."
        ) from error


def _resolution(image: Image.Image) -> tuple[float, tuple[str, ...]]:
    """The dpi the file states, or an assumed one and a note that says so."""
    try:
        dpi = float(image.info["dpi"][0])
    except (KeyError, IndexError, TypeError, ValueError, ZeroDivisionError):
        dpi = 0.0
    if _DPI_RANGE[0] <= dpi <= _DPI_RANGE[1]:
        return dpi, ()
    return float(ASSUMED_DPI), (f"The image states no usable resolution: {ASSUMED_DPI} dpi assumed.",)


def _upright_rgb(image: Image.Image, max_pixels: int) -> tuple[np.ndarray, int]:
    """Reduced to the pixel limit, as RGB over white, turned upright. Returns pixels and the clockwise
    rotation applied.
    """
    orientation = image.getexif().get(_ORIENTATION_TAG, 1)
    image = _reduced(_eight_bit(image), max_pixels)
    image = _over_white(image)
    if orientation != 1:
        image.getexif()[_ORIENTATION_TAG] = orientation  # conversions may lose it
        image = ImageOps.exif_transpose(image)
    return np.ascontiguousarray(image), _ROTATION.get(orientation, 0)


def _eight_bit(image: Image.Image) -> Image.Image:
    """Deep grey images, which Pillow would clip at 255, with their range spread over 8 bits."""
    if not (image.mode.startswith("I") or image.mode == "F"):
        return image
    values = np.asarray(image, np.float32)
    values = np.nan_to_num(values, nan=0.0, posinf=0.0, neginf=0.0)
    low, high = min(0.0, float(values.min())), float(values.max())
    if image.mode != "F" and high <= 65535:
        high = 65535.0 if high > 255 else 255.0
    return Image.fromarray(((values - low) * (255 / max(high - low, 1e-6))).astype(np.uint8))


def _reduced(image: Image.Image, max_pixels: int) -> Image.Image:
    fit = fitting_scale(*image.size, max_pixels)
    if fit == 1:
        return image
    if image.mode in ("1", "P", "PA"):
        image = image.convert("L" if image.mode == "1" else "RGBA")
    size = max(1, int(image.width * fit)), max(1, int(image.height * fit))
    return image.resize(size, Image.Resampling.BOX, reducing_gap=2.0)


def _over_white(image: Image.Image) -> Image.Image:
    """As RGB; whatever is transparent shows white paper."""
    if image.mode in ("LA", "PA", "RGBA", "La", "RGBa") or "transparency" in image.info:
        image = image.convert("RGBA")
        paper = Image.new("RGBA", image.size, "white")
        return Image.alpha_composite(paper, image).convert("RGB")
    return image if image.mode == "RGB" else image.convert("RGB")
