"""The encoder bench: its two metrics, and that rapidocr is given the very recogniser that was cut."""

from pathlib import Path

import numpy as np
import pytest

from ocr_app.bench.encoder import write_whole_recogniser
from ocr_app.bench.metrics import character_error_rate, normalise, word_f1
from ocr_app.models.embedded.recogniser import LineRecogniser, network_input
from ocr_app.models.embedded.weights import asset, open_network


@pytest.mark.parametrize(
    ("truth", "text", "rate"),
    [
        ("abcd", "abcd", 0),
        ("abcd", "abxd", 0.25),
        ("abcd", "", 1),
        ("", "", 0),
        ("", "x", 1),
        ("a  b\n", "a b", 0),
        ("“a”–b", '"a"-b', 0),
    ],
)
def test_character_error_rate(truth: str, text: str, rate: float):
    assert character_error_rate(truth, text) == rate


@pytest.mark.parametrize(
    ("truth", "text", "f1"),
    [
        ("a b c", "c b a", 1),
        ("a b c d", "a b x y", 0.5),
        ("a a", "a", 2 / 3),
        ("", "", 1),
        ("a", "", 0),
        ("中文 字", "字中文", 1),
    ],
)
def test_word_f1_does_not_see_the_order(truth: str, text: str, f1: float):
    assert word_f1(truth, text) == pytest.approx(f1)


def test_spaces_beside_chinese_do_not_count_and_spaces_between_words_do():
    assert normalise("中 文 Debian  wiki 文") == "中文Debian wiki文"


def test_the_whole_recogniser_says_what_the_cut_one_and_its_classifier_say(tmp_path: Path):
    write_whole_recogniser(tmp_path / "rec.onnx")
    crop = np.random.default_rng(0).integers(0, 255, (48, 160, 3), np.uint8)
    crop[:, 40:60] = 255
    (probabilities,) = open_network(tmp_path / "rec.onnx", 1).run(None, {"x": network_input([crop])})[0]
    ours = LineRecogniser(asset("rec.onnx"), asset("classifier.npz"), asset("characters.txt"), 1).read_batch(
        [crop]
    )[0]
    assert (probabilities.argmax(axis=1)[ours.places] == ours.classes).all()
    np.testing.assert_allclose(probabilities.max(axis=1)[ours.places], ours.probabilities, atol=1e-4)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1, atol=1e-3)
