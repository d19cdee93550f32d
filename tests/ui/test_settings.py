"""Switches become settings; wrong combinations are explained; every word of the page has both languages."""

import json
import re
from dataclasses import replace

import pytest

from ocr_app.config import AppConfig
from ocr_app.errors import ConfigError
from ocr_app.ui.layout import STATIC, script
from ocr_app.ui.settings import PRESETS, Choices, complaint, preset
from ocr_app.ui.text import TEXTS, words

BASE = AppConfig()


def test_untouched_switches_give_the_settings_of_the_server():
    assert Choices.of(BASE).to_config(BASE, "sparse") == BASE


@pytest.mark.parametrize("name", PRESETS)
def test_presets_can_run(name: str):
    config = preset(name, BASE).to_config(BASE, "full")
    assert config.reader.mode == "full"
    assert config.sparsity.block_budget <= config.sparsity.candidate_blocks


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"chunk_pages": 2, "overlap_pages": 2}, "overlap_pages"),
        ({"sparsity_ratio": 1.5}, "sparsity_ratio"),
        ({"text_window": 0}, "text_window"),
        ({"dpi": 5000}, "dpi"),
        ({"kv_dtype": "float4"}, "kv_dtype"),
        ({"page_window": None}, "page_window"),
        ({"block_budget": 3.5}, "block_budget"),
    ],
)
def test_wrong_combinations_are_named_and_refused(change: dict, named: str):
    choices = replace(Choices.of(BASE), **change)
    assert named in complaint(choices, BASE)
    with pytest.raises(ConfigError, match=named):
        choices.to_config(BASE, "sparse")


def test_a_large_budget_brings_its_own_candidates():
    config = replace(Choices.of(BASE), block_budget=30).to_config(BASE, "sparse")
    assert config.sparsity.candidate_blocks == 40


def test_both_languages_have_every_word_with_the_same_places():
    for key, (english, chinese) in TEXTS.items():
        assert english, key
        assert chinese, key
        places = [sorted(re.findall(r"\{(\w+)\}", text)) for text in (english, chinese)]
        assert places[0] == places[1], key
    assert words("fr") == words("en")


def test_every_word_the_page_asks_for_exists():
    markup = "".join(path.read_text() for path in STATIC.glob("*.html"))
    asked = set(re.findall(r'data-t(?:-label|-placeholder)?="(\w+)"', markup)) | set(
        re.findall(r'say\("(\w+)"', script())
    )
    assert asked <= set(TEXTS), sorted(asked - set(TEXTS))


def test_english_in_the_markup_is_the_english_of_the_table():
    for path in STATIC.glob("*.html"):
        for key, text in re.findall(r'data-t="(\w+)"[^>]*>([^<]+)<', path.read_text()):
            if key != "language":
                assert text == TEXTS[key][0], f"{path.name}: {key}"


def test_the_page_names_no_outside_host():
    files = [*STATIC.glob("*.html"), *STATIC.glob("*.css"), *STATIC.glob("js/*.js")]
    hosts = [host for path in files for host in re.findall(r"https?://([\w.]+)", path.read_text())]
    assert set(hosts) <= {"www.w3.org"}  # the name of the SVG language, which is not fetched


def test_texts_travel_as_json():
    assert json.loads(json.dumps(TEXTS))["read"] == ["Read", "开始识别"]
