"""Write the typst source of a document: every unit of text is wrapped in `#u(number)[...]`, which colours it when asked to.

Units get their numbers in reading order, and a region writes its typst code in one short function. Knows nothing of PDF.
"""

from random import Random

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

PREAMBLE = """
#let ids = sys.inputs.at("mode", default: "black") == "ids"
#let u(n, body) = if ids { text(fill: rgb(calc.rem(n, 256), calc.rem(calc.quo(n, 256), 256), calc.quo(n, 65536)), body) } else { body }
#let wrapped(fig, width, height, gap, on-left, n, words, glue) = layout(size => {
  let beside = size.width - width - gap
  let fits(count) = measure(block(width: beside, u(n, words.slice(0, count).join(glue)))).height <= height
  let (low, high) = (0, words.len())
  while low < high {
    let middle = calc.quo(low + high + 1, 2)
    if fits(middle) { low = middle } else { high = middle - 1 }
  }
  let first = block(width: beside, if low > 0 { u(n, words.slice(0, low).join(glue)) + linebreak(justify: low < words.len()) })
  let cells = if on-left { (fig, first) } else { (first, fig) }
  block(below: par.leading, grid(columns: if on-left { (width, beside) } else { (beside, width) }, column-gutter: gap, ..cells))
  if low < words.len() { par(first-line-indent: 0pt, u(n, words.slice(low).join(glue))) }
})
"""
STROKES = {
    "grid": "0.5pt",
    "rows": "(x, y) => (bottom: 0.4pt)",
    "head": "(x, y) => if y == 0 { (top: 0.8pt, bottom: 0.5pt) }",
    "columns": "(x, y) => if x > 0 { (left: 0.4pt) }",
    "outer": "none",
    "none": "none",
}


