"""The pages of one job on disk: records, pictures and thumbnails, so that a long document does not fill
memory.

The folder is the job's own and goes with it. A lasting store can take this place: the rest of `ui` calls only
these methods.
"""

import base64
import pickle
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from ocr_app.types import Box, PageImage, PageResult, Run

if TYPE_CHECKING:
    import numpy as np

PICTURE_SIDE_PX = 1000
THUMB_SIDE_PX = 96


class PageStore:
    """Writes each page once; reads any page back."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="longscribe-"))

    def save_picture(self, image: PageImage, runs: tuple[Run, ...], figures: tuple[Box, ...] = ()) -> None:
        """Keep the page image as a JPEG with the boxes of its runs, a thumbnail, and what the page has of
        pictures in full size.
        """
        picture, scale = _jpeg(image.pixels, PICTURE_SIDE_PX)
        boxes = [tuple(round(side * scale) for side in run.box) for run in runs]
        self._write(f"{image.page_index}.jpg", picture)
        self._write(f"{image.page_index}.thumb.jpg", _jpeg(image.pixels, THUMB_SIDE_PX)[0])
        size = (round(image.width_px * scale), round(image.height_px * scale))
        self._write(f"{image.page_index}.boxes", pickle.dumps((size, boxes)))

        for place, (x0, y0, x1, y1) in enumerate(figures):
            crop = image.pixels[int(y0) : max(int(y1), int(y0) + 1), int(x0) : max(int(x1), int(x0) + 1)]
            self._write(f"{image.page_index}.{place:03d}.figure", _jpeg(crop, max(crop.shape))[0])

    def save_result(self, result: PageResult) -> None:
        self._write(f"{result.page_index}.page", pickle.dumps(result))

    def picture(self, page_index: int) -> tuple[str, tuple[int, int], list[Box]] | None:
        """Data address, size and boxes of a page image; None for a page that was never drawn."""
        data = self._read(f"{page_index}.jpg")
        if data is None:
            return None
        # the folder is private to this process and holds only what it wrote itself
        size, boxes = pickle.loads((self.folder / f"{page_index}.boxes").read_bytes())
        return _data_address(data), size, boxes

    def thumbnail(self, page_index: int) -> str | None:
        data = self._read(f"{page_index}.thumb.jpg")
        return _data_address(data) if data else None

    def result(self, page_index: int) -> PageResult | None:
        data = self._read(f"{page_index}.page")
        return pickle.loads(data) if data else None

    def results(self) -> Iterator[PageResult]:
        """All records in page order, one in memory at a time."""
        for page_index in sorted(int(path.stem) for path in self.folder.glob("*.page")):
            result = self.result(page_index)
            if result:
                yield result

    __iter__ = results

    def figures(self) -> dict[int, list[bytes]]:
        """JPEGs of the pictures on each page that has any, by page index."""
        found: dict[int, list[bytes]] = {}
        for path in sorted(self.folder.glob("*.figure")):
            found.setdefault(int(path.name.split(".")[0]), []).append(path.read_bytes())
        return dict(sorted(found.items()))

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _write(self, name: str, data: bytes) -> None:
        # readers are in other threads: a file is there whole or not at all
        part = self.folder / f"{name}.part"
        part.write_bytes(data)
        part.rename(self.folder / name)

    def _read(self, name: str) -> bytes | None:
        try:
            return (self.folder / name).read_bytes()
        except FileNotFoundError:
            return None


def _jpeg(pixels: "np.ndarray", max_side_px: int) -> tuple[bytes, float]:
    """The image as JPEG, no side longer than asked, and the scale it was reduced by."""
    import cv2

    height, width = pixels.shape[:2]
    scale = min(1.0, max_side_px / max(height, width))
    size = (max(1, round(width * scale)), max(1, round(height * scale)))
    reduced = cv2.resize(pixels, size, interpolation=cv2.INTER_AREA) if scale < 1 else pixels
    is_encoded, data = cv2.imencode(
        ".jpg", cv2.cvtColor(reduced, cv2.COLOR_RGB2BGR), [cv2.IMWRITE_JPEG_QUALITY, 80]
    )
    assert is_encoded, "JPEG encoding of an 8-bit RGB array cannot fail"
    return data.tobytes(), scale


def _data_address(jpeg: bytes) -> str:
    return "data:image/jpeg;base64," + base64.b64encode(jpeg).decode()
