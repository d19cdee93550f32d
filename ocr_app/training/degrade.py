"""Make a clean page look scanned or copied: blur, noise, JPEG, contrast, show-through, few grey levels, a
slight turn.

Knows only pixels. The turn comes back as a matrix, so that boxes can follow.
"""

from dataclasses import dataclass

import numpy as np

STRENGTHS = {"none": 0.25, "light": 0.35, "medium": 0.28, "strong": 0.12}  # share of pages
MAX_SKEW_DEGREES = {"none": 0.0, "light": 0.3, "medium": 0.7, "strong": 1.0}


@dataclass(frozen=True, slots=True)
class _Amounts:
    """How much of each fault a strength may bring."""

    blur: float  # standard deviation in pixels
    noise: float  # standard deviation in grey levels
    contrast: float  # share of the range that may be lost
    show_through: float  # share of pages; its darkness follows
    jpeg: tuple[int, int]  # qualities
    reduced_levels: float  # share of pages that become black and white or four greys


AMOUNTS = {
    "light": _Amounts(0.5, 4, 0.15, 0.05, (70, 95), 0.05),
    "medium": _Amounts(0.8, 9, 0.3, 0.2, (45, 85), 0.15),
    "strong": _Amounts(1.1, 16, 0.45, 0.35, (25, 60), 0.3),
}


def degrade(
    pixels: np.ndarray, rng: np.random.Generator, strength: str | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """A worse copy of (H, W, 3) uint8 pixels, and the 2x3 matrix that takes old points (x, y, 1) to new ones.

    Without a strength one is drawn; "none" gives the same pixels back.
    """
    strength = strength or str(rng.choice(list(STRENGTHS), p=list(STRENGTHS.values())))
    if strength == "none":
        return pixels, np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    amounts = AMOUNTS[strength]
    image, matrix = _turn(pixels, rng.uniform(-1, 1) * MAX_SKEW_DEGREES[strength])
    image = image.astype(np.float32)
    if rng.random() < amounts.show_through:
        image = _show_through(image, rng.uniform(0.04, 0.16))
    image = _fade(image, rng, amounts.contrast)
    image = _blur(image, rng.uniform(0, amounts.blur))
    image += rng.normal(0, rng.uniform(0, amounts.noise), (*image.shape[:2], 1)).astype(np.float32)
    image = np.clip(image, 0, 255).astype(np.uint8)
    if rng.random() < amounts.reduced_levels:
        return _reduce_levels(image, rng), matrix
    return _jpeg(image, int(rng.integers(*amounts.jpeg))), matrix


def move_boxes(boxes: np.ndarray, matrix: np.ndarray) -> np.ndarray:
    """Upright boxes (N, 4) round the turned ones."""
    corners = boxes[:, [0, 1, 2, 1, 2, 3, 0, 3]].reshape(-1, 4, 2)
    moved = corners @ matrix[:, :2].T.astype(boxes.dtype) + matrix[:, 2].astype(boxes.dtype)
    return np.concatenate((moved.min(1), moved.max(1)), axis=1)


def _turn(pixels: np.ndarray, degrees: float) -> tuple[np.ndarray, np.ndarray]:
    import cv2

    height, width = pixels.shape[:2]
    matrix = cv2.getRotationMatrix2D((width / 2, height / 2), degrees, 1.0)
    paper = tuple(
        float(value) for value in np.median(pixels.reshape(-1, 3)[:: max(pixels.size // 30_000, 1)], axis=0)
    )
    return cv2.warpAffine(pixels, matrix, (width, height), flags=cv2.INTER_LINEAR, borderValue=paper), matrix


def _show_through(image: np.ndarray, darkness: float) -> np.ndarray:
    """The back of the sheet: the page itself, mirrored and blurred."""
    import cv2

    back = cv2.GaussianBlur(image[:, ::-1], (0, 0), 2.0)
    return image - (255 - back) * darkness


def _fade(image: np.ndarray, rng: np.random.Generator, most: float) -> np.ndarray:
    """Ink gets lighter, paper darker and, now and then, yellowish; one side is lit less."""
    black, white = 255 * rng.uniform(0, most * 0.6), 255 * (1 - rng.uniform(0, most * 0.5))
    image = black + image * ((white - black) / 255)
    if rng.random() < 0.4:
        image *= np.array([1.0, rng.uniform(0.95, 1.0), rng.uniform(0.82, 1.0)], np.float32)
    light = np.linspace(1.0, 1.0 - rng.uniform(0, most * 0.4), image.shape[1], dtype=np.float32)
    return image * (light if rng.random() < 0.5 else light[::-1])[None, :, None]


def _blur(image: np.ndarray, sigma: float) -> np.ndarray:
    import cv2

    return cv2.GaussianBlur(image, (0, 0), sigma) if sigma > 0.15 else image


def _reduce_levels(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Black and white, or four greys, as fax machines and old scanners save pages."""
    import cv2

    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    if rng.random() < 0.6:
        threshold, _ = cv2.threshold(grey, 0, 255, cv2.THRESH_OTSU)
        grey = np.where(grey > threshold + rng.uniform(-10, 30), 255, 0).astype(np.uint8)
    else:
        grey = (np.round(grey / 85.0) * 85).astype(np.uint8)
    return np.repeat(grey[:, :, None], 3, axis=2)


def _jpeg(image: np.ndarray, quality: int) -> np.ndarray:
    import cv2

    done, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, quality])
    assert done
    return np.ascontiguousarray(cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1])
