"""Accuracy and speed of every engine on the same page images in one go: `python -m ocr_app bench accuracy`.

    character error rate   edits per true character in reading order, after the folding of `page_score`
    word F1                words as multisets, characters for Chinese: what was read, whatever the order
    heading, list, cell F1 where the structure is known, that is on held-out pages
    order distance         share of pairs of lines that changed places
    s/page                 wall time on this machine; processor time is in the saved result
    loops                  repetitions that the page does not have
    lost, unplaced         runs seen by the encoder and not written; left over by the reader and appended
    (unknown for other engines)

Running headers and page numbers: the truth of the samples is a text layer and holds them, so every engine is
compared with all it can see, ours with its furniture written. The truth of held-out pages is the Markdown
wanted, without them: ours and pymupdf4llm, which can tell them apart, leave them out; engines that cannot are
charged with them in character error rate, because the reader of their text would be. A body line that ours
takes for a running header is a loss there, and only there.

`CER by default` is of what `parse` writes without options, against the same truth: running heads are missing.
A dash stands for structure that an engine never writes. --middle reads consecutive pages from the middle of a
long sample, so many that blocks are chosen and evicted.

A text layer gives one order of several that are sensible (captions, side heads, tables), so an error rate of
zero cannot be reached on some files; the upper reference shows by how much.

Figures are rates of sums over pages, so a long page weighs more than a short one. Engines take turns page by
page, so that a busy moment of the machine hits them alike.
"""

import argparse
import logging
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

from ocr_app.bench import accuracy_tables
from ocr_app.bench.engines import (
    ENGINES,
    Engine,
    EngineOptions,
    EngineOutput,
    EngineSession,
    make_engine,
    timed_read,
)
from ocr_app.bench.environment import REPOSITORY, RESULTS, command, print_result
from ocr_app.bench.ground_truth import (
    TruthDocument,
    left_out,
    load_file,
    load_held_out,
    load_middle,
    load_samples,
)
from ocr_app.bench.page_score import PageRecord, score_page
from ocr_app.bench.worst import write_worst
from ocr_app.config import LoaderConfig
from ocr_app.errors import OCRError
from ocr_app.types import PageFailure, PageImage

logger = logging.getLogger(__name__)


def main(argv: list[str]) -> int:
    options = _parse(argv)
    documents = _documents(options)
    missing: dict[str, str] = {}
    engines = _make_engines(options.engines, EngineOptions(options.threads, options.weights), missing)
    records = [
        record for document in documents for record in read_document(document, engines, options.dpi, missing)
    ]
    if not records:
        print("No engine could read any page; nothing is saved.", file=sys.stderr)
        return 1
    result = {
        "command": command("accuracy", argv),
        "settings": {"dpi": options.dpi, "threads": options.threads, "pages_per_file": options.pages},
        "missing": missing,
        **accuracy_tables.summarise(documents, records),
    }
    if options.samples:
        columns = ["document", "left out of", "why"]
        rows = [list(row) for row in left_out(options.samples)]
        result["tables"]["accuracy-left-out"] = {"columns": columns, "rows": rows}
    print(accuracy_tables.printed(result))
    if options.worst:
        write_worst(records, options.worst, options.into / "worst", options.dpi)
    print_result("accuracy", result, options.into / "accuracy.json" if options.save else None)
    return 0


def read_document(
    document: TruthDocument, engines: Mapping[str, Engine], dpi: int, missing: dict[str, str]
) -> Iterator[PageRecord]:
    """Read the document's pages with every engine that can open it, page by page; the others go into
    `missing` with the reason.
    """
    from ocr_app.document.loader import open_document

    print(f"{document.name}: {len(document.pages)} pages", file=sys.stderr)
    with ExitStack() as stack:
        sessions = _open_sessions(document, engines, stack, missing)
        opened = stack.enter_context(
            open_document(document.path, LoaderConfig(dpi=dpi), pages=document.page_range)
        )
        for page, image in zip(document.pages, opened.pages(), strict=True):
            if isinstance(image, PageFailure):
                logger.warning("%s, page %d left out: %s", document.name, page.page_index + 1, image.reason)
                continue
            for name, session in sessions.items():
                output = _read(name, session, image)
                yield PageRecord(name, document, page, output, score_page(document, page, output))


