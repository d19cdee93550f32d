"""`submit`, `watch` and `fetch`: a service that runs elsewhere, asked over HTTP."""

import argparse
import os
import sys

from ocr_app.cli.files import choose_format
from ocr_app.errors import FileMissingError, OutputError
from ocr_app.service.client import Client

DEFAULT_URL = "http://127.0.0.1:7860"
ENV_URL, ENV_KEY = "LONGSCRIBE_URL", "LONGSCRIBE_KEY"
EXIT_CODES = {"done": 0, "done_with_warnings": 2, "cancelled": 130}


def run(args: argparse.Namespace) -> int:
    url = args.url or os.environ.get(ENV_URL) or DEFAULT_URL
    with Client(url, os.environ.get(ENV_KEY)) as client:
        return ACTIONS[args.command](client, args)


def _submit(client: Client, args: argparse.Namespace) -> int:
    """Print the id of each job; with --wait, what it says until it is over."""
    code = 0
    for file in args.files:
        if not file.is_file():
            raise FileMissingError(f"There is no file {file.name!r}; check the path.")
        job = client.submit(file, pages=args.pages, mask=args.mask or None)
        print(job["id"], flush=True)
        if args.wait:
            code = max(code, _follow(client, job["id"]))
    return code


def _watch(client: Client, args: argparse.Namespace) -> int:
    return _follow(client, args.job)


def _fetch(client: Client, args: argparse.Namespace) -> int:
    # a page's own ZIP has no place among the formats of `parse`
    ending = args.output.suffix == ".zip" if args.output else False
    format = args.format or ("zip" if ending else choose_format(None, args.output))
    data = client.fetch(args.job, format, so_far=args.so_far)
    if args.output is None:
        sys.stdout.buffer.write(data)
        return 0
    part = args.output.with_name(f".{args.output.name[:100]}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        os.replace(part, args.output)
    except OSError as error:
        raise OutputError(f"{args.output.name} cannot be written: {error.strerror}.") from None
    finally:
        part.unlink(missing_ok=True)
    return 0


def _follow(client: Client, job_id: str) -> int:
    """Tell each finished page; returns the exit code that `parse` would have had."""
    for event in client.watch(job_id):
        if event.kind == "page":
            reason = f": {event.values['reason']}" if event.values.get("reason") else ""
            print(f"page {event.values['page_number']}  {event.values['verdict']}{reason}", file=sys.stderr)
        elif event.kind == "state":
            print(event.values["state"], file=sys.stderr)
    job = client.job(job_id)
    if job["error"]:
        print(f"longscribe: {job['name']}: {job['error']['message']}", file=sys.stderr)
    return EXIT_CODES.get(job["state"], 1)


ACTIONS = {"submit": _submit, "watch": _watch, "fetch": _fetch}
