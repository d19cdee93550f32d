"""The visual encoder with its real weights, on small real pages."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from ocr_app.bench.metrics import word_f1
from ocr_app.config import EncoderConfig
from ocr_app.errors import ModelMissingError
from ocr_app.models.embedded import weights
from ocr_app.models.embedded.encoder import VisualEncoder
from ocr_app.models.embedded.recogniser import (
    LINE_HEIGHT_PX,
    MAX_WIDTH_PX,
    LineRecogniser,
    ReadLine,
    cut_wide_crop,
)
from ocr_app.models.embedded.reuse import LineStore, crop_key, read_reusing
from ocr_app.models.embedded.rows import group_rows
from ocr_app.models.embedded.upright import skew_degrees, straighten_page, turn_page
from ocr_app.types import EncodedPage, PageImage

DATA = Path(__file__).parents[1] / "data" / "encoder"
PARAGRAPH = """\
(2) Purpose: This IRM section provides the instructions for the use of Integrated
Data Retrieval System (IDRS) command code BMFOL to display the BMF
(Business Master File) data.
(3) Audience: Wage & Investment (W&l), Large Business and International
(LB&l), Small Business Self-Employed (SB/SE), Tax Exempt and Government
Entities (TE/GE)."""  # small l for I: what the network sees


def as_page(pixels: np.ndarray, dpi: float = 150) -> PageImage:
    height, width = pixels.shape[:2]
    return PageImage(0, pixels, dpi, width * 72 / dpi, height * 72 / dpi)


@pytest.fixture(scope="module")
def page() -> PageImage:
    grey = cv2.imread(str(DATA / "irm-paragraph.png"), cv2.IMREAD_GRAYSCALE)
    return as_page(np.repeat(grey[:, :, None], 3, axis=2))


@pytest.fixture(scope="module")
def encoder() -> VisualEncoder:
    return VisualEncoder(EncoderConfig(threads=1, reuse=False))


@pytest.fixture(scope="module")
def encoded(encoder: VisualEncoder, page: PageImage) -> EncodedPage:
    return encoder.encode(page)


@pytest.fixture(scope="module")
def recogniser() -> LineRecogniser:
    return LineRecogniser(
        *(weights.asset(name) for name in ("rec.onnx", "classifier.npz", "characters.txt")), threads=1
    )


def rows_of(encoded: EncodedPage) -> str:
    """The text by rows: lines that stand side by side are one row."""
    rows = group_rows([line.box for line in encoded.lines])
    return "\n".join(" ".join(encoded.line_text(encoded.lines[index]) for index in row) for row in rows)


def test_text_of_a_printed_paragraph_is_exact(encoded: EncodedPage):
    assert rows_of(encoded) == PARAGRAPH


def test_lines_and_runs_refer_to_each_other(encoded: EncodedPage):
    assert encoded.features.shape == (len(encoded.runs), 240)
    assert encoded.features.dtype == np.float32
    for index, line in enumerate(encoded.lines):
        runs = encoded.runs[line.first_run : line.first_run + line.num_runs]
        assert [(run.line_index, run.place_in_line) for run in runs] == [
            (index, place) for place in range(line.num_runs)
        ]
    assert sum(line.num_runs for line in encoded.lines) == len(encoded.runs)


def test_run_boxes_lie_in_their_lines_in_order(encoded: EncodedPage):
    for run in encoded.runs:
        left, top, right, bottom = encoded.lines[run.line_index].box
        assert left <= run.box[0] < run.box[2] <= right
        assert top <= run.box[1] < run.box[3] <= bottom
    for before, after in zip(encoded.runs, encoded.runs[1:], strict=False):
        assert before.line_index != after.line_index or before.box[2] <= after.box[0]


def test_run_boxes_cover_the_ink_and_leave_out_the_gaps(encoded: EncodedPage):
    is_ink = encoded.image.pixels.min(axis=2) < 128
    is_boxed = np.zeros_like(is_ink)
    for run in encoded.runs:
        left, top, right, bottom = (round(edge) for edge in run.box)
        is_boxed[top:bottom, left:right] = True
        columns = is_ink[top:bottom, left:right].any(axis=0)
        assert columns[:6].any(), f"{run.text!r} begins with paper"
        assert columns[-6:].any(), f"{run.text!r} ends with paper"
    assert (is_ink & is_boxed).sum() / is_ink.sum() > 0.995


def test_reuse_changes_nothing_and_counts_its_hits(page: PageImage, encoded: EncodedPage):
    reusing = VisualEncoder(EncoderConfig(threads=1, reuse=True, reuse_entries=77))
    first, second = reusing.encode(page), reusing.encode(page)
    num_lines = len(encoded.lines)
    assert (encoded.num_reuse_hits, encoded.num_reuse_lookups) == (0, 0)
    assert (first.num_reuse_hits, first.num_reuse_lookups) == (0, num_lines)
    assert (second.num_reuse_hits, second.num_reuse_lookups) == (num_lines, num_lines)
    for other in (first, second):
        assert other.runs == encoded.runs
        assert np.array_equal(other.features, encoded.features)


def random_crops(num_crops: int) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [
        random.integers(0, 255, (LINE_HEIGHT_PX, int(random.integers(8, 90)), 3), np.uint8)
        for _ in range(num_crops)
    ]


def test_a_crop_reads_the_same_alone_and_in_company(
    recogniser: LineRecogniser, encoded: EncodedPage, page: PageImage
):
    left, top, right, bottom = (int(edge) for edge in encoded.lines[1].box)
    line = cv2.resize(page.pixels[top:bottom, left:right], (800, LINE_HEIGHT_PX))
    crops = [line, *random_crops(5), line[:, :790], line[:, :770]]
    for crop, together in zip(crops, recogniser.read(crops), strict=True):
        (alone,) = recogniser.read([crop])
        assert alone.characters == together.characters
        # Matrix products of other sizes may round the last bit otherwise.
        np.testing.assert_allclose(alone.features, together.features, atol=1e-4)


def test_equal_crops_are_read_once_and_others_never_taken_for_them(recogniser: LineRecogniser):
    crops = random_crops(4)
    nearly = crops[0].copy()
    nearly[0, 0, 0] ^= 1
    num_read = []

    def read(asked: list[np.ndarray]) -> list:
        num_read.append(len(asked))
        return recogniser.read(asked)

    lines, num_hits = read_reusing(LineStore(100), read, [*crops, crops[0], nearly])
    assert (num_read, num_hits) == ([5], 1)
    assert lines[4] is lines[0]
    assert lines[5] is not lines[0]
    assert crop_key(crops[0]) != crop_key(crops[0].reshape(crops[0].shape[1], LINE_HEIGHT_PX, 3))


def test_the_store_drops_the_least_recently_used(recogniser: LineRecogniser):
    crops, store = random_crops(3), LineStore(2)
    for crop in (crops[0], crops[1], crops[0], crops[2]):
        read_reusing(store, recogniser.read, [crop])
    assert len(store) == 2
    assert [bool(store.find([crop_key(crop)])) for crop in crops] == [True, False, True]


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_a_turned_page_is_read_as_the_upright_one(
    encoder: VisualEncoder, page: PageImage, encoded: EncodedPage, turn: int
):
    found = encoder.encode(turn_page(page, turn))
    assert found.image.turn == 0  # turned there and back
    assert np.array_equal(found.image.pixels, page.pixels)
    assert found.runs == encoded.runs


@pytest.mark.parametrize("degrees", [-5.0, 3.0])
def test_a_skewed_page_is_straightened(encoder: VisualEncoder, page: PageImage, degrees: float):
    skewed = straighten_page(page, -degrees)
    found = encoder.encode(skewed)
    assert found.image.skew - skewed.skew == pytest.approx(degrees, abs=0.4)
    assert word_f1(PARAGRAPH, rows_of(found)) > 0.95  # turning softens the image: an l may become a 1


def test_an_upright_page_is_left_as_it_is(encoded: EncodedPage, page: PageImage):
    assert encoded.image is page


def test_straightening_can_be_switched_off(page: PageImage):
    turned = turn_page(page, 180)
    found = VisualEncoder(EncoderConfig(threads=1, reuse=False, straighten=False)).encode(turned)
    assert found.image is turned


def test_short_lines_do_not_decide_the_skew():
    tilted = np.array([[[0, 0], [40, 4], [40, 24], [0, 20]]], np.float32)
    assert skew_degrees(tilted) == 0.0
    level = np.array([[[0, 50], [900, 50], [900, 74], [0, 74]]], np.float32)
    assert skew_degrees(np.concatenate([tilted, level, tilted])) == 0.0


@pytest.mark.parametrize("shape", [(1, 1), (1, 400), (400, 1), (300, 200)])
def test_a_page_without_text_has_no_lines(encoder: VisualEncoder, shape: tuple[int, int]):
    found = encoder.encode(as_page(np.full((*shape, 3), 255, np.uint8)))
    assert (found.lines, found.runs, found.features.shape) == ((), (), (0, 240))


def text_of(line: ReadLine) -> str:
    return "".join(line.text_of(span) + " " * span.has_space_after for span in line.spans)


def test_a_line_too_wide_for_the_network_is_read_in_pieces_cut_between_words(
    recogniser: LineRecogniser, page: PageImage
):
    line = cv2.resize(page.pixels[18:44, 64:790], (1340, LINE_HEIGHT_PX))
    space = np.full((LINE_HEIGHT_PX, 30, 3), 255, np.uint8)
    wide = np.concatenate([line, space] * 4, axis=1)
    assert all(piece.shape[1] <= MAX_WIDTH_PX for _, piece in cut_wide_crop(wide))
    whole, (single,) = recogniser.read([wide])[0], recogniser.read([line])
    assert text_of(whole) == " ".join([text_of(single)] * 4)


def test_weights_that_are_not_the_expected_ones_are_refused(tmp_path: Path):
    path = tmp_path / "rec.onnx"
    with pytest.raises(ModelMissingError, match=r"rec\.onnx are missing; restore them"):
        weights.check_sha256(path, "0" * 64, "restore them")
    path.write_bytes(b"not a network")
    with pytest.raises(ModelMissingError, match=r"rec\.onnx have sha256 .*; restore them") as error:
        weights.check_sha256(path, "0" * 64, "restore them")
    assert str(tmp_path) not in str(error.value)


def test_the_accurate_encoder_reads_the_paragraph_with_features_of_the_same_size(page: PageImage):
    found = VisualEncoder(EncoderConfig(threads=1, quality="small", reuse=False)).encode(page)
    assert rows_of(found).replace("W&I", "W&l").replace("LB&I", "LB&l") == PARAGRAPH
    assert found.features.shape == (len(found.runs), 240)
