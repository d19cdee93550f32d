"""Where settings come from: command line, then environment, then a YAML file, then the defaults of `config`.

A setting is named `section.key` everywhere; in the environment `OCR_APP_SECTION_KEY`. A YAML file may hold
our own sections, the serving file of SR-SWA guides (`model`, `inference`, `server`), or both. Unknown names
are refused, with the nearest name that exists.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

from ocr_app.config import AppConfig
from ocr_app.errors import ConfigError

ENV_PREFIX = "OCR_APP_"
ENV_CONFIG_FILE = "OCR_APP_CONFIG"  # the YAML file, where the command line names none

SECTIONS: dict[str, type] = get_type_hints(AppConfig)
KINDS: dict[str, Any] = {
    f"{name}.{key}": kind
    for name, section in SECTIONS.items()
    for key, kind in get_type_hints(section).items()
}

# the settings most often changed, under short names
ENV_SHORT = {
    "OCR_APP_MODEL": "reader.model",
    "OCR_APP_MODE": "reader.mode",
    "OCR_APP_DEVICE": "reader.device",
    "OCR_APP_KV_DTYPE": "reader.kv_dtype",
    "OCR_APP_ENCODER": "encoder.quality",
    "OCR_APP_REUSE": "encoder.reuse",
    "OCR_APP_DPI": "loader.dpi",
    "OCR_APP_HOST": "server.host",
    "OCR_APP_PORT": "server.port",
    "OCR_APP_LOG_LEVEL": "server.log_level",
}
ENV_NAMES = {f"{ENV_PREFIX}{key.replace('.', '_').upper()}": key for key in KINDS} | ENV_SHORT


@dataclass(frozen=True, slots=True)
class _Setting:
    """A value and the place it was given, for messages."""

    value: Any
    source: str


def load_config(
    cli: Mapping[str, Any], environ: Mapping[str, str], yaml_path: Path | None = None
) -> AppConfig:
    """Build the settings. `cli` maps `section.key` to a value. Raises ConfigError naming key, value and
    source.
    """
    yaml_path = yaml_path or (Path(environ[ENV_CONFIG_FILE]) if environ.get(ENV_CONFIG_FILE) else None)
    settings = _from_yaml(yaml_path) if yaml_path else {}
    settings |= _from_environment(environ)
    settings |= _from_command_line(cli)
    return AppConfig(**{name: _section(name, section, settings) for name, section in SECTIONS.items()})


def _section(name: str, section: type, settings: Mapping[str, _Setting]) -> Any:
    """One section's dataclass; a value out of range is reported with the place it came from."""
    given = {
        field.name: settings[f"{name}.{field.name}"]
        for field in fields(section)
        if f"{name}.{field.name}" in settings
    }
    try:
        return section(**{key: setting.value for key, setting in given.items()})
    except ConfigError as error:
        key = error.setting or ""
        source = given[key].source if key in given else "default"
        raise ConfigError(f"{name}.{error} ({source})", setting=f"{name}.{key}") from None


def _from_command_line(cli: Mapping[str, Any]) -> dict[str, _Setting]:
    for key in cli:
        if key not in KINDS:
            raise ConfigError(_unknown(key, KINDS, "command line"))
    return {key: _setting(key, value, "command line") for key, value in cli.items()}


def _from_environment(environ: Mapping[str, str]) -> dict[str, _Setting]:
    settings: dict[str, _Setting] = {}
    # short names first: the full name wins over the short one
    for name in sorted(environ, key=lambda name: name not in ENV_SHORT):
        if not name.startswith(ENV_PREFIX) or name == ENV_CONFIG_FILE:
            continue
        if name not in ENV_NAMES:
            raise ConfigError(_unknown(name, [*ENV_NAMES, ENV_CONFIG_FILE], "environment"))
        settings[ENV_NAMES[name]] = _setting(ENV_NAMES[name], environ[name], f"environment {name}")
    return settings


def _from_yaml(path: Path) -> dict[str, _Setting]:
    settings: dict[str, _Setting] = {}
    for name, value in _leaves(_read_yaml(path), ""):
        key, value = _translate(name, value, path.name)
        if key in settings:
            raise ConfigError(
                f"{name} in {path.name} sets {key}, which the file sets twice; keep one of the two."
            )
        settings[key] = _setting(key, value, f"{name} in {path.name}")
    return settings


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"The settings file {path.name} cannot be read: {error.strerror}.") from None
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 1})" if where else ""
        raise ConfigError(
            f"The settings file {path.name} is not valid YAML{line}; check its indentation and colons."
        ) from None
    if not isinstance(content, dict | NoneType):
        raise ConfigError(
            f"The settings file {path.name} must hold sections, like `loader:` with `dpi: 150` indented "
            "under it."
        )
    return content or {}


