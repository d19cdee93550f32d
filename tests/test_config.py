"""Settings: one precedence, unknown names refused with the nearest one, types checked, the serving guide's
file accepted as it is.
"""

from dataclasses import replace
from pathlib import Path

import pytest

from ocr_app.config import AppConfig, LoaderConfig
from ocr_app.config_sources import ENV_NAMES, KINDS, load_config
from ocr_app.errors import ConfigError, ModelMissingError
from ocr_app.models.base import open_reader

GUIDE_FILE = """
model:
  type: unlimited-ocr-2
  weight_path: /models/Unlimited-OCR-2
inference:
  sr_swa:
    window_size: 48
    sparsity_ratio: 0.2
  continuous_decode:
    enabled: true
    chunk_size: 4
  max_pages: 2048
server:
  host: 0.0.0.0
  port: 8080
  log_level: INFO
"""


@pytest.fixture
def yaml_file(tmp_path: Path):
    def write(text: str) -> Path:
        path = tmp_path / "settings.yaml"
        path.write_text(text)
        return path

    return write


def test_no_source_gives_the_defaults():
    assert load_config({}, {"HOME": "/root"}) == AppConfig()


def test_command_line_wins_over_environment_over_yaml_over_default(yaml_file):
    path = yaml_file("loader: {dpi: 100, max_pages: 10, max_pixels: 20000}")
    config = load_config(
        {"loader.dpi": "300"}, {"OCR_APP_LOADER_DPI": "200", "OCR_APP_LOADER_MAX_PAGES": "20"}, path
    )
    assert config.loader == replace(AppConfig().loader, dpi=300, max_pages=20, max_pixels=20000)


def test_every_setting_can_be_set_from_the_environment():
    assert set(ENV_NAMES.values()) == set(KINDS)
    config = load_config(
        {},
        {
            "OCR_APP_SPARSITY_TEXT_WINDOW": "64",
            "OCR_APP_REUSE": "off",
            "OCR_APP_SPARSITY_MAX_RESIDENT_BLOCKS": "auto",
        },
    )
    assert config.sparsity.text_window == 64
    assert config.encoder.reuse is False
    assert config.sparsity.max_resident_blocks is None


def test_the_full_environment_name_wins_over_the_short_one():
    assert load_config({}, {"OCR_APP_LOADER_DPI": "72", "OCR_APP_DPI": "90"}).loader.dpi == 72


def test_the_serving_guide_file_is_accepted_as_written(yaml_file):
    config = load_config({}, {}, yaml_file(GUIDE_FILE))
    assert config.reader.model == "unlimited_ocr2"
    assert config.reader.weight_path == "/models/Unlimited-OCR-2"
    assert config.reader.mode == "sparse"
    assert (config.sparsity.page_window, config.sparsity.sparsity_ratio, config.sparsity.chunk_pages) == (
        48,
        0.2,
        4,
    )
    assert config.loader.max_pages == 2048
    assert (config.server.host, config.server.port, config.server.log_level) == ("0.0.0.0", 8080, "info")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("unlimited_ocr_v2", "unlimited_ocr2"),
        ("unlimited-ocr-v2", "unlimited_ocr2"),
        ("Unlimited-OCR-2", "unlimited_ocr2"),
        ("baidu/Unlimited-OCR", "unlimited_ocr"),
        ("DeepSeek-OCR-2", "deepseek_ocr2"),
        ("Plain", "plain"),
    ],
)
def test_a_model_is_found_however_it_is_written(yaml_file, written: str, name: str):
    for text in (f"model: {written}", f"model: {{type: {written}}}", f"reader: {{model: {written}}}"):
        assert load_config({}, {}, yaml_file(text)).reader.model == name
    assert load_config({"reader.model": written}, {}).reader.model == name
    assert load_config({}, {"OCR_APP_MODEL": written}).reader.model == name


def test_a_known_model_that_is_not_here_is_missing_and_no_wrong_setting(yaml_file):
    config = load_config({}, {}, yaml_file("model: unlimited_ocr_v2"))
    with pytest.raises(ModelMissingError, match=r"unlimited_ocr2.*embedded, plain"):
        open_reader(config)


