"""Word differences between two readings of one page, and how far they agree. Pure."""

import re
from dataclasses import dataclass
from difflib import SequenceMatcher
from html import escape

WORDS = re.compile(r"\s+|[\w']+|[^\w\s]", re.UNICODE)


@dataclass(frozen=True, slots=True)
class PageDiff:
    """Both texts as escaped HTML with the differing words marked, and the share of words in common, 0 to
    1.
    """

    first_html: str
    second_html: str
    agreement: float
    num_words: int


def words_of(text: str) -> list[str]:
    """Words, marks and stretches of space; joined they are the text. A Chinese sentence is split into its
    characters.
    """
    parts: list[str] = []
    for part in WORDS.findall(text):
        parts.extend(part if any("\u3400" <= char <= "\u9fff" for char in part) else [part])
    return parts


def page_diff(first: str, second: str) -> PageDiff:
    """Compare two readings word by word."""
    first_words, second_words = words_of(first), words_of(second)
    total = len(first_words) + len(second_words)
    if first == second:
        return PageDiff(escape(first), escape(second), 1.0, total)
    opcodes = SequenceMatcher(None, first_words, second_words, autojunk=False).get_opcodes()
    same = sum(end - start for tag, start, end, _, _ in opcodes if tag == "equal")
    return PageDiff(
        first_html="".join(_marked(first_words[a:b], tag != "equal", "del") for tag, a, b, _, _ in opcodes),
        second_html="".join(_marked(second_words[c:d], tag != "equal", "ins") for tag, _, _, c, d in opcodes),
        agreement=2 * same / total,
        num_words=total,
    )


def _marked(words: list[str], differs: bool, tag: str) -> str:
    text = escape("".join(words))
    return f"<{tag}>{text}</{tag}>" if differs and text else text
