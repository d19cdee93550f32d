"""Write a training document: regions with texts, as its family of styles asks for. Knows nothing of the
typesetter.
"""

from collections.abc import Callable, Iterator
from random import Random

from ocr_app.training.numbering import format_count
from ocr_app.training.regions import (
    ColumnSection,
    Field,
    Figure,
    Heading,
    Lines,
    ListItem,
    PageBreak,
    Paragraph,
    Region,
    SideSection,
    Span,
    Spans,
    Table,
    TitleBlock,
    TocLine,
    Wrapped,
    plain_text,
)
from ocr_app.training.styles import Style
from ocr_app.training.tables import draw_ledger, draw_register, draw_table
from ocr_app.training.texts import TextSource, alphabet


def write_document(style: Style, texts: TextSource, rng: Random, num_pages: float) -> tuple[Region, ...]:
    """Regions for about `num_pages` pages of this style."""
    writer = DocumentWriter(style, texts, rng)
    room = num_pages * _chars_per_page(style)
    regions = list(writer.opening())
    while sum(map(_weight, regions)) < room:
        drawn = list(writer.draw())
        if regions and isinstance(regions[-1], Table) and isinstance(drawn[0], Table):
            regions += (
                writer.paragraphs()
            )  # two tables without anything between them would be one to every reader
        regions += drawn
    return tuple(regions)


def _chars_per_page(style: Style) -> float:
    """How many characters of running text fill a page; Chinese ones count three in `_weight` too."""
    height = style.height - style.margins[1] - style.margins[3]
    lines = height / (style.size * (1.0 + style.leading * 0.8))
    return lines * style.columns * style.column_width / (style.size * 0.46)


def _weight(region: Region) -> float:
    """The room a region takes, in Latin characters of running text."""
    match region:
        case Table():
            return sum(30 + max((_width(cell) for cell in row), default=0) * 1.5 for row in region.rows)
        case Figure():
            return region.height * 5
        case Wrapped():
            return region.figure.height * 3 + _width(region.text)
        case SideSection() | ColumnSection():
            return sum(map(_weight, region.regions)) * (1.4 if isinstance(region, SideSection) else 1.2)
        case Lines():
            return len(region.lines) * 70
        case Paragraph() | ListItem():
            return _width(plain_text(region.spans)) + 60
        case TitleBlock() | PageBreak():
            return 600
        case _:
            return 110


def _width(text: str) -> int:
    return sum(2 if character > "\u2e80" else 1 for character in text)


