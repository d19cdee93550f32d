"""Write the typst source of a document: every unit of text is marked with its number, which a template
(pages.typ) turns into a colour.

Units are numbered in reading order; each kind of region has one short method. Knows nothing of PDF.
"""

from collections.abc import Callable
from pathlib import Path
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
from ocr_app.training.styles import HeadingLook, RunningHead, Style
from ocr_app.training.tables import fit_columns
from ocr_app.training.truth import LEADER, SourceUnit, Unit, UnitKind

TEMPLATE = Path(__file__).with_name("pages.typ")
CHAR_WIDTH = 0.56  # em: a little more than most typefaces need, so that columns rarely break words
LABEL_ROOM_PT = 80  # a figure narrower than two of these has one label a row


def literal(text: str) -> str:
    """A typst string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def array(items: list[str] | tuple[str, ...]) -> str:
    """A typst array of code; also of one item."""
    return "(" + "".join(f"{item}, " for item in items) + ")"


def boolean(value: bool) -> str:
    return "true" if value else "false"


def em(value: float) -> str:
    return f"{value:.2f}em"


class TypstWriter:
    """Turns regions into typst code and remembers which unit has which number."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.units: dict[int, SourceUnit] = {}
        self._region = 0
        self._num_notes = 0
        self._room = 1.0  # share of the column that is there for a table
        self._writers = {
            Paragraph: self._paragraph,
            Heading: self._heading,
            ListItem: self._list_item,
            Lines: self._lines,
            Field: self._field,
            TocLine: self._toc_line,
            Table: self._table,
            Figure: self._figure,
            Wrapped: self._wrapped,
            SideSection: self._side_section,
            ColumnSection: lambda section: f"#columns({section.num_columns})[{self._flow(section.regions)}]",
            TitleBlock: self._title_block,
            PageBreak: lambda _: "#pagebreak(weak: true)",
        }

    def write(self, regions: tuple[Region, ...]) -> str:
        """The whole source. Call it once."""
        return "\n".join(
            (
                TEMPLATE.read_text(encoding="utf-8"),
                self._page_setup(),
                self._text_setup(),
                self._flow(regions),
            )
        )

    # units of text

    def _unit(self, kind: UnitKind, text: str, *, is_footer: bool = False, **details: int | bool) -> int:
        number = len(self.units) + 1
        self.units[number] = SourceUnit(Unit(kind, region=self._region, **details), text, is_footer)
        return number

    def _marked(self, kind: UnitKind, text: str, **details: int | bool) -> str:
        """A unit of plain text as content; newlines become line breaks."""
        code = "#linebreak()".join("#" + literal(line) for line in text.split("\n") if line)
        return f"#u({self._unit(kind, text, **details)})[{code}]"

    def _spans(self, spans: Spans) -> str:
        return "".join(self._span(span) for span in spans if span.text)

    def _span(self, span: Span) -> str:
        text = literal(span.text)
        match span.look:
            case "bold":
                return f"#strong({text})"
            case "italic":
                return f"#emph({text})"
            case "mono":
                return f"#text(font: {self._fonts(self.style.mono_font)}, size: 0.9em, {text})"
        return "#" + text

    def _fonts(self, name: str) -> str:
        names = (
            (self.style.chinese_font, name) if self.style.chinese_first else (name, self.style.chinese_font)
        )
        return array(tuple(map(literal, names)))

    # the page

    def _page_setup(self) -> str:
        s = self.style
        left, top, right, bottom = s.margins
        rules = ""
        for number in range(1, s.columns if s.column_rule else 1):
            x = left + (s.column_width + s.column_gap) * number - s.column_gap / 2
            rules += f"#shape-at({x:.1f}pt, {top:.1f}pt, line(angle: 90deg, length: {s.height - top - bottom:.1f}pt, stroke: 0.4pt))"
        return (
            f"#set page(width: {s.width}pt, height: {s.height}pt, columns: {s.columns}, background: [{rules}],\n"
            f"  margin: (left: {left:.1f}pt, top: {top:.1f}pt, right: {right:.1f}pt, bottom: {bottom:.1f}pt),\n"
            f"  header: {self._running_head(s.header, is_footer=False)},\n  footer: {self._running_head(s.footer, is_footer=True)})\n"
            f"#set columns(gutter: {s.column_gap:.1f}pt)"
        )

    def _text_setup(self) -> str:
        s = self.style
        language = 'lang: "zh", region: "cn"' if s.is_chinese else f"lang: {literal(s.language)}"
        return (
            f"#set text(font: {self._fonts(s.body_font)}, size: {s.size}pt, {language}, hyphenate: {boolean(s.hyphenate)})\n"
            f"#set par(justify: {boolean(s.justify)}, leading: {em(s.leading)}, spacing: {em(s.leading + s.paragraph_gap)}, "
            f"first-line-indent: (amount: {em(s.first_indent)}, all: true))\n"
            f"#set footnote(numbering: {literal(s.note_numbering)})\n"
            "#show footnote.entry: it => { set par(first-line-indent: 0pt); it.note.body }"
        )

    def _running_head(self, head: RunningHead, *, is_footer: bool) -> str:
        """A header or footer; even pages have units of their own, as left and right may change places."""
        if not any(head.parts):
            return "none"
        s = self.style
        odd, even = (
            self._head_parts(parts, is_footer)
            for parts in (head.parts, head.parts[::-1] if head.swaps else head.parts)
        )
        flags = ", ".join(map(boolean, (is_footer, head.rule, s.skip_first_head)))
        look = f"size: {em(head.scale)}, weight: {_weight(head.bold)}, style: {_slant(head.italic)}"
        return f"running-head({odd}, {even}, {s.first_page}, {literal(s.page_numbering)}, {flags}, {look})"

    def _head_parts(self, parts: tuple[str, ...], is_footer: bool) -> str:
        numbers = [self._unit(UnitKind.FURNITURE, part, is_footer=is_footer) if part else 0 for part in parts]
        return array([f"({number}, {literal(part)})" for number, part in zip(numbers, parts, strict=True)])

    # running text

    def _flow(self, regions: tuple[Region, ...]) -> str:
        parts, run_in = [], ""
        for region, following in zip(regions, (*regions[1:], None), strict=True):
            self._region += 1
            if self._runs_in(region, following):
                run_in = f"#text({self._heading_text(self._look(region.level))})[{self._heading_unit(region)}]#h(0.6em)"
                continue
            parts.append(run_in + self._writers[type(region)](region))
            run_in = ""
        return "\n\n".join(parts)

    def _runs_in(self, region: Region, following: Region | None) -> bool:
        """Whether a heading stands on the first line of the paragraph after it."""
        if not (isinstance(region, Heading) and isinstance(following, Paragraph)) or "\n" in region.text:
            return False
        is_plain = not (following.is_quote or following.align or following.hang)
        return is_plain and self._look(region.level).is_run_in

    def _paragraph(self, paragraph: Paragraph) -> str:
        markers = [
            format_count(self.style.note_numbering, self._num_notes + n)
            for n in range(1, len(paragraph.notes) + 1)
        ]
        self._num_notes += len(markers)
        number = self._unit(UnitKind.PARAGRAPH, plain_text(paragraph.spans) + "".join(markers))
        notes = "".join(
            self._note(marker, text) for marker, text in zip(markers, paragraph.notes, strict=True)
        )
        text = f"#u({number})[{self._spans(paragraph.spans)}{notes}]"
        if paragraph.is_quote:
            return f"#quotation[{text}]"
        if paragraph.align:
            return f"#align({paragraph.align})[{text}]"
        return f"#hanging({em(paragraph.hang)})[{text}]" if paragraph.hang else text

    def _note(self, marker: str, text: str) -> str:
        self._region += 1
        number = self._unit(UnitKind.FOOTNOTE, f"{marker} {text}")
        return f"#note({number}, {literal(marker)}, {literal(text)})"

    def _look(self, level: int) -> HeadingLook:
        return self.style.headings[level - 1]

    def _heading_text(self, look: HeadingLook, scale: float = 1.0) -> str:
        font = f"font: {self._fonts(self.style.heading_font)}, " if look.use_sans else ""
        return (
            f"{font}size: {em(look.size * scale)}, weight: {_weight(look.bold)}, style: {_slant(look.italic)}, "
            f"fill: {look.color}, hyphenate: false"
        )

    def _heading_unit(self, heading: Heading) -> str:
        unit = self._marked(UnitKind.HEADING, heading.text, level=heading.level)
        return f"#smallcaps[{unit}]" if self._look(heading.level).smallcaps else unit

    def _heading(self, heading: Heading) -> str:
        look = self._look(heading.level)
        text = f"#text({self._heading_text(look)})[{self._heading_unit(heading)}]"
        return (
            f"#heading-block({em(look.above)}, {em(look.below)}, {look.align}, {boolean(look.rule)})[{text}]"
        )

    def _list_item(self, item: ListItem) -> str:
        lists = self.style.lists
        number = self._unit(UnitKind.LIST_ITEM, f"{item.marker} {plain_text(item.spans)}", level=item.depth)
        hang = max(lists.hang, 0.4 + sum(1.0 if char >= "\u2460" else 0.55 for char in item.marker))
        gap = self.style.leading + (lists.tight_gap if item.is_tight else lists.gap)
        indent = lists.indent * (item.depth - 1)
        return f"#item({number}, {em(indent)}, {em(hang)}, {em(gap)}, {literal(item.marker)})[{self._spans(item.spans)}]"

    def _lines(self, lines: Lines) -> str:
        kind = UnitKind.CODE if lines.is_code else UnitKind.PARAGRAPH
        number = self._unit(kind, "\n".join(lines.lines), keeps_lines=True)
        code = "#linebreak()".join(_indented(line) for line in lines.lines)
        if lines.is_code:
            return f"#listing({literal(self.style.code_look)}, {self._fonts(self.style.mono_font)})[#u({number})[{code}]]"
        return f"#kept-lines({literal(lines.align)})[#u({number})[{code}]]"

    def _field(self, field: Field) -> str:
        number = self._unit(UnitKind.PARAGRAPH, f"{field.label} {field.value}")
        width = f"{field.label_width * 100:.0f}%"
        return f"#form-field({number}, {width}, {boolean(field.has_rule)}, {literal(field.label)}, {literal(field.value)})"

    def _toc_line(self, line: TocLine) -> str:
        number = self._unit(UnitKind.LIST_ITEM, f"{line.text} {LEADER} {line.target}", level=line.depth)
        return f"#toc-line({number}, {line.depth}, {boolean(line.has_leader)}, {literal(line.text)}, {literal(line.target)})"

    # tables and figures

    def _caption(self, text: str) -> str:
        """A caption is a region of its own."""
        if not text:
            return ""
        s = self.style
        self._region += 1
        number = self._unit(UnitKind.CAPTION, text)
        self._region += 1
        at = min(len(text) // 4, 12)
        code = (
            f"#strong({literal(text[:at])})#{literal(text[at:])}"
            if s.caption_bold_label and at
            else "#" + literal(text)
        )
        return f"#caption({number}, {boolean(s.captions_above)}, {s.caption_align}, {boolean(s.caption_italic)})[{code}]"

    def _with_caption(self, caption: str, write: Callable[[], str]) -> str:
        """The caption above or below what `write` writes; units are numbered in that order."""
        if self.style.captions_above:
            return self._caption(caption) + "\n" + write()
        return write() + "\n" + self._caption(caption)

    def _table(self, table: Table) -> str:
        return self._with_caption(table.caption, lambda: self._table_body(table))

    def _table_body(self, table: Table) -> str:
        s, look = self.style, table.look
        table, widths = fit_columns(table, s.column_width * self._room, s.size * look.size * CHAR_WIDTH)
        head, body = table.rows[: table.num_head_rows], table.rows[table.num_head_rows :]
        head_cells = "".join(self._row(row, number, look.head) for number, row in enumerate(head))
        cells = "".join(self._row(row, number) for number, row in enumerate(body, len(head)))
        tracks = array([_track(width, share) for width, share in zip(widths, table.widths, strict=True)])
        repeats = look.repeat_head and s.columns == 1  # in columns it would come twice on one page
        header = f"table.header(repeat: {boolean(repeats)}, {head_cells})," if head else ""
        bottom = "table.hline(stroke: 0.8pt)" if look.stroke == "head" else ""
        return (
            f"#data-table({tracks}, {array(table.aligns)}, (x: {look.inset_x:.1f}pt, y: {look.inset_y:.1f}pt), {literal(look.stroke)}, "
            f"{len(head)}, {literal(look.head)}, {boolean(look.zebra)}, {em(look.size)}, {boolean(look.align_center)}, "
            f"{header}{cells}{bottom})"
        )

    def _row(self, row: tuple[str, ...], number: int, head: str = "plain") -> str:
        """Cells of one row, each with a comma behind it; an empty cell has no unit."""
        cells = []
        for column, text in enumerate(row):
            if not text:
                cells.append("[], ")
                continue
            unit = self._unit(UnitKind.CELL, text, row=number, column=column, num_columns=len(row))
            code = f"u({unit}, {literal(text)})"
            cells.append(f"{code}, " if head == "plain" else f"head-cell({literal(head)}, {code}), ")
        return "".join(cells)

    def _picture(self, figure: Figure, width: str) -> str:
        has_room = figure.width * self.style.column_width * 0.5 > LABEL_ROOM_PT
        labels = ""
        for x, y, text in figure.labels:
            if has_room or x < 0.3:
                self._region += 1
                labels += (
                    f"#label-at({x:.0%}, {y:.0%}, {self._unit(UnitKind.CAPTION, text)}, {literal(text)})"
                )
        return f"picture({width}, {figure.height:.0f}pt)[{_shapes(figure.drawing)}{labels}]"

    def _figure(self, figure: Figure) -> str:
        width = f"{figure.width:.0%}"
        code = self._with_caption(figure.caption, lambda: f"#align(center, {self._picture(figure, width)})")
        return f"#figure-block[{code}]"

    def _wrapped(self, wrapped: Wrapped) -> str:
        """A figure at the left is read before the text beside it, one at the right after it."""
        s, figure = self.style, wrapped.figure
        number, picture = 0, ""
        for is_picture in (wrapped.figure_on_left, not wrapped.figure_on_left):
            self._region += 1
            if is_picture:
                picture = f"[#{self._picture(figure, '100%')} {self._caption(figure.caption)}]"
            else:
                number = self._unit(UnitKind.PARAGRAPH, wrapped.text)
        words, glue = (list(wrapped.text), "") if s.is_chinese else (wrapped.text.split(" "), " ")
        width, height = figure.width * s.column_width, figure.height + 3 * s.size
        return (
            f"#wrapped({picture}, {width:.0f}pt, {height:.0f}pt, {boolean(wrapped.figure_on_left)}, "
            f"{number}, {array(list(map(literal, words)))}, {literal(glue)})"
        )

    # sections

    def _side_section(self, section: SideSection) -> str:
        look, width = self._look(section.heading.level), self.style.side_width
        heading = self._marked(UnitKind.HEADING, section.heading.text, level=section.heading.level)
        self._room = 1.0 - width - 0.05
        body = self._flow(section.regions)
        self._room = 1.0
        return f'#side-section({width:.0%}, text(weight: "bold", fill: {look.color})[{heading}])[{body}]'

    def _title_block(self, block: TitleBlock) -> str:
        look = self._look(1)
        parts = [f"#text({self._heading_text(look, 1.25)})[{self._heading_unit(block.heading)}]"]
        for line in block.lines:
            self._region += 1
            parts.append(self._marked(UnitKind.PARAGRAPH, line))
        code = "\n\n".join(parts)
        if block.own_page:
            return f"#title-page[{code}]"
        if self.style.columns > 1 and self.style.spanning_title:
            return f"#spanning[{code}]"
        return f"#title({look.align})[{code}]"


def _weight(is_bold: bool) -> str:
    return literal("bold" if is_bold else "regular")


def _slant(is_italic: bool) -> str:
    return literal("italic" if is_italic else "normal")


def _indented(line: str) -> str:
    text = line.lstrip()
    return f"#h({em((len(line) - len(text)) * 0.6)})#{literal(text)}"


def _track(width: float | None, share: float | None) -> str:
    """The width of a table's column: fixed, as wide as needed, or a share of what is free."""
    if width is not None:
        return f"{width:.1f}pt"
    return "auto" if share is None else f"{share}fr"


def _shapes(seed: int) -> str:
    """A picture: a tinted ground with some shapes and lines on it."""
    rng = Random(seed)
    light, dark = rng.randint(170, 250), rng.randint(60, 160)
    ground = f"luma({light})" if rng.random() < 0.6 else f"gradient.linear(luma({dark}), luma({light}))"
    code = f"#shape-at(0%, 0%, rect(width: 100%, height: 100%, fill: {ground}, stroke: {rng.choice(('none', '0.6pt'))}))"
    for _ in range(rng.randint(2, 9)):
        size = rng.randint(10, 40)
        fill = f"rgb({rng.randint(40, 250)}, {rng.randint(40, 250)}, {rng.randint(40, 250)})"
        shape = rng.choice(
            (
                f"circle(radius: {size}pt, fill: {fill})",
                f"rect(width: {size}%, height: {size}%, fill: {fill})",
                f"line(angle: {rng.randint(0, 180)}deg, length: {size * 2}%)",
                f"ellipse(width: {size}%, height: {size // 2}%, stroke: 1pt)",
            )
        )
        code += f"#shape-at({rng.randint(2, 80)}%, {rng.randint(2, 80)}%, {shape})"
    return code
