"""Tables of real documents against their cells: files of the ICDAR 2013 table competition, `NAME.pdf` with
`NAME-reg.xml` (where tables are) and `NAME-str.xml` (their cells).

Tables of a document are compared together, as Markdown says them: a cell over several columns or rows stands
in the first of them. Each region of a table that goes over several pages is a table of its own.

    pairs      F1 of pairs of words in the same row and different cells, and in the same column
    exact      F1 of filled cells whose text is the same, as a multiset
    cells      soft F1 of cells by place and likeness, see `real_score`
    needless   pages without a table on which one was written, of all pages without one
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

from ocr_app.bench.real_blocks import Rows, fold, read_page
from ocr_app.bench.real_score import table_f1
from ocr_app.errors import ConfigError

MAX_SIDE = 2000  # rows or columns of a table
Pairs = Counter[tuple[str, str, str]]  # kind of line, word, word

_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W_]+")


@dataclass(frozen=True, slots=True)
class TableDocument:
    name: str
    path: Path
    tables: tuple[Rows, ...]
    table_pages: frozenset[int]  # 0-based


@dataclass(frozen=True, slots=True)
class TableScore:
    """The figures of one document; `num_needless` of `num_bare` pages without a table got one."""

    row_pairs: float
    column_pairs: float
    exact: float
    cells: float | None
    num_needless: int
    num_bare: int


def load_tables(folder: Path) -> list[TableDocument]:
    """Every document of the folder that has its cells beside it. Raises ConfigError where there is none."""
    paths = [path for path in sorted(folder.glob("*.pdf")) if _beside(path, "str").exists()]
    if not paths:
        raise ConfigError(
            f"{folder.name!r} has no NAME.pdf with NAME-str.xml; give the folder that holds them."
        )
    return [_document(path) for path in paths]


def score_tables(truth: TableDocument, markdown: str, pages: Sequence[str]) -> TableScore:
    """Compare all tables in a document's Markdown with the truth's."""
    written = tables_in(markdown)
    known_pairs, written_pairs = (sum(map(word_pairs, tables), Pairs()) for tables in (truth.tables, written))
    cells, written_cells = (Counter(_filled(tables)) for tables in (truth.tables, written))
    bare = [index for index in range(len(pages)) if index not in truth.table_pages]
    return TableScore(
        row_pairs=_f1(*(_of_kind(pairs, "row") for pairs in (known_pairs, written_pairs))),
        column_pairs=_f1(*(_of_kind(pairs, "column") for pairs in (known_pairs, written_pairs))),
        exact=_f1(cells, written_cells),
        cells=table_f1(truth.tables, written),
        num_needless=sum(bool(tables_in(pages[index])) for index in bare),
        num_bare=len(bare),
    )


def tables_in(markdown: str) -> list[Rows]:
    return [block.rows for block in read_page(markdown).of_kind("table")]


def word_pairs(rows: Rows) -> Pairs:
    """Pairs of words in different cells of the same row or column, each pair in one order only."""
    pairs = Pairs()
    words = [[_words(cell) for cell in row] for row in rows]
    width = max((len(row) for row in words), default=0)
    columns = [[row[index] for row in words if index < len(row)] for index in range(width)]
    for kind, lines in (("row", words), ("column", columns)):
        for line in lines:
            for one, other in combinations([cell for cell in line if cell], 2):
                pairs.update((kind, *sorted((a, b))) for a in one for b in other)
    return pairs


def _document(path: Path) -> TableDocument:
    regions = list(_parse(_beside(path, "str")).iter("region"))
    places = _parse(_beside(path, "reg")).iter("region")
    pages = frozenset(int(region.get("page", "1")) - 1 for region in places)
    return TableDocument(path.stem, path, tuple(_grid(region) for region in regions), pages)


def _beside(path: Path, kind: str) -> Path:
    return path.with_name(f"{path.stem}-{kind}.xml")


def _parse(path: Path) -> ElementTree.Element:
    try:
        return ElementTree.parse(path).getroot()
    except (OSError, ElementTree.ParseError) as error:
        raise ConfigError(
            f"{path.name} cannot be read as XML; each PDF needs its -reg.xml and -str.xml."
        ) from error


def _grid(region: ElementTree.Element) -> Rows:
    """Every cell's text at its first row and column; empty elsewhere."""
    cells = {}
    for cell in region.iter("cell"):
        row, column = int(cell.get("start-row", "0")), int(cell.get("start-col", "0"))
        if not (0 <= row < MAX_SIDE and 0 <= column < MAX_SIDE):
            raise ConfigError(f"a cell stands at row {row}, column {column}; both must be below {MAX_SIDE}.")
        cells[row, column] = fold(cell.findtext("content") or "")
    height = 1 + max((row for row, _ in cells), default=-1)
    width = 1 + max((column for _, column in cells), default=-1)
    return tuple(tuple(cells.get((row, column), "") for column in range(width)) for row in range(height))


def _words(cell: str) -> list[str]:
    return _WORD.findall(cell.lower())


def _filled(tables: Iterable[Rows]) -> Iterator[str]:
    """Texts of filled cells, without white space: line ends inside a cell are not of its text."""
    return (
        text for rows in tables for row in rows for cell in row if (text := "".join(cell.split()).lower())
    )


def _of_kind(pairs: Pairs, kind: str) -> Counter[tuple[str, str, str]]:
    return Counter({pair: number for pair, number in pairs.items() if pair[0] == kind})


def _f1(truth: Counter, output: Counter) -> float:
    """1 where there is nothing to find and nothing was written."""
    total = truth.total() + output.total()
    return 2 * (truth & output).total() / total if total else 1.0