class DocumentWriter:
    """Draws one region after another and keeps the counts that go through a document."""

    def __init__(self, style: Style, texts: TextSource, rng: Random) -> None:
        self.style, self.texts, self.rng = style, texts, rng
        self.counts = [0, 0, 0, 0]  # of headings by level
        self.num_figures = self.num_tables = 0
        self.is_narrow = style.column_width < 300
        self.base_number = rng.choice((0, 0, 0, rng.randint(1, 12)))
        self.makers: dict[str, Callable[[], Iterator[Region]]] = {
            "paragraph": self.paragraphs,
            "heading": self.heading_with_text,
            "items": self.items,
            "table": self.table,
            "ledger": lambda: self.long_table(draw_ledger),
            "register": lambda: self.long_table(draw_register),
            "figure": self.figure,
            "wrapped": self.wrapped,
            "notes": self.paragraph_with_notes,
            "quote": self.quote,
            "verse": self.verse,
            "lines": self.lines,
            "code": self.code,
            "fields": self.fields,
            "toc": self.contents,
            "index": self.index,
            "bibliography": self.bibliography,
            "definitions": self.definitions,
            "side": self.side_section,
            "exhibit": self.exhibit,
        }

    def draw(self) -> Iterator[Region]:
        """The next few regions."""
        wanted = self.style.family.regions
        return self.makers[self.rng.choices(list(wanted), list(wanted.values()))[0]]()

    def opening(self) -> Iterator[Region]:
        """What the document begins with: a title page, a title, a letter head, or nothing."""
        rng, family = self.rng, self.style.family.name
        if family in ("letter", "memo"):
            yield from self.letter_head()
        elif family in ("ledger", "register") and rng.random() < 0.5:
            return
        elif rng.random() < 0.75:
            lines = tuple(
                rng.choice((self.texts.name, self.texts.company, self.texts.date, self.texts.place))()
                for _ in range(rng.randint(0, 4))
            )
            yield TitleBlock(Heading(1, self.texts.title(70)), lines, own_page=rng.random() < 0.15)

    # running text

    def spans(self, max_chars: int) -> Spans:
        """A passage, now and then with words set apart."""
        text = self.texts.passage(max_chars)
        words = text.split(" ")
        if self.rng.random() > 0.35 or len(words) < 8:
            return (Span(text),)
        at, length = self.rng.randrange(1, len(words) - 4), self.rng.randint(1, 3)
        look = self.rng.choice(("bold", "italic", "italic", "mono"))
        before, marked, after = words[:at], words[at : at + length], words[at + length :]
        return (Span(" ".join(before) + " "), Span(" ".join(marked), look), Span(" " + " ".join(after)))

    def paragraphs(self) -> Iterator[Region]:
        for _ in range(self.rng.randint(1, 4)):
            yield Paragraph(self.spans(self.rng.choice((120, 300, 600, 1000))))

    def paragraph_with_notes(self) -> Iterator[Region]:
        notes = tuple(
            self.texts.passage(self.rng.choice((60, 120, 260))) for _ in range(self.rng.choice((1, 1, 1, 2)))
        )
        yield Paragraph(self.spans(500), notes=notes)
        yield Paragraph(self.spans(300))

    def quote(self) -> Iterator[Region]:
        yield Paragraph(self.spans(300))
        yield Paragraph(self.spans(400), is_quote=True)
        yield Paragraph(self.spans(400))

    def verse(self) -> Iterator[Region]:
        lines = tuple(line for line in self.texts.verse_lines(self.rng.randint(3, 12)) if line)
        if lines:
            yield Lines(lines, align=self.rng.choice(("left", "center", "indent")))
        yield Paragraph(self.spans(400))

    # headings

    def heading(self, level: int) -> Heading:
        self.counts[level - 1] += 1
        for deeper in range(level, 4):
            self.counts[deeper] = 0
        text = self.texts.title(70 if self.rng.random() < 0.2 else 45)
        if self.style.headings[level - 1].upper:
            text = text.upper()
        number = self._heading_number(level)
        return Heading(level, f"{number} {text}" if number else text)

    def _heading_number(self, level: int) -> str:
        counts = [self.counts[0] + self.base_number, *self.counts[1:level]]
        match self.style.numbered:
            case "decimal":
                number = ".".join(str(max(count, 1)) for count in counts[:level])
                return number + "." if level == 1 and self.rng.random() < 0.5 else number
            case "roman":
                return format_count("I1a1"[level - 1], max(counts[level - 1], 1)) + "."
            case "chapter" if level == 1 and self.style.is_chinese:
                return f"第{counts[0]}章"
            case "chapter" if level == 1:
                return f"{self.texts.vocabulary.chapter} {counts[0]}."
            case "part" if level == 1 and self.style.is_chinese:
                return f"第{format_count('一', max(counts[0], 1))}部分"
            case "part" if level <= 2:
                return f"Part {counts[0]}." if level == 1 else f"{format_count('A', max(counts[1], 1))}."
        return ""

    def heading_with_text(self) -> Iterator[Region]:
        deepest = min(self.style.family.max_depth, 4)
        level = self.rng.choices(range(1, deepest + 1), (1, 3, 2, 1)[:deepest])[0]
        yield self.heading(level)
        if level < deepest and self.rng.random() < 0.35:
            yield self.heading(level + 1)
        yield from self.paragraphs()

    # lists and the like

    def items(self) -> Iterator[Region]:
        if self.rng.random() < 0.5:
            yield Paragraph(self.spans(150))
        yield from self._items(1, self.rng.randint(2, 7), is_tight=self.rng.random() < 0.5)

    def _items(self, depth: int, num_items: int, *, is_tight: bool) -> Iterator[Region]:
        lists, rng = self.style.lists, self.rng
        pattern = lists.numberings[depth - 1] if rng.random() < 0.5 else ""
        bullet = lists.bullets[depth - 1]
        longest = rng.choice((50, 120, 350))
        for number in range(1, num_items + 1):
            marker = format_count(pattern, number) if pattern else bullet
            if not set(marker) <= alphabet():
                marker = "-"
            yield ListItem(
                depth,
                marker,
                self.spans(longest) if rng.random() < 0.7 else (Span(self.texts.cell(60)),),
                is_tight,
            )
            if depth < 3 and rng.random() < 0.15:
                yield from self._items(depth + 1, rng.randint(1, 4), is_tight=is_tight)

    def definitions(self) -> Iterator[Region]:
        """Terms with their meaning behind them, hanging or not."""
        hang, dash = self.rng.choice((0.0, 1.5, 2.5)), self.rng.choice((" ", ": ", " – ", ". "))
        for _ in range(self.rng.randint(3, 8)):
            term = self.texts.cell(28) if self.rng.random() < 0.7 else self.texts.identifier()
            yield Paragraph(
                (Span(term, "bold"), Span(dash + self.texts.passage(self.rng.choice((80, 200, 350))))),
                hang=hang,
            )

    def bibliography(self) -> Iterator[Region]:
        texts, rng = self.texts, self.rng
        shape = rng.choice(("[{}]", "{}.", "", ""))
        for number in range(1, rng.randint(5, 18)):
            spans = (
                Span(f"{texts.name()}, {texts.name()}: "),
                Span(texts.title(70), "italic"),
                Span(
                    f". {texts.company()}, {texts.place()} {rng.randint(1890, 2030)}, {rng.randint(1, 400)}-{rng.randint(401, 900)}."
                ),
            )
            if shape:
                yield ListItem(1, shape.format(number), spans, is_tight=True)
            else:
                yield Paragraph(spans, hang=1.5)

    def contents(self) -> Iterator[Region]:
        yield Heading(1, self.texts.vocabulary.contents)
        page, has_leader, is_numbered = 1, self.rng.random() < 0.8, self.rng.random() < 0.6
        for number in range(1, self.rng.randint(5, 16)):
            for minor in range(self.rng.choice((1, 1, 3, 6))):
                page += self.rng.randint(0, 7)
                label = f"{number}.{minor}" if minor else f"{number}"
                text = f"{label} {self.texts.title(60)}" if is_numbered else self.texts.title(60)
                yield TocLine(2 if minor else 1, text, str(page), has_leader)

    def index(self) -> Iterator[Region]:
        rng, groups = self.rng, []
        for _ in range(rng.randint(3, 12)):
            entries = sorted(
                f"{self.texts.cell(22)}, {', '.join(str(rng.randint(1, 400)) for _ in range(rng.randint(1, 4)))}"
                for _ in range(rng.randint(4, 14))
            )
            groups.append(Lines(tuple(entries)))
        heading = Heading(1, self.texts.vocabulary.index)
        num_columns = rng.choice((2, 3)) if self.style.columns == 1 and self.style.text_width > 330 else 1
        yield heading
        if num_columns == 1:
            yield from groups
        else:
            yield ColumnSection(num_columns, tuple(groups))

    # lines, forms, letters

    def code(self) -> Iterator[Region]:
        yield Paragraph(self.spans(150))
        lines = self.texts.code_lines(self.rng.randint(2, 22))
        width = int(self.style.column_width / (self.style.size * 0.52)) - 4
        lines = tuple(line[:width].rstrip() for line in lines if line.strip())
        if lines:
            yield Lines(lines, is_code=True)

    def lines(self) -> Iterator[Region]:
        """An address, or a signature."""
        texts = self.texts
        makers = (texts.name, texts.company, texts.place, texts.date, texts.identifier)
        yield Lines(
            tuple(self.rng.choice(makers)() for _ in range(self.rng.randint(2, 5))),
            align=self.rng.choice(("left", "left", "right", "indent")),
        )

    def letter_head(self) -> Iterator[Region]:
        texts, rng = self.texts, self.rng
        yield Lines(
            (texts.company(), texts.place(), texts.identifier()),
            align=rng.choice(("left", "right", "center")),
        )
        yield Lines((texts.name(), texts.place()), align="left")
        yield Paragraph((Span(texts.date()),), align=rng.choice(("left", "right")))
        if rng.random() < 0.5:
            yield from self.fields()
        yield Paragraph((Span(rng.choice(texts.vocabulary.greetings)),))
        for _ in range(rng.randint(1, 4)):
            yield from self.paragraphs()
        yield Lines((rng.choice(texts.vocabulary.closings), texts.name()), align="left")

    def fields(self) -> Iterator[Region]:
        rng, texts = self.rng, self.texts
        width, has_rule = rng.uniform(0.18, 0.4), rng.random() < 0.4
        for _ in range(rng.randint(3, 9)):
            value = rng.choice(
                (
                    texts.name,
                    texts.date,
                    texts.place,
                    texts.number,
                    texts.identifier,
                    lambda: texts.cell(40),
                    lambda: "",
                )
            )()
            yield Field(
                rng.choice(texts.vocabulary.labels) + rng.choice((":", ":", "")), value, width, has_rule
            )

    # tables and figures

    def _caption(self, word: str, number: int) -> str:
        label = (
            f"{word} {number}" if not self.style.is_chinese or self.rng.random() < 0.5 else f"{word}{number}"
        )
        return label + self.rng.choice((". ", ": ", "  ", " – ")) + self.texts.phrase(self.rng.randint(2, 14))

    def table(self) -> Iterator[Region]:
        self.num_tables += 1
        table = draw_table(self.rng, self.texts, is_narrow=self.is_narrow)
        caption = (
            self._caption(self.texts.vocabulary.table, self.num_tables) if self.rng.random() < 0.55 else ""
        )
        yield Table(table.rows, table.aligns, table.widths, table.look, table.num_head_rows, caption)
        if self.rng.random() < 0.6:
            yield Paragraph(self.spans(400))

    def long_table(self, draw: Callable[[Random, TextSource, int], Table]) -> Iterator[Region]:
        yield draw(self.rng, self.texts, self.rng.choice((12, 40, 90, 160)))

    def _figure(self, width: float, height: float) -> Figure:
        self.num_figures += 1
        labels = []
        for row in range(self.rng.choice((0, 0, 2, 3))):
            labels += [
                (0.08 + 0.46 * column, 0.1 + 0.27 * row, self.texts.shorten(self.texts.phrase(2), 16))
                for column in range(self.rng.choice((1, 2)))
            ]
        caption = (
            self._caption(self.texts.vocabulary.figure, self.num_figures) if self.rng.random() < 0.9 else ""
        )
        return Figure(width, height, caption, tuple(labels), self.rng.randrange(1 << 30))

    def figure(self) -> Iterator[Region]:
        yield self._figure(self.rng.uniform(0.5, 1.0), self.rng.uniform(70, 220))
        yield Paragraph(self.spans(500))

    def wrapped(self) -> Iterator[Region]:
        if self.is_narrow and self.style.column_width < 230:
            yield from self.figure()
            return
        figure = self._figure(self.rng.uniform(0.35, 0.5), self.rng.uniform(70, 150))
        text = self.texts.passage(1100)
        yield Wrapped(figure, text, figure_on_left=self.rng.random() < 0.5)
        yield Paragraph(self.spans(500))

    # manuals

    def side_section(self) -> Iterator[Region]:
        """A heading in the margin with number, date and title; numbered paragraphs beside it, bullets under
        them.
        """
        rng, texts = self.rng, self.texts
        if self.is_narrow:
            yield from self.heading_with_text()
            return
        self.counts[1] += 1
        parts = [f"{max(self.base_number, 1)}.{self.counts[1]}", f"({texts.date()})", texts.title(40)]
        heading = Heading(2, "\n".join(part for part in parts if rng.random() < 0.8) or parts[2])
        yield SideSection(heading, tuple(self._clauses(rng.randint(1, 6))))

    def _clauses(self, num_clauses: int) -> Iterator[Region]:
        bullet = self.style.lists.bullets[0] if set(self.style.lists.bullets[0]) <= alphabet() else "-"
        for number in range(1, num_clauses + 1):
            yield ListItem(1, f"({number})", self.spans(self.rng.choice((80, 200, 450))), is_tight=False)
            if self.rng.random() < 0.4:
                for _ in range(self.rng.randint(2, 6)):
                    yield ListItem(2, bullet, self.spans(self.rng.choice((40, 150))), is_tight=True)
            if self.rng.random() < 0.12:
                yield Paragraph((Span(self.texts.vocabulary.note + ": ", "bold"), *self.spans(160)))
            if self.rng.random() < 0.12:
                yield draw_table(self.rng, self.texts, is_narrow=True, max_rows=10)

    def exhibit(self) -> Iterator[Region]:
        """A page of its own: a heading of two lines and a table of positions and meanings."""
        if self.rng.random() < 0.6:
            yield PageBreak()
        code = f"{self.texts.vocabulary.exhibit} {self.texts.identifier()} ({self.texts.date()})"
        yield Heading(2, code + "\n" + self.texts.title(50))
        yield draw_ledger(self.rng, self.texts, self.rng.choice((8, 25, 60)))
