"""`parse`: read files with the pipeline and write what came out."""

import argparse
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from getpass import getpass
from pathlib import Path
from types import FrameType

from ocr_app.cli.arguments import settings
from ocr_app.cli.files import choose_format, output_paths, write_whole
from ocr_app.cli.progress import ProgressBar, notes, summary, warnings
from ocr_app.config import AppConfig
from ocr_app.config_sources import load_config
from ocr_app.document.furniture import settled
from ocr_app.document.output import MarkdownJoiner, document_html, document_json, document_markdown
from ocr_app.errors import FileMissingError, OCRError, OutputError, PasswordRequiredError
from ocr_app.pipeline import parse_document
from ocr_app.types import DocumentFinished, Event, Outcome, PageFinished, PageResult

DONE_WITH_WARNINGS = 2
INTERRUPTED = 130
NUM_PASSWORD_TRIES = 3


@dataclass(frozen=True, slots=True)
class _Request:
    """What is asked of every file."""

    config: AppConfig
    file_format: str
    pages: str | None
    password: str | None
    furniture: bool
    is_quiet: bool


def run(args: argparse.Namespace) -> int:
    """Read every file; one that fails does not keep the others from being read. Returns the exit code."""
    config = load_config(settings(args), os.environ, args.config)
    logging.basicConfig(level=config.server.log_level.upper() if args.debug else logging.CRITICAL)
    file_format = choose_format(args.format, args.output)
    targets = output_paths(args.files, args.output, file_format)
    password = sys.stdin.readline().rstrip("\r\n") if args.password_stdin else None
    request = _Request(config, file_format, args.pages, password, args.furniture, args.quiet)
    codes = []
    with _Interrupt() as interrupt:
        for source, target in zip(args.files, targets, strict=True):
            codes.append(_parse_or_report(source, target, request, interrupt, with_traceback=args.debug))
            if interrupt.was_pressed:
                return INTERRUPTED
    failed = [code for code in codes if code not in (0, DONE_WITH_WARNINGS)]
    return failed[0] if failed else max(codes)


class _Interrupt:
    """Ctrl-C while there are pages read but not yet written asks the pipeline to stop, so that what is done
    is written. At any other time, and pressed a second time, it is Python's own KeyboardInterrupt."""

    def __init__(self) -> None:
        self.was_pressed = False
        self.has_work = False

    def __enter__(self) -> "_Interrupt":
        self._previous = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._previous)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.was_pressed or not self.has_work:
            raise KeyboardInterrupt
        self.was_pressed = True


def _parse_or_report(
    source: Path, target: Path | None, request: _Request, interrupt: _Interrupt, *, with_traceback: bool
) -> int:
    try:
        return _parse(source, target, request, interrupt)
    except OCRError as error:
        return _report(source, error, with_traceback=with_traceback)
    except OSError as error:
        if isinstance(error, BrokenPipeError):  # nobody reads what is written: no file can change that
            raise
        reason = error.strerror or type(error).__name__
        return _report(
            source, OutputError(f"The file system refused: {reason}."), with_traceback=with_traceback
        )
    finally:
        interrupt.has_work = False


def _report(source: Path, error: OCRError, *, with_traceback: bool) -> int:
    if with_traceback:
        logging.getLogger(__name__).exception("%s", source.name)
    print(f"longscribe: {source.name}: {error}", file=sys.stderr)
    return error.exit_code


def _parse(source: Path, target: Path | None, request: _Request, interrupt: _Interrupt) -> int:
    """Read one file, write its result, tell what happened to its pages."""
    streams = target is None and request.file_format == "md"
    joiner = MarkdownJoiner(furniture=request.furniture)
    bar = ProgressBar(source.name, is_quiet=request.is_quiet)
    results: list[PageResult] = []
    with closing(bar), closing(_events(source, request, interrupt)) as events:
        for event in events:
            bar.show(event)
            if isinstance(event, PageFinished):
                results.append(event.result)
                if streams:
                    _print(joiner.add(event.result))
    assert isinstance(event, DocumentFinished)
    if streams:
        _print(joiner.finish() + "\n")
    else:
        results = list(settled(results))
        text = _render(results, source, request)
        _print(text) if target is None else write_whole(target, text)
    return _tell(source.name, event, results, request)


def _events(source: Path, request: _Request, interrupt: _Interrupt) -> Iterator[Event]:
    """The pipeline's events; asks for a password where one is needed and a person is there to ask."""
    if not source.is_file():
        raise FileMissingError("There is no such file; check the path.")
    password = request.password
    for num_tries_left in reversed(range(NUM_PASSWORD_TRIES + 1)):
        options = {"password": password, "pages": request.pages, "should_stop": lambda: interrupt.was_pressed}
        with closing(parse_document(source, request.config, **options)) as events:
            try:
                first = next(events)
            except PasswordRequiredError as error:
                if request.password is not None or not num_tries_left or not sys.stdin.isatty():
                    raise
                password = getpass(f"{error}\nPassword for {source.name}: ")
                continue
            interrupt.has_work = True
            yield first
            yield from events
            return


def _render(results: list[PageResult], source: Path, request: _Request) -> str:
    renderers: dict[str, Callable[[], str]] = {
        "md": lambda: document_markdown(results, furniture=request.furniture),
        "html": lambda: document_html(results, title=source.name, furniture=request.furniture),
        "json": lambda: document_json(results, source=source.name),
    }
    return renderers[request.file_format]().rstrip("\n") + "\n"


def _tell(name: str, finished: DocumentFinished, results: list[PageResult], request: _Request) -> int:
    """Say on standard error how it ended: every page that is not good, and what else is to know of pages.
    Returns the exit code.
    """
    lines = warnings(results)
    if lines or not request.is_quiet:
        said = [] if request.is_quiet else notes(results, furniture=request.furniture)
        print("\n".join([summary(name, finished), *lines, *said]), file=sys.stderr)
    return 0 if finished.outcome is Outcome.DONE else DONE_WITH_WARNINGS


def _print(text: str) -> None:
    """UTF-8 to standard output at once, so that a pipe sees each page when it is done."""
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()
