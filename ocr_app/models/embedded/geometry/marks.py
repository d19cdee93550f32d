"""Marks at the start of a line: bullets, numbers and letters of list items, numbers of sections."""

import re
from dataclasses import dataclass

from ocr_app.models.embedded.letters import WIDE

BULLET = re.compile(
    r"^(?:\[[ x]\]\s|[•·▪■●○◦‣∙▸►➢➤✓✔□☐☑☒❑](?:\s|$|(?=[^\W_]))|[–—*-](?:\s|$)|-{1,2}[^\W\d_][\w-]*\s+\S)"
)
NUMBER = re.compile(rf"^[(（\[]?(\d{{1,3}})(?:[.)\]](?=$|\s|[^\W\d_])|[）、]|\.(?=[{WIDE}]))")
LETTER = re.compile(r"^[(（\[]?([a-zA-Z])[.)\]）](?=$|\s|[A-Z])")
ROMAN = re.compile(r"^[(（\[]?([ivx]{1,5}|[IVX]{1,5})[.)\]）](?=$|\s)")
CIRCLED = re.compile(r"^[①-⑳⑴-⒇]")
CHINESE = re.compile(r"^[(（]?[一二三四五六七八九十]{1,3}[)）、.]")
SECTION = re.compile(r"^(\d{1,3}(?:\.\d{1,3})+)[.)]?\s")
OPTION = re.compile(r"^-{1,2}[^\W\d_][\w-]*$")


@dataclass(frozen=True, slots=True)
class Mark:
    """What stands before an item."""

    kind: str  # bullet, number, letter, roman or other
    value: int | None = None  # of a number or letter, from 1


def read_mark(text: str) -> Mark | None:
    """The mark a line begins with, if any; a mark alone counts, as its text may be a piece of its own."""
    if BULLET.match(text):
        return Mark("bullet")
    if number := NUMBER.match(text):
        return Mark("number", int(number[1]))
    if roman := ROMAN.match(text):
        return Mark("roman", _roman(roman[1]))
    if letter := LETTER.match(text):
        return Mark("letter", ord(letter[1].lower()) - ord("a") + 1)
    if CIRCLED.match(text) or CHINESE.match(text):
        return Mark("other")
    return None


def _roman(text: str) -> int:
    values = [{"i": 1, "v": 5, "x": 10}[character] for character in text.lower()]
    return sum(-v if any(w > v for w in values[i + 1 :]) else v for i, v in enumerate(values))


def is_in_turn(mark: Mark, others: list[Mark]) -> bool:
    """Whether a letter or number has a neighbour among other marks, so that it counts and is no initial of a
    name.
    """
    if mark.value is None or mark.value == 1:
        return True
    return any(other.value is not None and abs(other.value - mark.value) == 1 for other in others)
