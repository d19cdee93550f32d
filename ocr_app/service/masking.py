"""Strike out private data in a page: e-mail addresses, telephone numbers, identity and card numbers.

Each character is replaced by one block, so that places in the text stay where they were. By rule: it finds
what has the usual shape and says nothing of names or addresses.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from ocr_app.types import PageResult, Piece, Region, Run

BLOCK = "█"

# a backslash may stand before a character that Markdown would read otherwise
_PRIVATE = re.compile(
    r"[\w.+\\-]+@[\w\\-]+(?:\\?\.[\w\\-]+)+"  # e-mail
    r"|(?<!\w)\d{6}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?!\w)"  # identity, China
    r"|(?<![\w-])\d{3}\\?-\d{2}\\?-\d{4}(?![\w-])"  # social security, USA
    r"|(?<!\w)(?:\d{4}[ -]?){3}\d{4}(?!\w)"  # card
    r"|(?<![\w.])\\?\+\d{1,3}[ ()/.-]{0,2}(?:\d[ ()/.-]{0,2}){6,13}\d(?!\w)"  # telephone, international
    r"|(?<!\w)1[3-9]\d[ -]?\d{4}[ -]?\d{4}(?!\w)"  # mobile, China
    r"|(?<![\w.])\(?\d{3}\)?[ .-]\d{3}[ .-]\d{4}(?!\w)"  # telephone, North America
)


def masked_text(text: str) -> str:
    """The text, as long as it was, with private data struck out."""
    return _PRIVATE.sub(lambda match: re.sub(r"[^\s\\]", BLOCK, match.group()), text)


def masked_result(result: PageResult) -> PageResult:
    """The page with its Markdown, its regions and what was recognised masked alike."""
    return replace(
        result,
        markdown=masked_text(result.markdown),
        regions=tuple(map(_masked_region, result.regions)),
        runs=_masked_runs(result.runs),
    )


def _masked_region(region: Region) -> Region:
    rows = tuple(tuple(_masked_pieces(cell) for cell in row) for row in region.rows)
    return replace(region, pieces=_masked_pieces(region.pieces), rows=rows)


def _masked_pieces(pieces: tuple[Piece, ...]) -> tuple[Piece, ...]:
    texts = _masked_parts([piece.text for piece in pieces])
    return tuple(replace(piece, text=text) for piece, text in zip(pieces, texts, strict=True))


def _masked_runs(runs: tuple[Run, ...]) -> tuple[Run, ...]:
    texts = _masked_parts([run.text + " " * run.has_space_after for run in runs])
    return tuple(replace(run, text=text[: len(run.text)]) for run, text in zip(runs, texts, strict=True))


def _masked_parts(parts: Sequence[str]) -> list[str]:
    """Mask what is found in the joined text, part by part: an address may lie in several."""
    whole, masked, place = masked_text("".join(parts)), [], 0
    for part in parts:
        masked.append(whole[place : place + len(part)])
        place += len(part)
    return masked
