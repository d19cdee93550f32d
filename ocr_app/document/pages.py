"""Page ranges as people write them: `1-5,9,20-`. Pages are counted from 1 here and from 0 in what is
returned.
"""

import re

from ocr_app.errors import PageRangeError

_PART = re.compile(r"(?P<first>[0-9]{1,9})?\s*(?P<dash>-)?\s*(?P<last>[0-9]{1,9})?")
_REMEDY = "Write page numbers and ranges such as 1-5,9,20- or -3."


def parse_page_range(text: str | None, page_count: int) -> tuple[int, ...]:
    """Page indices in the order asked for, each once. None or blank text means every page.

    A range that ends past the last page is cut there; one that begins past it is an error. Raises
    PageRangeError.
    """
    if text is None or not text.strip():
        return tuple(range(page_count))
    indices = (index for part in text.split(",") for index in _parse_part(part.strip(), text, page_count))
    return tuple(dict.fromkeys(indices))


def _parse_part(part: str, text: str, page_count: int) -> range:
    match = _PART.fullmatch(part)
    if match is None or not (match["first"] or match["last"]) or (match["last"] and not match["dash"]):
        raise PageRangeError(
            f"The page range {_shortened(text)!r} has a part that cannot be read: {_shortened(part)!r}. "
            f"{_REMEDY}"
        )
    first = int(match["first"] or 1)
    last = int(match["last"] or page_count) if match["dash"] else first
    if first < 1 or last < 1:
        raise PageRangeError(
            f"The page range {_shortened(text)!r} asks for page 0; pages are counted from 1. {_REMEDY}"
        )
    if first > page_count:
        raise PageRangeError(
            f"The page range {_shortened(text)!r} asks for page {first}; the document has {page_count} "
            "page(s)."
        )
    if last < first:
        raise PageRangeError(
            f"The page range {_shortened(text)!r} has the part {part!r}, which runs backwards. Write "
            f"{last}-{first}."
        )
    return range(first - 1, min(last, page_count))


def _shortened(text: str) -> str:
    return text if len(text) <= 40 else text[:39] + "…"
