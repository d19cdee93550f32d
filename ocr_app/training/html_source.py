"""Write the HTML of a document: every unit of text has a class of its own, u1, u2 ..., to which a style sheet
may give a colour.

Units are numbered in reading order; each kind of region has one short method. Knows nothing of PDF or of the
browser.
"""

import re
from collections.abc import Callable
from html import escape
from random import Random

from ocr_app.training.html_look import HEAD_LOOKS, TABLE_LOOKS, HtmlLook, fonts, style_sheet
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
    TableLook,
    TitleBlock,
    TocLine,
    Wrapped,
    plain_text,
)
from ocr_app.training.styles import RunningHead, Style
from ocr_app.training.tables import fit_columns
from ocr_app.training.truth import LEADER, SourceUnit, Unit, UnitKind

CHAR_WIDTH = 0.56  # em: a little more than most typefaces need, so that columns rarely break words
LABEL_ROOM_PT = 80  # a figure narrower than two of these has one label a row
VOWELS = "aeiouyäöüàâéèêëîïôùûáíóú"
# A word may be divided before a consonant and a vowel, after two letters at least and before three: browsers
# without dictionaries need the places marked. They are not always the right ones, but look like it.
DIVISION = re.compile(rf"(?<=[a-zß-ÿ]{{2}})(?=[^\W\d_{VOWELS}][{VOWELS}][a-zß-ÿ])")
LOOK_TAGS = {"bold": "b", "italic": "i", "mono": "code"}
LANGUAGE_TAGS = {"zh": "zh-CN"}
BOXES = ("left", "center", "right")
ALIGNS = {"center": "text-align: center", "right": "text-align: right", "indent": "margin-left: 3em"}


