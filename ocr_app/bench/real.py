"""Real pages marked up by hand, read by every engine as its users call it: `python -m ocr_app bench real
DIR`.

DIR holds folders, each with page.pdf and truth.md; see `real_score` for the figures and `real_engines` for
the engines. With --tables FOLDER, the documents of a table competition as well; see `real_tables`. With
--output FOLDER, what each engine wrote is kept as ENGINE/NAME.md. With --worst N, the worst pages of the
first engine are drawn beside their Markdown there: pages belong to others, so their pictures never go among
the stored results. Times hold the start of the engine where it starts anew for each file, as ours does.
"""

import argparse
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ocr_app.bench.environment import REPOSITORY, RESULTS, command, markdown_table, print_result
from ocr_app.bench.real_engines import WholeEngine, WholeOptions, WholeOutput, default_engines, open_whole
from ocr_app.bench.real_score import FIGURES, RealScore, mean, mean_score, score_markdown
from ocr_app.bench.real_tables import TableDocument, TableScore, load_tables, score_tables
from ocr_app.bench.side_by_side import write_side_by_side
from ocr_app.errors import ConfigError, OCRError

TABLE_COLUMNS = ("engine", "documents", "same row F1", "same column F1", "exact cells F1", "soft cells F1")
TABLE_COLUMNS += ("needless tables", "s/page")


@dataclass(frozen=True, slots=True)
class MarkedFile:
    """A PDF and the Markdown wanted of it."""

    name: str
    path: Path
    truth: str


@dataclass(frozen=True, slots=True)
class ReadFile:
    """One file, what one engine made of it, and how good it is."""

    engine: str
    file: MarkedFile
    output: WholeOutput
    score: RealScore


def main(argv: list[str]) -> int:
    options = _parse(argv)
    _check(options)
    missing: dict[str, str] = {}
    engines = open_engines(
        options.engines, WholeOptions(options.dpi, options.threads, options.weights), missing
    )
    files = load_marked(options.folder, "page.pdf", "truth.md", options.pages)
    read = read_files(files, engines, missing, options.output)
    documents = load_tables(options.tables)[: options.documents] if options.tables else []
    tables = {name: read_tables(documents, name, engine, missing) for name, engine in engines.items()}
    if not read:
        print("No engine could read any page; nothing is saved.", file=sys.stderr)
        return 1
    result = {
        "command": command("real", argv),
        "settings": {"dpi": options.dpi, "threads": options.threads},
        "missing": missing,
        **summarise("real", read),
    }
    if documents:
        result["table_documents"] = {name: _table_figures(found) for name, found in tables.items() if found}
        result["tables"]["real-tables"] = _tables_table(tables)
    print("\n\n".join(markdown_table(**table) for table in result["tables"].values()))
    if options.worst:
        worst = sorted((one for one in read if one.engine == read[0].engine), key=_page_figure)
        write_side_by_side(
            [
                (one.file.name, one.file.path, one.output.markdown, asdict(one.score))
                for one in worst[: options.worst]
            ],
            options.output / "worst.html",
            options.dpi,
        )
    print_result("real", result, options.into / "real.json" if options.save else None)
    return 0


def load_marked(folder: Path, pdf: str, truth: str, num_files: int | None = None) -> list[MarkedFile]:
    """Every subfolder with the two files. Raises ConfigError where there is none."""
    homes = [home for home in sorted(folder.glob("*")) if (home / pdf).exists() and (home / truth).exists()]
    if not homes:
        raise ConfigError(
            f"{folder.name!r} has no folders with {pdf} and {truth}; give the folder that holds them."
        )
    return [
        MarkedFile(home.name, home / pdf, (home / truth).read_text(encoding="utf-8"))
        for home in homes[:num_files]
    ]


def open_engines(
    specs: Sequence[str], options: WholeOptions, missing: dict[str, str]
) -> dict[str, WholeEngine]:
    """The engines that run here; the others go into `missing` with the reason. A name nobody knows raises."""
    engines = {}
    for spec in specs:
        try:
            engines[spec] = open_whole(spec, options)
        except ConfigError:
            raise
        except OCRError as error:
            _leave_out(missing, spec, error)
    return engines


def read_files(
    files: Sequence[MarkedFile],
    engines: Mapping[str, WholeEngine],
    missing: dict[str, str],
    output: Path | None = None,
) -> list[ReadFile]:
    """Read every file with every engine, by turns. What cannot be read by one counts as empty output there:
    nobody gets a better mean by refusing a page.
    """
    read = []
    for file in files:
        print(file.name, file=sys.stderr)
        for name, engine in engines.items():
            made = _read(name, engine, file.path, file.truth, missing)
            if output is not None:
                _keep(output / name / f"{file.name}.md", made.markdown)
            read.append(ReadFile(name, file, made, score_markdown(file.truth, made.markdown)))
    order = list(engines)
    return sorted(read, key=lambda one: order.index(one.engine))


def read_tables(
    documents: Sequence[TableDocument], name: str, engine: WholeEngine, missing: dict[str, str]
) -> list[tuple[TableDocument, WholeOutput, TableScore]]:
    found = []
    for document in documents:
        print(f"{name}: {document.name}", file=sys.stderr)
        made = _read(name, engine, document.path, "", missing)
        found.append((document, made, score_tables(document, made.markdown, made.pages)))
    return found


