"""The words of the command line, and the settings they stand for."""

import argparse
from pathlib import Path
from typing import Any, NoReturn

from ocr_app import __version__
from ocr_app.cli.service_arguments import add_service_commands
from ocr_app.config import ATTENTION_MODES, ENCODER_QUALITIES
from ocr_app.errors import ConfigError

FORMATS = ("md", "json", "html")

# option → setting; an option not given sets nothing
SETTINGS = {
    "model": "reader.model",
    "mode": "reader.mode",
    "encoder": "encoder.quality",
    "dpi": "loader.dpi",
    "reuse": "encoder.reuse",
}


class Parser(argparse.ArgumentParser):
    """Wrong usage ends like any other wrong setting: argparse's own code 2 means "done with warnings"
    here.
    """

    def error(self, message: str) -> NoReturn:
        self.print_usage()
        self.exit(ConfigError.exit_code, f"longscribe: {message}\n")


def build_parser() -> Parser:
    parser = Parser(
        prog="longscribe", description="Long documents to Markdown with a KV cache that does not grow."
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    _add_parse(commands.add_parser("parse", help="read PDF or image files into Markdown, JSON or HTML"))
    _add_bench(commands.add_parser("bench", help="run a measurement; without a name, list them"))
    models = commands.add_parser("models", help="list the models that can read")
    models.set_defaults(debug=False)
    add_service_commands(commands)
    return parser


def settings(args: argparse.Namespace) -> dict[str, Any]:
    """The settings given by options and by --set, by their full names. --set wins: it is the more exact of
    the two.
    """
    given = {
        key: getattr(args, option) for option, key in SETTINGS.items() if getattr(args, option) is not None
    }
    for text in args.set:
        key, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"--set {text} has no value; write it as --set section.key=value.")
        given[key.strip()] = value
    return given


def _add_parse(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="PDF, PNG, JPEG, WebP, BMP, GIF or TIFF"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="OUT",
        help="file to write, or a folder for several; default: standard output",
    )
    parser.add_argument("--format", choices=FORMATS, help="default: by the ending of OUT, else md")
    parser.add_argument("--pages", metavar="RANGE", help="like 1-5,9,20-; default: all")
    parser.add_argument(
        "--furniture", action="store_true", help="keep running headers, footers and page numbers"
    )
    parser.add_argument(
        "--password-stdin",
        action="store_true",
        help="read the password from the first line of standard input",
    )
    parser.add_argument(
        "--quiet", action="store_true", help="no progress; warnings and errors are still shown"
    )
    parser.add_argument("--debug", action="store_true", help="log, and show where an error came from")
    group = parser.add_argument_group(
        "settings", "each may also be set by environment (OCR_APP_SECTION_KEY) or in a YAML file"
    )
    group.add_argument("--model", metavar="NAME", help="embedded, plain, ...: see `models`")
    group.add_argument("--encoder", choices=ENCODER_QUALITIES, help="tiny is fast, small is accurate")
    group.add_argument(
        "--mode", choices=ATTENTION_MODES, help="what the decoder keeps and reads; full is the baseline"
    )
    group.add_argument("--dpi", type=int, help="resolution at which PDF pages are drawn")
    group.add_argument(
        "--no-reuse",
        dest="reuse",
        action="store_false",
        default=None,
        help="recognise repeated lines anew each time",
    )
    group.add_argument("--config", type=Path, metavar="YAML", help="settings file")
    group.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="any setting by name; may be repeated",
    )


def _add_bench(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the measurement")
    parser.add_argument(
        "args", nargs=argparse.REMAINDER, help="its own options; `bench NAME --help` lists them"
    )
    parser.set_defaults(debug=False)
