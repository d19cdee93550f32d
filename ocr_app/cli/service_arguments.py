"""The words of the commands that have to do with a service: `serve`, `keys`, `submit`, `watch`, `fetch`."""

import argparse
from pathlib import Path

SERVICE_COMMANDS = {
    "serve": "ocr_app.cli.serve",
    "keys": "ocr_app.cli.keys",
    "submit": "ocr_app.cli.remote",
    "watch": "ocr_app.cli.remote",
    "fetch": "ocr_app.cli.remote",
}
KEY_ACTIONS = ("add", "list", "revoke", "log", "secret")
KEY_ROLES = ("admin", "user", "reader", "monitor")


def add_service_commands(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    _add_serve(commands.add_parser("serve", help="answer over HTTP, without the page"))
    _add_keys(commands.add_parser("keys", help="make, list and revoke the keys of the service"))
    submit = commands.add_parser("submit", help="send files to a running service")
    submit.add_argument("files", nargs="+", type=Path, metavar="FILE")
    submit.add_argument("--pages", metavar="RANGE", help="like 1-5,9,20-; default: all")
    submit.add_argument("--mask", action="store_true", help="strike out e-mail, phone and identity numbers")
    submit.add_argument("--wait", action="store_true", help="follow each job to its end")
    watch = commands.add_parser("watch", help="follow a job of a service to its end")
    watch.add_argument("job", metavar="JOB")
    fetch = commands.add_parser("fetch", help="get the result of a job of a service")
    fetch.add_argument("job", metavar="JOB")
    fetch.add_argument("-o", "--output", type=Path, metavar="OUT", help="default: standard output")
    fetch.add_argument("--format", choices=("md", "json", "html", "zip"), help="default: by OUT's ending")
    fetch.add_argument("--so-far", action="store_true", help="what there is of a job that is not over")
    for parser in (submit, watch, fetch):
        parser.add_argument(
            "--url", help="default: LONGSCRIBE_URL, else http://127.0.0.1:7860; the key is LONGSCRIBE_KEY"
        )
        parser.set_defaults(debug=False)


def _add_serve(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--host", help="address to listen on; any but loopback asks for keys")
    parser.add_argument("--port", type=int, help="default 7860; 0 takes the first free one from there on")
    parser.add_argument("--model", metavar="NAME", help="reader to use; see `models`")
    parser.add_argument("--config", type=Path, metavar="YAML", help="settings file")
    parser.set_defaults(debug=False)


def _add_keys(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=KEY_ACTIONS)
    parser.add_argument("name", nargs="?", help="of the key")
    parser.add_argument("--role", choices=KEY_ROLES, default="user", help="default: user")
    parser.add_argument("--config", type=Path, metavar="YAML", help="settings file")
    parser.set_defaults(debug=False)