def _open_sessions(
    document: TruthDocument, engines: Mapping[str, Engine], stack: ExitStack, missing: dict[str, str]
) -> dict[str, EngineSession]:
    sessions = {}
    for name, engine in engines.items():
        try:
            sessions[name] = engine.open(document)
        except OCRError as error:
            _leave_out(missing, f"{name} on {document.name}", error)
        else:
            stack.callback(sessions[name].close)
    return sessions


def _read(name: str, session: EngineSession, image: PageImage) -> EngineOutput:
    """One page by one engine. An engine that fails is charged with an empty page and the bench goes on."""
    try:
        return timed_read(session, image)
    except Exception:
        logger.exception("%s failed on page %d", name, image.page_number)
        return EngineOutput("", has_failed=True)


def _make_engines(names: Sequence[str], options: EngineOptions, missing: dict[str, str]) -> dict[str, Engine]:
    engines = {}
    for name in names:
        try:
            engines[name] = make_engine(name, options)
        except OCRError as error:
            _leave_out(missing, name, error)
    return engines


def _leave_out(missing: dict[str, str], what: str, error: OCRError) -> None:
    missing[what] = str(error)
    print(f"{what} is left out: {error}", file=sys.stderr)


def _documents(options: argparse.Namespace) -> list[TruthDocument]:
    """The samples, or the bundled document where no folder of samples is given, then the held-out pages."""
    samples = load_samples(options.samples, options.pages) if options.samples else []
    held_out = load_held_out(options.held_out, options.pages) if options.held_out else []
    untouched = load_held_out(options.untouched, options.pages, "untouched") if options.untouched else []
    middles = [load_middle(options.samples, *middle) for middle in options.middle] if options.samples else []
    documents = samples + middles + held_out + untouched or [
        load_file(REPOSITORY / "assets" / "sample.pdf", options.pages)
    ]
    return [
        document
        for document in documents
        if not options.only or any(part in document.name for part in options.only)
    ]


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="ocr_app bench accuracy", description="Compare engines on the same page images."
    )
    parser.add_argument(
        "--samples", type=Path, metavar="DIR", help="folder with digital/ and scanned/, or one of them"
    )
    parser.add_argument("--held-out", type=Path, metavar="DIR", help="generated pages with their Markdown")
    parser.add_argument(
        "--untouched", type=Path, metavar="DIR", help="generated pages nobody looked at, a group of their own"
    )
    parser.add_argument(
        "--middle",
        type=_middle,
        action="append",
        default=[],
        metavar="FILE:FIRST-LAST",
        help="pages of a long sample that are read in one go",
    )
    parser.add_argument(
        "--pages", type=int, metavar="N", help="at most N pages of each file, spread over it in pairs"
    )
    parser.add_argument(
        "--only", type=_names, default=[], metavar="PART,...", help="files whose name has one of these parts"
    )
    parser.add_argument(
        "--engines", type=_names, default=list(ENGINES), metavar="NAME,...", help=f"of {', '.join(ENGINES)}"
    )
    parser.add_argument(
        "--weights", type=Path, metavar="FILE", help="of our reader; the shipped ones by default"
    )
    parser.add_argument("--dpi", type=int, default=LoaderConfig().dpi)
    parser.add_argument(
        "--threads", type=int, default=2, help="of ours and rapidocr; tesseract always has one"
    )
    parser.add_argument(
        "--worst",
        type=int,
        default=0,
        metavar="N",
        help="keep pictures of the N worst pages of the first engine",
    )
    parser.add_argument("--save", action="store_true", help="write accuracy.json")
    parser.add_argument(
        "--into",
        type=Path,
        default=RESULTS,
        metavar="DIR",
        help="where results and pictures go; assets/bench by default",
    )
    return parser.parse_args(argv)


def _middle(text: str) -> tuple[str, int, int]:
    found = re.fullmatch(r"(.+):(\d+)-(\d+)", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r} must look like FILE:FIRST-LAST, as in long.pdf:60-81")
    return found[1], int(found[2]), int(found[3])


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