def literal(text: str) -> str:
    """A typst string."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _strings(values: list[str]) -> str:
    return "(" + "".join(literal(value) + ", " for value in values) + ")"


class TypstWriter:
    """Turns regions into typst code and remembers which unit has which number."""

    def __init__(self, style: Style) -> None:
        self.style = style
        self.units: dict[int, SourceUnit] = {}
        self.region = 0
        self.num_notes = 0

    def write(self, regions: tuple[Region, ...]) -> str:
        """The whole source. Call it once."""
        style = self.style
        head = self._page_setup()
        body = self._flow(regions)
        return PREAMBLE + head + (f"#set columns(gutter: {style.column_gap:.1f}pt)\n" if style.columns > 1 else "") + body

    # units

    def _unit(self, kind: UnitKind, text: str, **details: int | bool) -> int:
        number = len(self.units) + 1
        self.units[number] = SourceUnit(Unit(kind, region=self.region, **details), text)
        return number

    def _colored(self, kind: UnitKind, text: str, **details: int | bool) -> str:
        """One unit of plain text; newlines become line breaks."""
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
        names = [self.style.chinese_font, name] if self.style.chinese_first else [name, self.style.chinese_font]
        return _strings(names)

    # page

    def _page_setup(self) -> str:
        s = self.style
        left, top, right, bottom = s.margins
        language = 'lang: "zh", region: "cn"' if s.is_chinese else f'lang: "{s.language}"'
        header, footer = self._running_head(s.header, is_footer=False), self._running_head(s.footer, is_footer=True)
        background = ""
        if s.column_rule:
            offsets = [(s.column_width + s.column_gap) * n - s.column_gap / 2 + left for n in range(1, s.columns)]
            lines = "".join(
                f"#place(top + left, dx: {x:.1f}pt, dy: {top:.0f}pt, line(angle: 90deg, length: {s.height - top - bottom:.0f}pt, stroke: 0.4pt))"
                for x in offsets
            )
            background = f", background: [{lines}]"
        return (
            f"#set page(width: {s.width}pt, height: {s.height}pt, columns: {s.columns}, header: {header}, footer: {footer}{background}, "
            f"margin: (left: {left:.1f}pt, top: {top:.1f}pt, right: {right:.1f}pt, bottom: {bottom:.1f}pt))\n"
            f"#set text(font: {self._fonts(s.body_font)}, size: {s.size}pt, {language}, hyphenate: {_bool(s.hyphenate)})\n"
            f"#set par(justify: {_bool(s.justify)}, leading: {s.leading:.2f}em, spacing: {s.leading + s.paragraph_gap:.2f}em, "
            f"first-line-indent: (amount: {s.first_indent:.1f}em, all: true))\n"
            f'#set footnote(numbering: "{s.note_numbering}")\n'
            "#show footnote.entry: it => { set par(first-line-indent: 0pt); it.note.body }\n"
        )

    def _running_head(self, head: RunningHead, *, is_footer: bool) -> str:
        """A header or footer; even pages have units of their own, as left and right may change places."""
        if not any(head.parts):
            return "none"
        odd, even = head.parts, head.parts[::-1] if head.swaps else head.parts
        s = self.style
        rule = "line(length: 100%, stroke: 0.5pt)" if head.rule else "none"
        look = f"size: {head.scale:.2f}em, weight: {literal('bold' if head.bold else 'regular')}, style: {literal('italic' if head.italic else 'normal')}"
        row = f"grid(columns: (1fr, auto, 1fr), column-gutter: 6pt, align: (left, center, right), ..if calc.odd(here().page()) {{ {self._head_cells(odd, is_footer)} }} else {{ {self._head_cells(even, is_footer)} }})"
        stack = f"{rule} + v(-0.6em) + {row}" if is_footer and head.rule else f"{row} + v(-0.8em) + {rule}" if head.rule else row
        first = "if here().page() > 1 " if s.skip_first_head else ""
        number = "here().page()" + (f" + {s.first_page - 1}" if s.first_page > 1 else "")
        last = f"counter(page).final().first() + {s.first_page - 1}"
        return (
            f"context {first}{{ set text({look}); set par(first-line-indent: 0pt, justify: false); let label = numbering({literal(s.page_numbering)}, {number}); "
            f"let last = numbering({literal(s.page_numbering)}, {last}); "
            f'let put(t) = t.replace("{{pages}}", last).replace("{{page}}", label); {stack} }}'
        )

    def _head_cells(self, parts: tuple[str, str, str], is_footer: bool) -> str:
        cells = []
        for part in parts:
            if not part:
                cells.append("[]")
                continue
            number = self._unit(UnitKind.FURNITURE, part)
            self.units[number] = SourceUnit(self.units[number].unit, part, is_footer)
            cells.append(f"u({number}, put({literal(part)}))")
        return f"({', '.join(cells)})"

    # regions

    def _flow(self, regions: tuple[Region, ...]) -> str:
        parts, run_in = [], ""
        for at, region in enumerate(regions):
            self.region += 1
            following = regions[at + 1] if at + 1 < len(regions) else None
            if (
                isinstance(region, Heading)
                and self._look(region.level).is_run_in
                and isinstance(following, Paragraph)
                and "\n" not in region.text
            ):
                run_in = f"#text({self._text_look(self._look(region.level))})[{self._heading_unit(region)}]#h(0.6em)"
                continue
            parts.append(self._region(region, run_in))
            run_in = ""
        return "\n\n".join(parts)

    def _region(self, region: Region, run_in: str) -> str:
        match region:
            case Paragraph():
                return self._paragraph(region, run_in)
            case Heading():
                return self._heading(region)
            case ListItem():
                return self._list_item(region)
            case Lines():
                return self._lines(region)
            case Field():
                return self._field(region)
            case TocLine():
                return self._toc_line(region)
            case Table():
                return self._table(region)
            case Figure():
                return self._figure(region)
            case Wrapped():
                return self._wrapped(region)
            case SideSection():
                return self._side_section(region)
            case ColumnSection():
                return f"#columns({region.num_columns})[{self._flow(region.regions)}]"
            case TitleBlock():
                return self._title_block(region)
            case PageBreak():
                return "#pagebreak(weak: true)"

    def _paragraph(self, paragraph: Paragraph, run_in: str) -> str:
        first = self.num_notes + 1
        self.num_notes += len(paragraph.notes)
        markers = [_note_marker(self.style.note_numbering, first + n) for n in range(len(paragraph.notes))]
        # A paragraph's number comes before its notes', so the calls are written behind it.
        number = self._unit(UnitKind.PARAGRAPH, plain_text(paragraph.spans) + "".join(markers))
        notes = "".join(self._note(marker, text) for marker, text in zip(markers, paragraph.notes, strict=True))
        text = f"{run_in}#u({number})[{self._spans(paragraph.spans)}{notes}]"
        if paragraph.is_quote:
            return f"#pad(left: 2em, right: 2em)[#text(size: 0.94em)[{text}]]"
        if paragraph.align:
            return f"#align({paragraph.align})[{text}]"
        if paragraph.hang:
            return f"#par(first-line-indent: 0pt, hanging-indent: {paragraph.hang}em)[{text}]"
        return text

    def _note(self, marker: str, text: str) -> str:
        self.region += 1
        number = self._unit(UnitKind.FOOTNOTE, f"{marker} {text}")
        return f"#footnote[#u({number})[#super({literal(marker)})#h(0.3em)#{literal(text)}]]"

    def _look(self, level: int) -> HeadingLook:
        return self.style.headings[level - 1]

    def _text_look(self, look: HeadingLook) -> str:
        font = f"font: {self._fonts(self.style.heading_font)}, " if look.use_sans else ""
        return (
            f"{font}size: {look.size:.2f}em, weight: {literal('bold' if look.bold else 'regular')}, "
            f"style: {literal('italic' if look.italic else 'normal')}, fill: {look.color}, hyphenate: false"
        )

    def _heading_unit(self, heading: Heading) -> str:
        unit = self._colored(UnitKind.HEADING, heading.text, level=heading.level)
        return f"#smallcaps[{unit}]" if self._look(heading.level).smallcaps else unit

    def _heading(self, heading: Heading) -> str:
        look = self._look(heading.level)
        rule = "#v(-0.5em)#line(length: 100%, stroke: 0.6pt)" if look.rule else ""
        return (
            f"#block(above: {look.above:.2f}em, below: {look.below:.2f}em, sticky: true, width: 100%)[#set par(first-line-indent: 0pt, justify: false); "
            f"#set align({look.align}); #text({self._text_look(look)})[{self._heading_unit(heading)}]{rule}]"
        )

    def _list_item(self, item: ListItem) -> str:
        lists, leading = self.style.lists, self.style.leading
        number = self._unit(UnitKind.LIST_ITEM, f"{item.marker} {plain_text(item.spans)}", level=item.depth)
        width = sum(1.0 if char > "\u2460" else 0.55 for char in item.marker) + 0.4
        hang = max(lists.hang, width)
        gap = leading + (lists.tight_gap if item.is_tight else lists.gap)
        return (
            f"#block(above: {gap:.2f}em, below: {gap:.2f}em)[#set par(first-line-indent: 0pt, hanging-indent: {hang:.2f}em); "
            f"#pad(left: {lists.indent * (item.depth - 1):.2f}em)[#u({number})[#box(width: {hang:.2f}em, {literal(item.marker)}){self._spans(item.spans)}]]]"
        )

    def _lines(self, lines: Lines) -> str:
        kind = UnitKind.CODE if lines.is_code else UnitKind.PARAGRAPH
        number = self._unit(kind, "\n".join(lines.lines), keeps_lines=True)
        indents = [len(line) - len(line.lstrip()) for line in lines.lines]
        code = "#linebreak()".join(
            f"#h({indent * 0.6:.1f}em)#{literal(line.lstrip())}" for indent, line in zip(indents, lines.lines, strict=True)
        )
        text = f"#set par(first-line-indent: 0pt, justify: false, hanging-indent: 1.2em); #set text(hyphenate: false); #u({number})[{code}]"
        if lines.is_code:
            return self._code(text)
        if lines.align == "indent":
            return f"#pad(left: 40%)[{text}]"
        return f"#block(width: 100%)[#set align({lines.align}); {text}]"

    def _code(self, text: str) -> str:
        boxes = {
            "frame": "stroke: 0.5pt, inset: 5pt",
            "grey": "fill: luma(232), inset: 5pt",
            "plain": "",
            "indented": "inset: (left: 2.5em)",
        }
        return f"#block(width: 100%, {boxes[self.style.code_look]})[#set text(font: {self._fonts(self.style.mono_font)}, size: 0.85em); #set par(leading: 0.5em); {text}]"

    def _field(self, field: Field) -> str:
        number = self._unit(UnitKind.PARAGRAPH, f"{field.label} {field.value}")
        rule = ", stroke: (x, y) => if x == 1 { (bottom: 0.4pt) }, inset: (bottom: 2pt)" if field.has_rule else ""
        return (
            f"#block(above: 0.8em, below: 0.8em, grid(columns: ({field.label_width * 100:.0f}%, 1fr){rule}, "
            f"par(first-line-indent: 0pt, justify: false, u({number}, {literal(field.label)})), par(first-line-indent: 0pt, justify: false, u({number}, {literal(field.value)}))))"
        )

    def _toc_line(self, line: TocLine) -> str:
        number = self._unit(UnitKind.LIST_ITEM, f"{line.text} {LEADER} {line.target}", level=line.depth)
        fill = "#h(3pt)#box(width: 1fr, repeat[.])#h(3pt)" if line.has_leader else "#h(1fr)"
        return (
            f"#block(above: 0.65em, below: 0.65em)[#set par(first-line-indent: 0pt, justify: false, hanging-indent: 2em); "
            f"#pad(left: {(line.depth - 1) * 1.6}em)[#u({number})[#{literal(line.text)}{fill}#{literal(line.target)}]]]"
        )

    # tables and figures

    def _caption(self, text: str) -> str:
        if not text:
            return ""
        s = self.style
        number = self._unit(UnitKind.CAPTION, text)
        label, rest = text[: len(text) // 4], text[len(text) // 4 :]
        code = f"#strong({literal(label)})#{literal(rest)}" if s.caption_bold_label else "#" + literal(text)
        italic = ', style: "italic"' if s.caption_italic else ""
        return (
            f"#block(above: 0.7em, below: 0.7em, width: 100%, sticky: {_bool(s.captions_above)})[#set par(first-line-indent: 0pt, justify: false); "
            f"#set align({s.caption_align}); #text(size: 0.9em{italic})[#u({number})[{code}]]]"
        )

    def _table(self, table: Table) -> str:
        s, look = self.style, table.look
        table, widths = fit_columns(table, s.column_width * self._room, s.size * look.size * 0.56)
        above = self._caption(table.caption) if s.captions_above else ""
        head, body = table.rows[: table.num_head_rows], table.rows[table.num_head_rows :]
        head_cells = "".join(self._row(table, row, number, "dark" if look.head == "dark" else look.head) for number, row in enumerate(head))
        cells = "".join(self._row(table, row, number, "") for number, row in enumerate(body, len(head)))
        columns = "".join(_track(width, share) for width, share in zip(widths, table.widths, strict=True))
        header = f"table.header(repeat: {_bool(look.repeat_head)}, {head_cells})," if head else ""
        code = (
            f"#table(columns: ({columns}), align: ({''.join(a + ', ' for a in table.aligns)}), inset: (x: {look.inset_x:.1f}pt, y: {look.inset_y:.1f}pt), "
            f"stroke: {STROKES[look.stroke]}, fill: {_table_fill(table)}, {header}{cells})"
        )
        if look.stroke == "outer":
            code = f"#block(stroke: 0.6pt)[{code}]"
        center = "#set align(center); " if look.align_center else ""
        below = "" if s.captions_above else self._caption(table.caption)
        return f"{above}\n#block[{center}#set text(size: {look.size:.2f}em, hyphenate: false); #set par(justify: false, leading: 0.45em, first-line-indent: 0pt); #set table.cell(breakable: false); {code}]\n{below}"

    def _row(self, table: Table, row: tuple[str, ...], number: int, look: str) -> str:
        """Cells of one row; an empty cell has no unit."""
        cells = []
        for column, text in enumerate(row):
            if not text:
                cells.append("[], ")
                continue
            unit = self._unit(UnitKind.CELL, text, row=number, column=column, num_columns=len(row))
            code = f"u({unit}, {literal(text)})"
            dress = {"bold": f"strong({code})", "grey": f"strong({code})", "dark": f"text(fill: white, strong({code}))"}
            cells.append(dress.get(look, code) + ", ")
        return "".join(cells)

    _room = 1.0  # share of the column that is there for a table

    def _figure_box(self, figure: Figure, width: str) -> str:
        labels = ""
        has_room = figure.width * self.style.column_width * 0.46 > 80
        for x, y, text in figure.labels:
            if x < 0.3 or has_room:
                labels += f"#place(top + left, dx: {x * 100:.0f}%, dy: {y * 100:.0f}%, box(fill: white, inset: 2pt, text(size: 0.75em, hyphenate: false)[{self._colored(UnitKind.CAPTION, text)}]))"
                self.region += 1
        return f"box(width: {width}, height: {figure.height:.0f}pt, clip: true)[#set par(first-line-indent: 0pt, justify: false); {_shapes(figure.drawing)}{labels}]"

    def _figure(self, figure: Figure) -> str:
        above = self._caption(figure.caption) if self.style.captions_above else ""
        self.region += bool(above)
        box = self._figure_box(figure, f"{figure.width * 100:.0f}%")
        below = "" if self.style.captions_above else self._caption(figure.caption)
        return f"#block(breakable: false, width: 100%, above: 1em, below: 1em)[{above}#align(center, {box}){below}]"

    def _wrapped(self, wrapped: Wrapped) -> str:
        """The text beside the figure goes on under it, as one unit. A figure at the left is read before the text, one at the right after it."""
        s, figure = self.style, wrapped.figure
        width = figure.width * s.column_width
        picture = ""
        if wrapped.figure_on_left:
            picture = self._figure_box(figure, "100%") + (f" + [{self._caption(figure.caption)}]" if figure.caption else "")
            self.region += 1
        number = self._unit(UnitKind.PARAGRAPH, wrapped.text)
        if not wrapped.figure_on_left:
            self.region += 1
            picture = self._figure_box(figure, "100%") + (f" + [{self._caption(figure.caption)}]" if figure.caption else "")
        words, glue = (list(wrapped.text), "") if s.is_chinese else (wrapped.text.split(" "), " ")
        room = figure.height + s.size * 3
        return f"#wrapped({picture}, {width:.0f}pt, {room:.0f}pt, 10pt, {_bool(wrapped.figure_on_left)}, {number}, {_strings(words)}, {literal(glue)})"

    # sections

    def _side_section(self, section: SideSection) -> str:
        look = self._look(section.heading.level)
        heading = f'[#set par(first-line-indent: 0pt, justify: false); #text(weight: "bold", fill: {look.color}, hyphenate: false)[{self._colored(UnitKind.HEADING, section.heading.text, level=2)}]]'
        self._room = 1.0 - self.style.side_width - 0.05
        body = self._flow(section.regions)
        self._room = 1.0
        return f"#block(above: 1.6em, grid(columns: ({self.style.side_width * 100:.0f}%, 1fr), column-gutter: 3%, {heading}, [{body}]))"

    def _title_block(self, block: TitleBlock) -> str:
        look = self._look(1)
        parts = [
            f"#text({self._text_look(look).replace(f'size: {look.size:.2f}em', f'size: {look.size * 1.25:.2f}em')})[{self._heading_unit(block.heading)}]"
        ]
        for line in block.lines:
            self.region += 1
            parts.append(self._colored(UnitKind.PARAGRAPH, line))
        code = (
            f"#set align({'left' if look.align == 'left' and not block.own_page else 'center'}); #set par(first-line-indent: 0pt, justify: false); "
            + "\n\n".join(parts)
        )
        if block.own_page:
            return f"#v(28%)\n#block(width: 100%)[{code}]\n#pagebreak()"
        if self.style.columns > 1 and self.style.spanning_title:
            return f'#place(top + center, scope: "parent", float: true, clearance: 1.5em, block(width: 100%)[{code}])'
        return f"#block(width: 100%, below: 1.8em)[{code}]"


def _bool(value: bool) -> str:
    return "true" if value else "false"


def _note_marker(pattern: str, number: int) -> str:
    from ocr_app.training.numbering import format_count

    return format_count(pattern, number)


def _track(width: float | None, share: float | None) -> str:
    if width is not None:
        return f"{width:.1f}pt, "
    return "auto, " if share is None else f"{share}fr, "


def _table_fill(table: Table) -> str:
    head = {"grey": "luma(215)", "dark": "luma(60)"}.get(table.look.head, "none")
    body = "if calc.odd(y) { luma(238) }" if table.look.zebra else "none"
    return f"(x, y) => if y < {table.num_head_rows} {{ {head} }} else {{ {body} }}" if table.num_head_rows else f"(x, y) => {body}"


def _shapes(seed: int) -> str:
    """A picture: a tinted ground with some shapes and lines on it."""
    rng = Random(seed)
    ground = (
        f"luma({rng.randint(150, 245)})"
        if rng.random() < 0.6
        else f"gradient.linear(luma({rng.randint(60, 160)}), luma({rng.randint(170, 250)}))"
    )
    code = f"#place(rect(width: 100%, height: 100%, fill: {ground}, stroke: {rng.choice(('none', '0.6pt'))}))"
    for _ in range(rng.randint(2, 9)):
        x, y, size = rng.randint(2, 80), rng.randint(2, 80), rng.randint(10, 40)
        fill = f"rgb({rng.randint(40, 250)}, {rng.randint(40, 250)}, {rng.randint(40, 250)})"
        shape = rng.choice(
            (
                f"circle(radius: {size}pt, fill: {fill})",
                f"rect(width: {size}%, height: {size}%, fill: {fill})",
                f"line(angle: {rng.randint(0, 180)}deg, length: {size * 2}%)",
                f"ellipse(width: {size}%, height: {size // 2}%, stroke: 1pt)",
            )
        )
        code += f"#place(top + left, dx: {x}%, dy: {y}%, {shape})"
    return code
