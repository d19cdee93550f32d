"""How the end of a line is joined to the next: a word that goes on loses its hyphen or keeps it, as the page
writes it elsewhere.
"""

import re

from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.models.embedded.grammar import Structure

BREAKING = "-\u2010\u00ad"  # hyphens at which words are broken; a dash is none
LAST_WORD = re.compile(r"[^\W_][\w'’]*[-\u2010\u00ad]$")
FIRST_WORD = re.compile(r"^[^\W_][\w'’]*(?:[-\u2010][^\W_][\w'’]*)*")
EDGES = "\"'“”‘’()[]{}.,;:!?…"


class Joins:
    """Knows the words of one page."""

    def __init__(self, page: SeenPage):
        self._words = {word.strip(EDGES).lower() for line in page.lines for word in line.text.split()}

    def between(self, before: str, after: str) -> tuple[Structure, ...]:
        """The token that joins two lines of one region; none where a space belongs between them."""
        last, first = LAST_WORD.search(before), FIRST_WORD.match(after)
        if not last or not first:
            return ()
        stem, rest = last[0][:-1], first[0]
        if not rest[0].islower():  # a number, a name or an abbreviation behind its own hyphen
            return (Structure.JOIN,)
        if f"{stem}-{rest}".lower() in self._words and (stem + rest).lower() not in self._words:
            return (Structure.JOIN,)
        return (Structure.DROP_HYPHEN,)
