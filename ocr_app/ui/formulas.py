"""Formulas in Markdown, written between \\( \\) or \\[ \\] as the large models do, as MathML that every
browser draws by itself.

The converter leaves text as it finds it, tags included; therefore its tree is written out here, by a list of
what MathML needs and nothing else. A dollar sign opens nothing: in documents it is money.
"""

import logging
import re
from collections.abc import Sequence
from html import escape, unescape
from typing import TYPE_CHECKING, Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.texmath import texmath_plugin

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

logger = logging.getLogger(__name__)

MAX_FORMULA_CHARS = 4000
TAGS = {
    *(
        "math",
        "mrow",
        "mi",
        "mn",
        "mo",
        "mtext",
        "mspace",
        "mfrac",
        "msqrt",
        "mroot",
        "msub",
        "msup",
        "msubsup",
        "munder",
        "mover",
    ),
    *("munderover", "mtable", "mtr", "mtd", "mstyle", "mpadded", "mphantom", "menclose"),
}
ATTRIBUTES = {
    *(
        "display",
        "stretchy",
        "fence",
        "form",
        "separator",
        "movablelimits",
        "lspace",
        "rspace",
        "linethickness",
        "mathvariant",
    ),
    *(
        "columnalign",
        "rowspacing",
        "columnspacing",
        "columnlines",
        "rowlines",
        "accent",
        "accentunder",
        "width",
        "height",
        "depth",
    ),
    *("minsize", "maxsize", "notation", "scriptlevel", "displaystyle"),
}
PLAIN_VALUE = re.compile(r"[\w .%+-]{0,60}")


def show_formulas(parser: MarkdownIt) -> None:
    """Let the parser find formulas and write them as MathML."""
    texmath_plugin(parser, delimiters="brackets")
    parser.add_render_rule("math_inline", _inline)
    parser.add_render_rule("math_block", _block)
    parser.add_render_rule("math_block_eqno", _block)


def formula_html(source: str, *, is_block: bool) -> str:
    """A formula as MathML; its source as code where it is no formula that can be read."""
    from latex2mathml.converter import convert_to_element

    if len(source) <= MAX_FORMULA_CHARS:
        try:
            return _element_html(convert_to_element(source, display="block" if is_block else "inline"))
        except Exception:  # the converter has no error of its own, and what a model writes can be anything
            logger.debug("a formula of %d characters is shown as its source", len(source), exc_info=True)
    return f"<code>{escape(source)}</code>"


def _inline(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return formula_html(tokens[index].content, is_block=False)


def _block(renderer: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f'<div class="formula" tabindex="0">{formula_html(tokens[index].content, is_block=True)}</div>'


def _element_html(element: "Element") -> str:
    """The element and what it holds; of what is not known only the contents."""
    inner = _text(element.text) + "".join(_element_html(child) + _text(child.tail) for child in element)
    if element.tag not in TAGS:
        return inner
    attributes = "".join(
        f' {name}="{value}"'
        for name, value in element.attrib.items()
        if name in ATTRIBUTES and PLAIN_VALUE.fullmatch(str(value))
    )
    return f"<{element.tag}{attributes}>{inner}</{element.tag}>"


def _text(text: str | None) -> str:
    """Characters are references in the converter's tree."""
    return escape(unescape(text or ""))
