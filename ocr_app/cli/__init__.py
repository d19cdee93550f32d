"""The command line: `parse` files, run a `bench`, list the `models`. Only the chosen command's module is
imported.

Exit codes: 0 all pages good, 2 done with warnings, 130 interrupted, else the `exit_code` of the error's
class.
"""

import os
import sys
import traceback
from importlib import import_module

from ocr_app.cli.arguments import build_parser
from ocr_app.cli.service_arguments import SERVICE_COMMANDS
from ocr_app.errors import OCRError

INTERRUPTED = 130
PIPE_CLOSED = 141  # what a shell reports for a program that a closed pipe ended

COMMANDS = {
    "parse": "ocr_app.cli.parse",
    "bench": "ocr_app.cli.bench",
    "models": "ocr_app.cli.models",
} | SERVICE_COMMANDS


def main(argv: list[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build_parser().parse_args(argv)
    try:
        return import_module(COMMANDS[args.command]).run(args)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # nothing is left to fail when Python flushes at exit
        return PIPE_CLOSED
    except OCRError as error:
        _report(args.debug, str(error))
        return error.exit_code
    except Exception as error:
        _report(args.debug, f"unexpected error ({type(error).__name__}): {error}. --debug shows where.")
        return OCRError.exit_code


def _report(with_traceback: bool, message: str) -> None:
    if with_traceback:
        traceback.print_exc()
    print(f"longscribe: {message}", file=sys.stderr)
