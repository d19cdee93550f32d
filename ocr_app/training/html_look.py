"""How a document looks in a browser: a `Style` and a theme as one style sheet. Knows nothing of texts and
units.
"""

from dataclasses import dataclass, replace
from random import Random

from ocr_app.training.styles import HeadingLook, Style

# Names as the browser's font matching knows them; what is not installed is replaced from the same split.
FONT_NAMES = {
    "AR PL UKai": "AR PL UKai CN",
    "New Computer Modern": "PT Serif",
    "Libertinus Serif": "Linux Libertine O",
}
CODE_LOOKS = {
    "frame": "border: 0.6pt solid #777; padding: 0.5em",
    "grey": "background: #ececec; padding: 0.6em",
    "plain": "padding: 0",
    "indented": "margin-left: 2.5em",
}
QUOTE_LOOKS = {
    "indent": "margin-left: 2.5em; margin-right: 2.5em",
    "bar": "margin-left: 0.6em; padding-left: 1em; border-left: 2.5pt solid #bbb",
    "italic": "margin-left: 1.5em; font-style: italic",
    "small": "margin-left: 3em; font-size: 0.9em",
}
TABLE_LOOKS = {  # nested in the rule of a table; VAR is a border
    "grid": "td, th { border: VAR }",
    "rows": "border-top: VAR; td, th { border-bottom: VAR }",
    "head": "border-top: VAR; border-bottom: VAR; thead th { border-bottom: VAR }",
    "outer": "border: VAR; thead th { border-bottom: VAR }",
    "columns": "td + td, th + th { border-left: VAR }",
    "none": "",
}
HEAD_LOOKS = {
    "plain": "font-weight: normal",
    "bold": "font-weight: bold",
    "grey": "font-weight: bold; background: #ddd",
    "dark": "font-weight: bold; background: #345; color: white",
}


@dataclass(frozen=True, slots=True)
class Theme:
    """What a family of web style sheets does beyond the style: every value is one that is drawn from."""

    name: str
    outdents: tuple[float, ...] = (
        0.0,
    )  # em by which headings stand left of the body, as in DocBook and manual pages
    ruled_levels: tuple[int, ...] = ()  # headings of these levels have a line below
    band_levels: tuple[int, ...] = ()  # headings of these levels stand on a grey band
    quotes: tuple[str, ...] = ("indent",)
    list_positions: tuple[str, ...] = ("outside",)
    stacks_terms: tuple[bool, ...] = (False,)  # a term stands on a line of its own above its meaning
    full_tables: tuple[bool, ...] = (False, True)
    head_aligns: tuple[str, ...] = ("", "center")  # "" as the column
    rule_colors: tuple[str, ...] = ("black",)
    merges_cells: tuple[bool, ...] = (False, False, False, True)


