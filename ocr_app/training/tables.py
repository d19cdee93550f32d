"""Contents of training tables: columns of words, numbers, dates and codes, with empty and wrapped cells.
Knows nothing of layout.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from random import Random

from ocr_app.training.regions import Table, TableLook
from ocr_app.training.texts import TextSource

COLUMN_KINDS = ("words", "words", "number", "number", "date", "code", "name", "company", "place", "short")
RIGHT_ALIGNED = ("number",)
NEEDS_ROOM = ("words", "company", "long")


def draw_table(rng: Random, texts: TextSource, *, is_narrow: bool, max_rows: int = 60) -> Table:
    """An ordinary table of 2 to 9 columns."""
    num_columns = rng.randint(2, 4 if is_narrow else 7)
    kinds = [rng.choice(COLUMN_KINDS) for _ in range(num_columns)]
    if rng.random() < 0.6:
        kinds[rng.randrange(num_columns)] = "long"
    if num_columns <= 3 and rng.random() < 0.5:
        kinds[-1] = "long"
    num_rows = min(rng.choice((rng.randint(2, 6), rng.randint(4, 14), rng.randint(10, 60))), max_rows)
    look = TableLook(
        stroke=rng.choice(("grid", "grid", "rows", "head", "head", "outer", "none")),
        zebra=rng.random() < 0.2,
        head=rng.choice(("plain", "bold", "bold", "bold", "grey", "dark")),
        size=rng.uniform(0.72, 1.0) if not is_narrow else rng.uniform(0.7, 0.9),
        inset_x=rng.uniform(3, 8),
        inset_y=rng.choice((rng.uniform(1.2, 3), rng.uniform(2.5, 6))),
        repeat_head=rng.random() < 0.7,
        align_center=rng.random() < 0.2,
    )
    return _build(
        rng,
        texts,
        kinds,
        num_rows,
        look,
        empty=rng.choice((0.0, 0.05, 0.2, 0.4)),
        has_head=rng.random() < 0.88,
    )


def draw_ledger(rng: Random, texts: TextSource, num_rows: int) -> Table:
    """Dense rows without rules in small type, most of their cells short, many empty."""
    kinds = rng.choice(
        (
            ["code", "date", "name", "long", "number"],
            ["code", "date", "date", "company", "number", "number"],
            ["date", "long", "number", "number", "number"],
            ["code", "name", "date", "date", "long", "number", "short"],
            ["code", "date", "name", "date", "date", "long", "number", "number"],
            ["short", "code", "words"],
        )
    )
    look = TableLook(
        stroke=rng.choice(("none", "none", "head", "columns")),
        zebra=False,
        head=rng.choice(("plain", "bold")),
        size=rng.uniform(0.7, 0.9),
        inset_x=rng.uniform(2, 6),
        inset_y=rng.uniform(0.8, 2.0),
    )
    return _build(
        rng,
        texts,
        list(kinds),
        num_rows,
        look,
        empty=rng.uniform(0.1, 0.4),
        has_head=rng.random() < 0.9,
        wraps=0.25,
    )


def draw_register(rng: Random, texts: TextSource, num_rows: int) -> Table:
    """A wide ruled list, one line a row, that runs over many pages."""
    kinds = [
        "date",
        *(
            rng.choice(("date", "company", "place", "number", "words", "code", "name"))
            for _ in range(rng.randint(4, 8))
        ),
    ]
    look = TableLook(
        stroke=rng.choice(("grid", "grid", "grid", "rows")),
        zebra=rng.random() < 0.2,
        head=rng.choice(("bold", "grey", "dark", "plain")),
        size=rng.uniform(0.75, 1.0),
        inset_x=rng.uniform(2, 5),
        inset_y=rng.uniform(1.0, 3.0),
        repeat_head=rng.random() < 0.6,
    )
    return _build(
        rng,
        texts,
        kinds,
        num_rows,
        look,
        empty=rng.choice((0.0, 0.05, 0.15)),
        has_head=rng.random() < 0.85,
        wraps=0.05,
    )


def _build(
    rng: Random,
    texts: TextSource,
    kinds: list[str],
    num_rows: int,
    look: TableLook,
    *,
    empty: float,
    has_head: bool,
    wraps: float = 0.4,
) -> Table:
    makers = _makers(rng, texts, wraps, is_uniform=rng.random() < 0.8)
    upper = rng.random() < 0.25
    head = tuple(_head_cell(rng, texts, upper) for _ in kinds)
    first_filled = rng.random() < 0.8
    rows = [head] if has_head else []
    for _ in range(num_rows):
        row = [makers[kind]() for kind in kinds]
        row = [
            "" if rng.random() < empty and not (first_filled and column == 0) else cell
            for column, cell in enumerate(row)
        ]
        rows.append(tuple(row if any(row) else [makers[kinds[0]](), *row[1:]]))
    aligns = tuple(
        "right"
        if kind in RIGHT_ALIGNED and rng.random() < 0.85
        else "center"
        if rng.random() < 0.1
        else "left"
        for kind in kinds
    )
    widths = tuple((2.5 if kind == "long" else 1.4) if kind in NEEDS_ROOM else None for kind in kinds)
    if all(width is None for width in widths) and rng.random() < 0.5:
        widths = tuple(1.0 for _ in kinds)
    return Table(tuple(rows), aligns, widths, look, num_head_rows=int(has_head))


def _head_cell(rng: Random, texts: TextSource, upper: bool) -> str:
    text = rng.choice(texts.vocabulary.labels) if rng.random() < 0.8 else texts.shorten(texts.phrase(2), 24)
    return text.upper() if upper else text


def _makers(
    rng: Random, texts: TextSource, wraps: float, *, is_uniform: bool
) -> dict[str, Callable[[], str]]:
    """One function per kind of column. In a uniform column all numbers have one shape."""
    shape = rng.choice(("{:,}", "{:,.2f}", "{}", "${:,.2f}", "{}%"))
    largest = rng.choice((99, 2000, 900_000))
    choices = [texts.cell(24) for _ in range(4)]

    def number() -> str:
        value = rng.random() * largest if ".2f" in shape else rng.randint(0, largest)
        return shape.format(value) if is_uniform else texts.number()

    def long() -> str:
        return texts.passage(rng.randint(60, 150)) if rng.random() < wraps else texts.cell(70)

    return {
        "words": lambda: texts.cell(36),
        "long": long,
        "number": number,
        "date": texts.date if not is_uniform else _date_maker(rng),
        "code": texts.identifier,
        "name": texts.name,
        "company": texts.company,
        "place": texts.place,
        "short": lambda: rng.choice(choices),
    }


def _date_maker(rng: Random) -> Callable[[], str]:
    shape = rng.choice(
        ("{m:02}/{d:02}/{y}", "{y}-{m:02}-{d:02}", "{d:02}.{m:02}.{y}", "{m:02}-{d:02}-{y}", "{m:02}/{d:02}")
    )
    first_year = rng.randint(1900, 2030)
    return lambda: shape.format(y=first_year + rng.randint(0, 1), m=rng.randint(1, 12), d=rng.randint(1, 28))


def fit_columns(table: Table, available: float, char_width: float) -> tuple[Table, tuple[float | None, ...]]:
    """Widths in points that hold every word of every column; columns that find no room are left out. None: as
    wide as needed.
    """
    while True:
        natural = [
            _column_width(table, column, char_width, by_word=False) for column in range(len(table.aligns))
        ]
        if sum(natural) <= available * 0.95:
            return table, tuple(None for _ in natural)
        narrowest = [
            _column_width(table, column, char_width, by_word=True) for column in range(len(table.aligns))
        ]
        if sum(narrowest) <= available:
            return table, _share_width(narrowest, natural, available)
        if len(table.aligns) == 1:
            return table, (available,)
        table = _without_column(table, max(range(len(narrowest)), key=narrowest.__getitem__))


def _share_width(narrowest: list[float], natural: list[float], available: float) -> tuple[float, ...]:
    """Short columns get what they need; the long ones divide the rest evenly, but none gets less than its
    longest word.
    """
    widths = list(narrowest)
    free = available - sum(narrowest)
    order = sorted(range(len(widths)), key=lambda column: natural[column] - narrowest[column])
    for num_left, column in zip(range(len(order), 0, -1), order, strict=True):
        added = min(natural[column] - narrowest[column], free / num_left)
        widths[column] += added
        free -= added
    return tuple(widths)


def _column_width(table: Table, column: int, char_width: float, *, by_word: bool) -> float:
    cells = [row[column] for row in table.rows]
    parts = [part for cell in cells for part in (re.split(r"[\s\u2e80-\uffff]", cell) if by_word else [cell])]
    longest = max((sum(1.9 if char > "\u2e80" else 1.0 for char in part) for part in parts), default=0)
    if by_word:  # Chinese breaks anywhere, but no table is set one character wide
        longest = max(longest, 3, *(min(len(cell) * 1.9, 8) for cell in cells if cell > "\u2e80"), 0)
    return longest * char_width + 2 * table.look.inset_x


def _without_column(table: Table, column: int) -> Table:
    def rest(values: tuple) -> tuple:
        return values[:column] + values[column + 1 :]

    rows = tuple(row for row in map(rest, table.rows) if any(row))
    return replace(table, rows=rows, aligns=rest(table.aligns), widths=rest(table.widths))
