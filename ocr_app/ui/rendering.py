"""Text of a document as HTML that is safe to show. The only place of `ui` where document text becomes markup.

Two sources: the regions of a finished page, whose pieces carry the run they were copied from; and Markdown,
for a page still growing or a reader without regions. Every character of the document is escaped, links do
nothing, pictures are not loaded.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from html import escape
from itertools import groupby
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ocr_app.types import PageResult, Piece, Region, RegionKind
from ocr_app.ui.formulas import show_formulas

NUMBERING = re.compile(r"[(\[]?\w{1,4}[.)\]]")
BULLETS = "•▪–—*·◦●○■□-"
TAG_OF_KIND = {
    RegionKind.PARAGRAPH: ("p", ""),
    RegionKind.CODE: ("pre", ""),
    RegionKind.CAPTION: ("p", "caption"),
    RegionKind.FOOTNOTE: ("p", "footnote"),
    RegionKind.FURNITURE: ("p", "furniture"),
    RegionKind.UNPLACED: ("p", "unplaced"),
}


def page_html(result: PageResult) -> str:
    """A finished page: from its regions where it has them, else from its Markdown."""
    if not result.regions:
        return markdown_html(result.markdown)
    groups = groupby(result.regions, key=lambda region: region.kind is RegionKind.LIST_ITEM)
    return "".join(
        _list_html(group) if is_list else "".join(map(_region_html, group)) for is_list, group in groups
    )


def _region_html(region: Region) -> str:
    if region.kind is RegionKind.TABLE:
        return _table_html(region.rows)
    if region.kind is RegionKind.HEADING:
        level = min(max(region.level, 1), 6)
        return f"<h{level}>{_pieces_html(region.pieces)}</h{level}>"
    is_body = region.kind is RegionKind.FURNITURE and not region.is_set_aside
    tag, css_class = TAG_OF_KIND[RegionKind.PARAGRAPH if is_body else region.kind]
    attribute = f' class="{css_class}"' if css_class else ""
    return f"<{tag}{attribute}>{_pieces_html(region.pieces)}</{tag}>"


def _list_html(items: Iterable[Region]) -> str:
    return "<ul>" + "".join(_item_html(item) for item in items) + "</ul>"


def _item_html(item: Region) -> str:
    """A list item: a bullet glyph of the page gives way to the browser's own, a number stays as it was
    read.
    """
    text = item.text
    has_bullet = len(text) > 1 and text[0] in BULLETS and text[1] == " "
    pieces = _without_bullet(item.pieces) if has_bullet else item.pieces
    css_class = "bulleted" if has_bullet or not NUMBERING.match(text) else "numbered"
    return f'<li class="{css_class}" style="--depth:{min(max(item.level, 1), 6)}">{_pieces_html(pieces)}</li>'


def _without_bullet(pieces: Sequence[Piece]) -> list[Piece]:
    first, *rest = pieces
    return [Piece(first.text.lstrip()[1:], first.run_index), *rest]


def _table_html(rows: Sequence[Sequence[Sequence[Piece]]]) -> str:
    if not rows:
        return ""
    head, *body = rows
    lines = ["<tr>" + "".join(f'<th scope="col">{_pieces_html(cell)}</th>' for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{_pieces_html(cell)}</td>" for cell in row) + "</tr>" for row in body]
    return f'<div class="table-scroll" tabindex="0"><table>{"".join(lines)}</table></div>'


def _pieces_html(pieces: Iterable[Piece]) -> str:
    return "".join(_piece_html(piece) for piece in pieces).strip()


def _piece_html(piece: Piece) -> str:
    if piece.run_index is None:
        return escape(piece.text)
    # the separator in front stays outside, so that lighting up a run does not underline the space
    bare = piece.text.lstrip()
    lead = piece.text[: len(piece.text) - len(bare)]
    return f'{lead}<span data-run="{int(piece.run_index)}">{escape(bare)}</span>' if bare else escape(lead)


def markdown_html(markdown: str) -> str:
    """Markdown as inert HTML."""
    return _parser().render(markdown)


@cache
def _parser() -> MarkdownIt:
    # html off: tags in the text come out escaped
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    show_formulas(parser)
    parser.add_render_rule("link_open", _open_link)
    parser.add_render_rule("link_close", _close_link)
    parser.add_render_rule("image", _image)
    return parser


def _open_link(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<span class="link" title="{escape(str(tokens[index].attrs.get("href", "")))}">'


def _close_link(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return "</span>"


def _image(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<span class="picture">{escape(tokens[index].content)}</span>'