class HtmlWriter:
    """Turns regions into HTML and remembers which unit has which number."""

    def __init__(self, style: Style, look: HtmlLook) -> None:
        self.style, self.look = style, look
        self.units: dict[int, SourceUnit] = {}
        self._boxes: list[tuple[str, str, int]] = []  # page selector, margin box, unit
        self._region = 0
        self._num_notes = 0
        self._waiting_notes: list[
            str
        ] = []  # browsers have no footnotes: they stand at the end, or before a forced page break
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
            ColumnSection: lambda section: (
                f'<div style="columns: {section.num_columns}">{self._flow(section.regions)}</div>'
            ),
            TitleBlock: self._title_block,
            PageBreak: lambda _: self._notes() + '<div style="break-before: page"></div>',
        }

    def write(self, regions: tuple[Region, ...]) -> str:
        """The whole source, as a person sees it. Call it once."""
        heads = self._running_heads()
        body = self._flow(regions) + self._notes()
        language = LANGUAGE_TAGS.get(self.style.language, self.style.language)
        sheet = style_sheet(self.style, self.look) + heads
        return f'<!doctype html><html lang="{language}"><head><style>{sheet}</style></head><body><main>{body}</main></body></html>'

    def color_sheet(self) -> str:
        """The style sheet that, added to the written source, draws each unit in the colour that is its
        number.
        """
        boxes = "".join(
            f"@page {side} {{ @{box} {{ color: {unit_color(number)} }} }}\n"
            for side, box, number in self._boxes
        )
        return boxes + "\n".join(
            f".u{number} {{ color: {unit_color(number)} !important }}" for number in self.units
        )

    # units of text

    def _unit(self, kind: UnitKind, text: str, *, is_footer: bool = False, **details: int | bool) -> int:
        number = len(self.units) + 1
        self.units[number] = SourceUnit(Unit(kind, region=self._region, **details), text, is_footer)
        return number

    def _marked(self, kind: UnitKind, text: str, **details: int | bool) -> str:
        """A unit of plain text; newlines become line breaks."""
        return f'<span class="u{self._unit(kind, text, **details)}">{"<br>".join(map(escape, text.split(chr(10))))}</span>'

    def _text(self, text: str) -> str:
        """Running text, with the places where a word may be divided."""
        if self.style.hyphenate and not self.style.is_chinese:
            text = DIVISION.sub("\u00ad", text)
        return escape(text)

    def _spans(self, spans: Spans) -> str:
        return "".join(self._span(span) for span in spans if span.text)

    def _span(self, span: Span) -> str:
        if not span.look:
            return self._text(span.text)
        tag = LOOK_TAGS[span.look]
        return f"<{tag}>{escape(span.text)}</{tag}>"

    # running heads

    def _running_heads(self) -> str:
        """Margin boxes; even pages have units of their own, as left and right may change places."""
        s = self.style
        rules = []
        for edge, head in (("top", s.header), ("bottom", s.footer)):
            if any(head.parts):
                rules.append(self._margin_boxes(":right", edge, head, head.parts))
                rules.append(
                    self._margin_boxes(":left", edge, head, head.parts[::-1] if head.swaps else head.parts)
                )
        if s.skip_first_head:
            none = " ".join(f"@top-{box} {{ content: none }}" for box in BOXES)
            rules.append(f"@page :first {{ {none} }}")
        return "\n".join(rules)

    def _margin_boxes(self, side: str, edge: str, head: RunningHead, parts: tuple[str, ...]) -> str:
        s = self.style
        inner, outer = ("bottom", "top") if edge == "top" else ("top", "bottom")
        rule = f"margin-{inner}: 8pt; padding-{outer}: 14pt; " + (
            f"border-{inner}: 0.5pt solid black;" if head.rule else ""
        )
        letters = (
            f"font: {'italic' if head.italic else 'normal'} {'bold' if head.bold else 'normal'} {s.size * head.scale:.2f}pt "
            f"{fonts(s, s.body_font)}; white-space: pre-line; vertical-align: {self.look.head_place}; {rule}"
        )
        boxes = []
        for box, part in zip(BOXES, parts, strict=True):
            if part:
                self._boxes.append(
                    (side, f"{edge}-{box}", self._unit(UnitKind.FURNITURE, part, is_footer=edge == "bottom"))
                )
            boxes.append(f"@{edge}-{box} {{ content: {self._content(part)}; {letters} }}")
        return f"@page {side} {{ {' '.join(boxes)} }}"

    def _content(self, template: str) -> str:
        """A template as a CSS `content` value."""
        shape = "lower-roman" if self.style.page_numbering == "i" else "decimal"
        parts = re.split(r"(\{pages?\})", template)
        counters = {"{page}": f"counter(page, {shape})", "{pages}": f"counter(pages, {shape})"}
        return " ".join(counters.get(part) or css_string(part) for part in parts if part) or '""'

    # running text

    def _flow(self, regions: tuple[Region, ...]) -> str:
        parts, run_in = [], ""
        for region, following in zip(regions, (*regions[1:], None), strict=True):
            self._region += 1
            if self._runs_in(region, following):
                run_in = f'<span class="h{region.level}">{self._marked(UnitKind.HEADING, region.text, level=region.level)}</span> &ensp;'
                continue
            parts.append(
                self._writers[type(region)](region) if not run_in else self._paragraph(region, run_in)
            )
            run_in = ""
        return "\n".join(parts)

    def _runs_in(self, region: Region, following: Region | None) -> bool:
        """Whether a heading stands on the first line of the paragraph after it."""
        if not (isinstance(region, Heading) and isinstance(following, Paragraph)) or "\n" in region.text:
            return False
        is_plain = not (following.is_quote or following.align or following.hang)
        return is_plain and self.style.headings[region.level - 1].is_run_in

    def _paragraph(self, paragraph: Paragraph, run_in: str = "") -> str:
        if (
            paragraph.hang
            and self.look.stacks_terms
            and [span.look for span in paragraph.spans] == ["bold", ""]
        ):
            return self._definition(*paragraph.spans)
        markers = [
            format_count(self.style.note_numbering, self._num_notes + n)
            for n in range(1, len(paragraph.notes) + 1)
        ]
        self._num_notes += len(markers)
        self._waiting_notes += [
            f"{marker} {text}" for marker, text in zip(markers, paragraph.notes, strict=True)
        ]
        number = self._unit(UnitKind.PARAGRAPH, plain_text(paragraph.spans) + "".join(markers))
        calls = "".join(f"<sup>{marker}</sup>" for marker in markers)
        text = f'<span class="u{number}">{self._spans(paragraph.spans)}{calls}</span>'
        if paragraph.is_quote:
            return f"<blockquote><p>{text}</p></blockquote>"
        if paragraph.hang:
            return f'<p style="padding-left: {paragraph.hang}em; text-indent: -{paragraph.hang}em">{text}</p>'
        align = f' class="flat" style="text-align: {paragraph.align}"' if paragraph.align else ""
        return f"<p{align}>{run_in}{text}</p>"

    def _definition(self, term: Span, meaning: Span) -> str:
        """A term on a line of its own above its meaning: two paragraphs, without the dash between them."""
        first = self._marked(UnitKind.PARAGRAPH, term.text)
        self._region += 1
        text = meaning.text.lstrip(" :–.")
        second = f'<span class="u{self._unit(UnitKind.PARAGRAPH, text)}">{self._text(text)}</span>'
        return f"<dl><dt><b>{first}</b></dt><dd>{second}</dd></dl>"

    def _notes(self) -> str:
        """The footnotes that wait, in small type."""
        if not self._waiting_notes:
            return ""
        parts = []
        for text in self._waiting_notes:
            self._region += 1
            parts.append(f'<p class="note">{self._marked(UnitKind.FOOTNOTE, text)}</p>')
        self._waiting_notes = []
        return f'<div class="notes">{"".join(parts)}</div>'

    def _heading(self, heading: Heading) -> str:
        text = self._marked(UnitKind.HEADING, heading.text, level=heading.level)
        return f'<h{heading.level} class="lead">{text}</h{heading.level}>'

    def _list_item(self, item: ListItem) -> str:
        """The marker is a real one, drawn by the browser; it takes its item's colour."""
        lists = self.style.lists
        number = self._unit(UnitKind.LIST_ITEM, f"{item.marker} {plain_text(item.spans)}", level=item.depth)
        hang = max(lists.hang, 0.6 + sum(1.0 if char >= "\u2460" else 0.55 for char in item.marker))
        indent = lists.indent * (item.depth - 1) + hang
        gap = lists.tight_gap if item.is_tight else lists.gap
        marker = escape(css_string(item.marker + " "))
        return (
            f'<ul style="padding-left: {indent:.2f}em; margin-top: {gap:.2f}em">'
            f'<li class="u{number}" style="list-style-type: {marker}">{self._spans(item.spans)}</li></ul>'
        )

    def _lines(self, lines: Lines) -> str:
        kind = UnitKind.CODE if lines.is_code else UnitKind.PARAGRAPH
        number = self._unit(kind, "\n".join(lines.lines), keeps_lines=True)
        if lines.is_code:
            return f'<pre class="u{number}">{escape(chr(10).join(lines.lines))}</pre>'
        return f'<p class="flat u{number}" style="{ALIGNS.get(lines.align, "text-align: left")}">{"<br>".join(map(escape, lines.lines))}</p>'

    def _field(self, field: Field) -> str:
        number = self._unit(UnitKind.PARAGRAPH, f"{field.label} {field.value}")
        label = f'<span style="width: {field.label_width:.0%}">{escape(field.label)}</span>'
        return f'<div class="field {"ruled" * field.has_rule} u{number}">{label}<span class="value">{escape(field.value)}</span></div>'

    def _toc_line(self, line: TocLine) -> str:
        number = self._unit(UnitKind.LIST_ITEM, f"{line.text} {LEADER} {line.target}", level=line.depth)
        dots = (". " if self.look.outdent else ".") * 200 if line.has_leader else ""
        return (
            f'<div class="toc u{number}" style="padding-left: {1.5 * (line.depth - 1)}em"><span>{escape(line.text)}</span>'
            f'<span class="dots">{dots}</span><span class="target">{escape(line.target)}</span></div>'
        )

    # tables and figures

    def _caption(self, text: str) -> str:
        """A caption is a region of its own."""
        if not text:
            return ""
        self._region += 1
        number = self._unit(UnitKind.CAPTION, text)
        self._region += 1
        at = min(len(text) // 4, 12) if self.style.caption_bold_label else 0
        place = "above" if self.style.captions_above else "below"
        return f'<p class="caption {place}"><span class="u{number}"><b>{escape(text[:at])}</b>{escape(text[at:])}</span></p>'

    def _with_caption(self, caption: str, write: Callable[[], str]) -> str:
        """The caption above or below what `write` writes; units are numbered in that order."""
        if self.style.captions_above:
            return self._caption(caption) + write()
        return write() + self._caption(caption)

    def _table(self, table: Table) -> str:
        return "<div>" + self._with_caption(table.caption, lambda: self._table_body(table)) + "</div>"

    def _table_body(self, table: Table) -> str:
        s, look = self.style, table.look
        outdent = self.look.outdent * s.size / s.column_width
        table, widths = fit_columns(
            table, s.column_width * (self._room - outdent), s.size * look.size * CHAR_WIDTH
        )
        name = f"t{self._region}"
        head = [
            self._row(row, number, table.aligns, "th")
            for number, row in enumerate(table.rows[: table.num_head_rows])
        ]
        rows = enumerate(table.rows[table.num_head_rows :], table.num_head_rows)
        body = [self._row(row, number, table.aligns, "td") for number, row in rows]
        columns = "".join(f'<col style="width: {width:.1f}pt">' if width else "<col>" for width in widths)
        return (
            f'<style>{self._table_css(name, look)}</style><table class="{name}"><colgroup>{columns}</colgroup>'
            f"<thead>{''.join(head)}</thead><tbody>{''.join(body)}</tbody></table>"
        )

    def _table_css(self, name: str, look: TableLook) -> str:
        """The rules of one table, nested in its class."""
        repeats = look.repeat_head and self.style.columns == 1  # in columns it would come twice on one page
        align = f"text-align: {self.look.head_align} !important" if self.look.head_align else ""
        return (
            f".{name} {{ font-size: {look.size:.2f}em; {'width: 100%;' if self.look.full_tables else ''} "
            f"{'margin-left: auto; margin-right: auto;' if look.align_center else ''} "
            f"td, th {{ padding: {look.inset_y:.1f}pt {look.inset_x:.1f}pt }} th {{ {HEAD_LOOKS[look.head]}; {align} }} "
            f"{'tbody tr:nth-child(even) { background: #eee }' if look.zebra else ''} "
            f"{'' if repeats else 'thead { display: table-row-group }'} {TABLE_LOOKS[look.stroke].replace('VAR', self.look.rule)} }}"
        )

    def _row(self, row: tuple[str, ...], number: int, aligns: tuple[str, ...], tag: str) -> str:
        """Cells of one row; an empty cell has no unit. A row of a first cell alone may be one wide cell."""
        if tag == "td" and self.look.merges_cells and row[0] and not any(row[1:]):
            return f'<tr><td colspan="{len(row)}">{self._cell(row[0], number, 0, len(row))}</td></tr>'
        cells = [
            f'<{tag} style="text-align: {align}">{self._cell(text, number, column, len(row))}</{tag}>'
            for column, (text, align) in enumerate(zip(row, aligns, strict=True))
        ]
        return f"<tr>{''.join(cells)}</tr>"

    def _cell(self, text: str, row: int, column: int, num_columns: int) -> str:
        return (
            self._marked(UnitKind.CELL, text, row=row, column=column, num_columns=num_columns) if text else ""
        )

    def _picture(self, figure: Figure, width: str) -> str:
        has_room = figure.width * self.style.column_width * 0.5 > LABEL_ROOM_PT
        labels = ""
        for x, y, text in figure.labels:
            if has_room or x < 0.3:
                self._region += 1
                labels += f'<span class="label" style="left: {x:.0%}; top: {y:.0%}">{self._marked(UnitKind.CAPTION, text)}</span>'
        return f'<div class="picture" style="width: {width}; height: {figure.height:.0f}pt">{_shapes(figure.drawing)}{labels}</div>'

    def _figure(self, figure: Figure) -> str:
        code = self._with_caption(figure.caption, lambda: self._picture(figure, f"{figure.width:.0%}"))
        return f"<figure>{code}</figure>"

    def _wrapped(self, wrapped: Wrapped) -> str:
        """A figure at the left is read before the text beside it, one at the right after it."""
        figure, picture, text = wrapped.figure, "", ""
        for is_picture in (wrapped.figure_on_left, not wrapped.figure_on_left):
            self._region += 1
            if is_picture:
                picture = self._picture(figure, "100%") + self._caption(figure.caption)
            else:
                text = f'<span class="u{self._unit(UnitKind.PARAGRAPH, wrapped.text)}">{self._text(wrapped.text)}</span>'
        side, gap = ("left", "0 1em 0.3em 0") if wrapped.figure_on_left else ("right", "0 0 0.3em 1em")
        float_style = f"float: {side}; width: {figure.width:.0%}; margin: {gap}; break-inside: avoid"
        return (
            f'<div class="wrapped"><div style="{float_style}">{picture}</div><p class="flat">{text}</p></div>'
        )

    # sections

    def _side_section(self, section: SideSection) -> str:
        level = section.heading.level
        heading = self._marked(UnitKind.HEADING, section.heading.text, level=level)
        self._room = 1.0 - self.style.side_width - 0.05
        body = self._flow(section.regions)
        self._room = 1.0
        color = self.style.headings[level - 1].color
        return f'<div class="side lead"><div class="head" style="color: {color}"><b>{heading}</b></div><div class="body">{body}</div></div>'

    def _title_block(self, block: TitleBlock) -> str:
        parts = [f'<h1 style="text-align: inherit; font-size: {self.style.headings[0].size * 1.25:.2f}em">']
        parts.append(self._marked(UnitKind.HEADING, block.heading.text, level=1) + "</h1>")
        for line in block.lines:
            self._region += 1
            parts.append(f"<p>{self._marked(UnitKind.PARAGRAPH, line)}</p>")
        place = (
            "own-page"
            if block.own_page
            else "spanning"
            if self.style.columns > 1 and self.style.spanning_title
            else ""
        )
        return f'<div class="title lead {place}">{"".join(parts)}</div>'


def unit_color(number: int) -> str:
    """The colour that is a unit's number, lowest byte first."""
    return "#" + number.to_bytes(3, "little").hex()


def css_string(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\A ")
    return f'"{escaped}"'


def _shapes(seed: int) -> str:
    """A picture: a tinted ground with some shapes and lines on it."""
    rng = Random(seed)
    light = rng.randint(170, 250)
    frame = rng.choice(("none", "#333"))
    code = f'<rect width="100%" height="100%" fill="rgb({light},{light},{light})" stroke="{frame}"/>'
    for _ in range(rng.randint(2, 9)):
        x, y, size = rng.randint(2, 80), rng.randint(2, 80), rng.randint(10, 40)
        color = f"rgb({rng.randint(40, 250)},{rng.randint(40, 250)},{rng.randint(40, 250)})"
        code += rng.choice(
            (
                f'<circle cx="{x}%" cy="{y}%" r="{size}" fill="{color}"/>',
                f'<rect x="{x}%" y="{y}%" width="{size}%" height="{size}%" fill="{color}"/>',
                f'<line x1="{x}%" y1="{y}%" x2="{x + size}%" y2="{y - size // 2}%" stroke="black"/>',
                f'<ellipse cx="{x}%" cy="{y}%" rx="{size}%" ry="{size // 3}%" fill="none" stroke="black"/>',
            )
        )
    return f"<svg>{code}</svg>"