def summarise(prefix: str, read: Sequence[ReadFile]) -> dict[str, Any]:
    """Means of every engine, figures of every page, and the tables made of them."""
    by_engine: dict[str, list[ReadFile]] = {}
    for one in read:
        by_engine.setdefault(one.engine, []).append(one)
    means = {name: _engine_figures(found) for name, found in by_engine.items()}
    rows = [
        [name, figures["files"], *(_shown(figures[key]) for key in FIGURES)]
        + [_shown(figures[key], 2) for key in ("s_per_page", "cpu_s_per_page")]
        for name, figures in means.items()
    ]
    names = list(dict.fromkeys(one.file.name for one in read))
    page = {(one.engine, one.file.name): _shown(one.score.page) for one in read}
    tables = {
        prefix: {
            "columns": ["engine", "pages", *FIGURES, "s/page", "processor s/page"],
            "rows": rows,
        },
        f"{prefix}-pages": {
            "columns": ["page", *by_engine],
            "rows": [[name, *(page.get((engine, name)) for engine in by_engine)] for name in names],
        },
    }
    files = {
        engine: {one.file.name: _rounded(asdict(one.score)) for one in found}
        for engine, found in by_engine.items()
    }
    return {"engines": means, "files": files, "tables": tables}


def _engine_figures(found: Sequence[ReadFile]) -> dict[str, Any]:
    num_pages = sum(max(1, len(one.output.pages)) for one in found)
    return {
        "files": len(found),
        **_rounded(asdict(mean_score([one.score for one in found]))),
        "s_per_page": round(sum(one.output.wall_s for one in found) / num_pages, 3),
        "cpu_s_per_page": round(sum(one.output.cpu_s for one in found) / num_pages, 3),
    }


def _read(name: str, engine: WholeEngine, path: Path, truth: str, missing: dict[str, str]) -> WholeOutput:
    try:
        return engine(path, truth)
    except OCRError as error:
        _leave_out(missing, f"{name} on {path.parent.name}/{path.name}", error)
        return WholeOutput("", ())


def _leave_out(missing: dict[str, str], what: str, error: OCRError) -> None:
    missing[what] = str(error)
    print(f"{what} is left out: {error}", file=sys.stderr)


def _keep(path: Path, markdown: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(markdown, encoding="utf-8")


def _tables_table(
    found: Mapping[str, Sequence[tuple[TableDocument, WholeOutput, TableScore]]],
) -> dict[str, Any]:
    rows = []
    for name, read in found.items():
        if not read:
            continue
        figures = _table_figures(read)
        shown = [_shown(figures[key]) for key in ("row_pairs", "column_pairs", "exact", "cells")]
        needless = f"{figures['needless']} of {figures['bare_pages']}"
        rows.append([name, len(read), *shown, needless, _shown(figures["s_per_page"], 2)])
    return {"columns": TABLE_COLUMNS, "rows": rows}


def _table_figures(read: Sequence[tuple[TableDocument, WholeOutput, TableScore]]) -> dict[str, Any]:
    scores = [score for _, _, score in read]
    keys: tuple[Callable[[TableScore], float | None], ...]
    names = ("row_pairs", "column_pairs", "exact", "cells")
    keys = tuple(lambda score, name=name: getattr(score, name) for name in names)
    num_pages = sum(max(1, len(output.pages)) for _, output, _ in read)
    return {
        **{name: _round(mean(key(score) for score in scores)) for name, key in zip(names, keys, strict=True)},
        "needless": sum(score.num_needless for score in scores),
        "bare_pages": sum(score.num_bare for score in scores),
        "s_per_page": round(sum(output.wall_s for _, output, _ in read) / num_pages, 3),
        "documents": {document.name: _rounded(asdict(score)) for document, _, score in read},
    }


def _page_figure(one: ReadFile) -> float:
    return 1.0 if one.score.page is None else one.score.page


def _rounded(figures: Mapping[str, float | None]) -> dict[str, float | None]:
    return {name: _round(value) for name, value in figures.items()}


def _round(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _shown(value: float | None, num_digits: int = 3) -> str | None:
    return None if value is None else f"{value:.{num_digits}f}"


def _check(options: argparse.Namespace) -> None:
    if options.worst and options.output is None:
        raise ConfigError("--worst draws pages into the folder of --output; name one.")
    if options.output is not None and options.output.resolve().is_relative_to(REPOSITORY / "assets"):
        raise ConfigError(
            f"output is {options.output.name!r}; it must lie outside assets: pages belong to others."
        )


def _engine_list(text: str) -> Iterable[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """What `bench real` and `bench cases` share."""
    parser.add_argument("folder", type=Path)
    parser.add_argument("--engines", type=_engine_list, default=default_engines(), metavar="A,B")
    parser.add_argument("--output", type=Path, help="keep what each engine wrote in this folder")
    parser.add_argument("--pages", type=int, help="only the first so many folders")
    parser.add_argument("--dpi", type=int, default=150)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--weights", type=Path, help="of our reader")
    parser.add_argument("--save", action="store_true")
    parser.add_argument("--into", type=Path, default=RESULTS, help=argparse.SUPPRESS)


def _parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m ocr_app bench real", description=__doc__.split("\n")[0])
    add_engine_options(parser)
    parser.add_argument("--tables", type=Path, help="documents with their cells, of a table competition")
    parser.add_argument("--documents", type=int, help="only the first so many of them")
    parser.add_argument("--worst", type=int, default=0, help="draw the worst pages beside their Markdown")
    return parser.parse_args(argv)
