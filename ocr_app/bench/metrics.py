"""How close a text is to the true one: character error rate and word F1. Knows nothing of pages or models.

Both first fold what is no reading error: Unicode NFKC (full-width forms, ligatures), kinds of quotes and
dashes, and white space, which is one space between words and nothing beside a Chinese, Japanese or Korean
character.
"""

import re
import unicodedata
from collections import Counter

_CJK = "\u3000-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
_SPACE_BESIDE_CJK = re.compile(rf"(?<=[{_CJK}])\s+|\s+(?=[{_CJK}])")
_WORD = re.compile(rf"[{_CJK}]|[^\s{_CJK}]+")
_FOLDED = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛`´′", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
        "\u00ad": None,
    }
)


def normalise(text: str) -> str:
    """Fold quotes, dashes, widths and white space."""
    text = unicodedata.normalize("NFKC", text.translate(_FOLDED)).translate(_FOLDED)
    return " ".join(_SPACE_BESIDE_CJK.sub("", text).split())


def words(text: str) -> list[str]:
    """The words of a text; each Chinese, Japanese or Korean character is one."""
    return _WORD.findall(normalise(text))


def character_error_rate(truth: str, text: str) -> float:
    """Edits per true character, order included; 0 is perfect and more than 1 is possible."""
    from rapidfuzz.distance import Levenshtein

    truth, text = normalise(truth), normalise(text)
    if not truth:
        return float(bool(text))
    return Levenshtein.distance(truth, text) / len(truth)


def word_f1(truth: str, text: str) -> float:
    """F1 of the words as multisets: reading order does not count."""
    expected, found = Counter(words(truth)), Counter(words(text))
    num_shared = (expected & found).total()
    num_total = expected.total() + found.total()
    return 2 * num_shared / num_total if num_total else 1.0