def test_continuous_decode_off_means_full_attention(yaml_file):
    assert (
        load_config({}, {}, yaml_file("inference: {continuous_decode: {enabled: false}}")).reader.mode
        == "full"
    )


def test_guide_and_own_sections_mix_but_not_twice_for_one_setting(yaml_file):
    config = load_config({}, {}, yaml_file("inference: {max_pages: 9}\nloader: {dpi: 90}\nencoder:\n"))
    assert (config.loader.max_pages, config.loader.dpi) == (9, 90)
    with pytest.raises(ConfigError, match="sets twice"):
        load_config({}, {}, yaml_file("inference: {max_pages: 9}\nloader: {max_pages: 9}"))


def test_the_file_can_be_named_in_the_environment(yaml_file):
    path = yaml_file("loader: {dpi: 91}")
    assert load_config({}, {"OCR_APP_CONFIG": str(path)}).loader.dpi == 91


@pytest.mark.parametrize(
    ("cli", "environ", "text", "words"),
    [
        ({"loader.dip": 1}, {}, "", ["loader.dip", "command line", "loader.dpi"]),
        ({}, {"OCR_APP_LOADER_DIP": "1"}, "", ["OCR_APP_LOADER_DIP", "environment", "OCR_APP_LOADER_DPI"]),
        ({}, {}, "loader: {dip: 1}", ["loader.dip", "settings.yaml", "loader.dpi"]),
        (
            {},
            {},
            "inference: {sr_swa: {windowsize: 1}}",
            ["inference.sr_swa.windowsize", "inference.sr_swa.window_size"],
        ),
        ({}, {}, "servr: {port: 1}", ["servr.port", "server.port"]),
        ({"loader.dpi": "many"}, {}, "", ["loader.dpi", "'many'", "command line", "whole number"]),
        ({"loader.dpi": True}, {}, "", ["loader.dpi", "True", "whole number"]),
        ({}, {"OCR_APP_DPI": "20"}, "", ["loader.dpi", "20", "between 36 and 600", "OCR_APP_DPI"]),
        ({}, {}, "sparsity: {sparsity_ratio: 1.5}", ["sparsity.sparsity_ratio", "1.5", "settings.yaml"]),
        ({}, {}, "encoder: {reuse: maybe}", ["encoder.reuse", "'maybe'", "true or false"]),
        (
            {},
            {},
            "inference: {continuous_decode: {enabled: 3}}",
            ["continuous_decode.enabled", "true or false"],
        ),
        ({}, {}, "loader: 5", ["loader", "settings.yaml"]),
        ({}, {}, "just words", ["settings.yaml", "sections"]),
        ({}, {}, "a: [1", ["settings.yaml", "not valid YAML"]),
        ({"server.port": 70000}, {}, "", ["server.port", "70000", "65535"]),
        ({"sparsity.relevance_threshold": "nan"}, {}, "", ["relevance_threshold", "nan"]),
        ({"sparsity.chunk_pages": 1}, {}, "", ["overlap_pages", "chunk_pages (1)", "default"]),
    ],
)
def test_a_refused_setting_is_named_with_its_value_and_source(cli, environ, text, words, yaml_file):
    with pytest.raises(ConfigError) as caught:
        load_config(cli, environ, yaml_file(text))
    for word in words:
        assert word in str(caught.value)


def test_a_value_out_of_range_names_its_setting_whatever_the_message_says(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(LoaderConfig, "__post_init__", lambda self: refuse("Too fine", setting="dpi"))
    with pytest.raises(ConfigError) as caught:
        load_config({"loader.dpi": 90}, {})
    assert caught.value.setting == "loader.dpi"
    assert "(command line)" in str(caught.value)


def refuse(message: str, setting: str) -> None:
    raise ConfigError(message, setting)


def test_a_missing_file_is_named_without_its_folder(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"missing\.yaml") as caught:
        load_config({}, {}, tmp_path / "missing.yaml")
    assert str(tmp_path) not in str(caught.value)