THEMES = {
    "train": (
        Theme("plain", quotes=("indent", "small"), stacks_terms=(True, False), list_positions=("outside", "outside", "inside")),
        Theme("docbook", outdents=(2.0, 3.0, 4.0, 5.0), stacks_terms=(True,), quotes=("indent",), head_aligns=("", "center")),
        Theme("manpage", outdents=(3.5, 5.0), stacks_terms=(True, False), full_tables=(False,)),
        Theme("docs", band_levels=(1, 2), quotes=("bar", "indent"), stacks_terms=(True,), rule_colors=("#999", "#bbb")),
        Theme("wiki", ruled_levels=(1, 2), quotes=("bar", "italic"), rule_colors=("#aaa", "black"), head_aligns=("center",)),
        Theme("office", quotes=("italic", "indent"), rule_colors=("black", "#444"), list_positions=("outside", "inside")),
    ),
    "held_out": (
        Theme("readme", ruled_levels=(1,), quotes=("bar",), stacks_terms=(True, False), rule_colors=("#ccc", "#888"), full_tables=(True,)),
        Theme("outline", outdents=(1.5, 2.5), band_levels=(3,), quotes=("small",), stacks_terms=(True,), list_positions=("inside",)),
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class HtmlLook:
    """A theme's draw for one document."""

    theme: Theme
    outdent: float
    quote: str
    list_position: str
    stacks_terms: bool
    full_tables: bool
    head_align: str
    rule: str  # CSS border of tables
    merges_cells: bool
    note_rule: bool
    head_place: str  # of running heads in the margin: top, middle, bottom


def draw_look(rng: Random, style: Style, split: str) -> HtmlLook:
    theme = rng.choice(THEMES[split])
    is_wide = style.columns == 1 and style.text_width > 330
    return HtmlLook(
        theme=theme,
        outdent=rng.choice(theme.outdents) if is_wide else 0.0,
        quote=rng.choice(theme.quotes),
        list_position=rng.choice(theme.list_positions),
        stacks_terms=rng.choice(theme.stacks_terms),
        full_tables=rng.choice(theme.full_tables),
        head_align=rng.choice(theme.head_aligns),
        rule=f"{rng.choice((0.4, 0.6, 0.8, 1.0))}pt solid {rng.choice(theme.rule_colors)}",
        merges_cells=rng.choice(theme.merges_cells),
        note_rule=rng.random() < 0.6,
        head_place=rng.choice(("middle", "middle", "bottom", "top")),
    )


def browser_style(style: Style) -> Style:
    """The style as far as a browser can set it: installed typefaces, and no printed page count beside a
    shifted first page.
    """
    counts_pages = any("{pages}" in part for head in (style.header, style.footer) for part in head.parts)
    return replace(
        style,
        body_font=FONT_NAMES.get(style.body_font, style.body_font),
        heading_font=FONT_NAMES.get(style.heading_font, style.heading_font),
        chinese_font=FONT_NAMES.get(style.chinese_font, style.chinese_font),
        first_page=1 if counts_pages else style.first_page,
    )


def fonts(style: Style, name: str) -> str:
    """A font-family list that holds Latin and Chinese letters."""
    names = (style.chinese_font, name) if style.chinese_first else (name, style.chinese_font)
    return ", ".join(f'"{name}"' for name in names)


def style_sheet(style: Style, look: HtmlLook) -> str:
    """Everything but the running heads and the colours of units."""
    s = style
    left, top, right, bottom = s.margins
    headings = "\n".join(_heading_css(s, look, level) for level in range(1, 5))
    outdented = (
        f"main > *, .side .body {{ margin-left: {look.outdent}em }} main > .lead {{ margin-left: 0 }}"
        if look.outdent
        else ""
    )
    return f"""
@page {{ size: {s.width}pt {s.height}pt; margin: {top:.1f}pt {right:.1f}pt {bottom:.1f}pt {left:.1f}pt }}
@page :first {{ counter-set: page {s.first_page} }}
* {{ print-color-adjust: exact; box-sizing: border-box }}
html, body {{ margin: 0; padding: 0 }}
body {{ font: {s.size}pt {fonts(s, s.body_font)}; line-height: {_line_height(s):.2f}; text-align: {_align(s)};
  hyphenate-character: "-"; orphans: 2; widows: 2 }}
main {{ columns: {s.columns}; column-gap: {s.column_gap:.1f}pt; column-rule: {"0.4pt solid black" if s.column_rule else "none"} }}
p, .item, .field, pre, blockquote, figure, .toc, dl {{ margin: {s.paragraph_gap:.2f}em 0 }}
p {{ text-indent: {s.first_indent:.2f}em }}
p.flat, .item p, .note, figure p, dd, dt, blockquote {{ text-indent: 0 }}
figure, .picture, tr, .field {{ break-inside: avoid }}
code, pre {{ font-family: {fonts(s, s.mono_font)}; font-size: 0.9em; hyphens: none }}
pre {{ white-space: pre-wrap; text-align: left; line-height: 1.25; {CODE_LOOKS[s.code_look]} }}
blockquote {{ {QUOTE_LOOKS[look.quote]} }}
blockquote p {{ margin: 0; text-indent: 0 }}
.note {{ font-size: 0.8em; line-height: 1.25; margin: 0.3em 0 }}
.notes {{ break-before: avoid; margin-top: 1.5em; padding-top: 0.4em; border-top: {"0.5pt solid black" if look.note_rule else "none"} }}
sup {{ font-size: 0.7em; line-height: 0 }}
dt {{ break-after: avoid; text-align: left }} dd {{ margin-left: 2.5em }}
ul {{ margin: 0; padding: 0; text-indent: 0 }}
li {{ list-style-position: {look.list_position}; text-indent: 0 }}
.field {{ display: flex; gap: 0.6em; text-align: left }} .field .value {{ flex: 1 }}
.ruled .value {{ border-bottom: 0.5pt solid black }}
.toc {{ display: flex; align-items: flex-end; text-align: left; gap: 0.3em; margin: 0.1em 0 }}
.toc .dots {{ flex: 1 1 2em; overflow: hidden; white-space: nowrap; min-width: 2em }}
.toc .target {{ white-space: nowrap }}
table {{ border-collapse: collapse; margin: 0.6em 0; text-align: left; text-indent: 0; line-height: 1.2 }}
td, th {{ vertical-align: top; font-weight: normal }}
p.caption {{ font-size: 0.92em; text-align: {s.caption_align};
  font-style: {"italic" if s.caption_italic else "normal"};
  text-indent: 0; margin: 0.4em 0 }}
p.caption.above {{ break-after: avoid }} p.caption.below {{ break-before: avoid }}
.picture {{ position: relative; margin: 0.4em auto }} .picture svg {{ position: absolute; width: 100%; height: 100% }}
.label {{ position: absolute; font-size: 0.8em; line-height: 1; white-space: nowrap; background: white; text-indent: 0 }}
.wrapped {{ display: flow-root }}
.side {{ display: flow-root; margin: 0.8em 0 }} .side .head {{ float: left; width: {s.side_width:.0%}; text-align: left }}
.side .body {{ margin-left: {s.side_width + 0.04:.0%} }}
.title {{ text-align: {s.headings[0].align}; margin-bottom: 1.5em; break-inside: avoid }} .title p {{ text-indent: 0; text-align: inherit }}
.spanning {{ column-span: all }} .own-page {{ break-after: page; padding-top: 20%; column-span: all }}
{outdented}
{headings}
"""


def _align(style: Style) -> str:
    return "justify" if style.justify else "left"


def _line_height(style: Style) -> float:
    """Never so tight that descenders leave their line: at the foot of a page the browser would print them
    again on the next page.
    """
    return 0.85 + 0.9 * style.leading


def _heading_css(style: Style, look: HtmlLook, level: int) -> str:
    """A heading's own block, and the same letters where it runs into its paragraph."""
    heading = style.headings[level - 1]
    has_rule = heading.rule or level in look.theme.ruled_levels
    block = [
        f"margin: {heading.above * style.size:.1f}pt 0 {heading.below * style.size:.1f}pt",
        f"text-align: {heading.align}; text-indent: 0; line-height: 1.2; break-after: avoid; break-inside: avoid",
        f"border-bottom: {look.rule if has_rule else 'none'}",
        "background: #e8e8e8; padding: 0.2em 0.4em" if level in look.theme.band_levels else "",
    ]
    return f"h{level} {{ {'; '.join(filter(None, block))} }} h{level}, .h{level} {{ {_letters(style, heading)} }}"


def _letters(style: Style, heading: HeadingLook) -> str:
    family = f"font-family: {fonts(style, style.heading_font)}; " if heading.use_sans else ""
    return (
        f"{family}font-size: {heading.size:.2f}em; font-weight: {'bold' if heading.bold else 'normal'}; "
        f"font-style: {'italic' if heading.italic else 'normal'}; color: {heading.color}; "
        f"font-variant: {'small-caps' if heading.smallcaps else 'normal'}"
    )