def _leaves(tree: Mapping[Any, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    """Dotted names and values of a nested mapping; a section left empty has none."""
    for key, value in tree.items():
        name = f"{prefix}{key}"
        is_section = name in SECTIONS or name in GUIDE_SECTIONS
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{name}.")
        elif not (is_section and value is None):
            yield name, value


def _model_name(value: Any) -> Any:
    """A registry name from the ways a model is written: `Unlimited-OCR-2` and `unlimited_ocr_v2` are
    `unlimited_ocr2`. The owner in front of a checkpoint's name, as in `baidu/Unlimited-OCR`, goes.
    """
    if not isinstance(value, str):
        return value
    name = re.sub(r"[-_. ]+", "_", value.strip().rpartition("/")[2].lower())
    return re.sub(r"_v?(\d+)$|(?<=ocr)v(\d+)$", r"\1\2", name)


def _mode(value: Any) -> str:
    return "sparse" if _parse_bool(value) else "full"


def _same(value: Any) -> Any:
    return value


# settings that people write in more ways than one: serving guides say INFO, and Unlimited-OCR-2
WRITTEN_AS: dict[str, Callable[[Any], Any]] = {"server.log_level": str.lower, "reader.model": _model_name}

GUIDE_SECTIONS = {"model", "inference", "inference.sr_swa", "inference.continuous_decode"}
GUIDE_KEYS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "model": ("reader.model", _same),  # without a section of its own
    "model.type": ("reader.model", _same),
    "model.weight_path": ("reader.weight_path", _same),
    "inference.sr_swa.window_size": ("sparsity.page_window", _same),
    "inference.sr_swa.sparsity_ratio": ("sparsity.sparsity_ratio", _same),
    "inference.continuous_decode.enabled": ("reader.mode", _mode),
    "inference.continuous_decode.chunk_size": ("sparsity.chunk_pages", _same),
    "inference.max_pages": ("loader.max_pages", _same),
}


def _translate(name: str, value: Any, file_name: str) -> tuple[str, Any]:
    """Our name and value for a name in a YAML file."""
    if name in KINDS:
        return name, value
    if name not in GUIDE_KEYS:
        raise ConfigError(_unknown(name, [*KINDS, *GUIDE_KEYS], file_name))
    key, convert = GUIDE_KEYS[name]
    try:
        return key, convert(value)
    except ValueError as error:
        raise ConfigError(f"{name} is {value!r} ({file_name}); it must be {error}.") from None


def _unknown(name: str, known: Any, source: str) -> str:
    nearest = difflib.get_close_matches(name, list(known), n=1, cutoff=0.0)
    return f"There is no setting {name} ({source}); the nearest one is {nearest[0]}."


def _setting(key: str, value: Any, source: str) -> _Setting:
    try:
        parsed = _parse(KINDS[key], value)
    except ValueError as error:
        raise ConfigError(f"{key} is {value!r} ({source}); it must be {error}.") from None
    return _Setting(WRITTEN_AS.get(key, _same)(parsed), source)


def _parse(kind: Any, value: Any) -> Any:
    """A value of the wanted type from text or from YAML; ValueError says what it must be."""
    allowed = get_args(kind) or (kind,)
    if NoneType in allowed:
        if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "auto")):
            return None
        kind = next(one for one in allowed if one is not NoneType)
    return PARSERS[kind](value)


def _parse_int(value: Any) -> int:
    try:
        if isinstance(value, str | int) and not isinstance(value, bool):
            return int(value)
    except ValueError:
        pass
    raise ValueError("a whole number")


def _parse_float(value: Any) -> float:
    try:
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            return float(value)
    except ValueError:
        pass
    raise ValueError("a number")


def _parse_bool(value: Any) -> bool:
    words = {
        "true": True,
        "yes": True,
        "on": True,
        "1": True,
        "false": False,
        "no": False,
        "off": False,
        "0": False,
    }
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value.strip().lower() in words:
        return words[value.strip().lower()]
    raise ValueError("true or false")


def _parse_str(value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("text")
    return value.strip()


PARSERS: dict[type, Callable[[Any], Any]] = {
    int: _parse_int,
    float: _parse_float,
    bool: _parse_bool,
    str: _parse_str,
}
