"""Words broken over a page end: which halves belong together, and whether the hyphen between them is one of
the word. Pure functions over texts and page records.

A hyphen is kept where the document itself writes the word with it elsewhere, or where the first half is
hyphenated already; else it was made by the line end and goes. Each page's own Markdown keeps its half.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ocr_app.types import PageResult, Region, RegionKind

_FIRST_HALF = re.compile(r"(?P<half>[^\W\d_]+(?:[-‐][^\W_]+)*)(?P<hyphen>[-‐\u00ad])$")
_SECOND_HALF = re.compile(r"[^\W\d_]+(?:[-‐][^\W_]+)*")
_COMPOUND = re.compile(r"[^\W_]+(?:[-‐][^\W_]+)+")
_RUNS_ON = (RegionKind.PARAGRAPH, RegionKind.LIST_ITEM)


@dataclass(frozen=True, slots=True)
class WordJoint:
    """How two halves are put together."""

    first: str
    second: str
    hyphen: str  # as printed at the page end
    is_dropped: bool

    @property
    def word(self) -> str:
        return self.first + ("" if self.is_dropped else self.hyphen) + self.second


def compounds_of(results: Iterable[PageResult]) -> set[str]:
    """Words that the document writes with a hyphen inside, in small letters."""
    found: set[str] = set()
    for result in results:
        text = "\n".join(region.text for region in result.regions) or result.markdown
        found.update(match.group().casefold().replace("‐", "-") for match in _COMPOUND.finditer(text))
    return found


def word_joints(results: Sequence[PageResult]) -> Iterator[tuple[PageResult, WordJoint]]:
    """Every word broken over a page end that the document's Markdown joins, with the page it ends on."""
    compounds = compounds_of(results)
    for before, result in pairwise(results):
        joint = shared_word(before, result, compounds) if is_next_good_page(before, result) else None
        if joint:
            yield result, joint


def shared_word(
    before: PageResult, result: PageResult, compounds: set[str], *, furniture: bool = False
) -> WordJoint | None:
    """The word that two neighbouring pages share; None where there is none."""
    last, first = visible_regions(before, furniture)[-1:], visible_regions(result, furniture)[:1]
    return word_joint(last[0], first[0], compounds) if last and first else None


def is_next_good_page(before: PageResult | None, result: PageResult) -> bool:
    """Whether both pages were read well and one follows the other."""
    if before is None or before.page_index + 1 != result.page_index:
        return False
    return before.verdict.is_good and result.verdict.is_good and bool(before.markdown)


def visible_regions(result: PageResult, furniture: bool) -> list[Region]:
    """The regions that are in the page's Markdown, with or without what was set aside."""
    return [region for region in result.regions if region.text and (furniture or not region.is_set_aside)]


def word_joint(last: Region | None, first: Region | None, compounds: set[str]) -> WordJoint | None:
    """The word that the last region of a page and the first of the next share; None where there is none."""
    if last is None or first is None or last.kind not in _RUNS_ON:
        return None
    if first.kind is not RegionKind.PARAGRAPH and not (first.kind in _RUNS_ON and first.is_continuation):
        return None
    before, after = _FIRST_HALF.search(last.text), _SECOND_HALF.match(first.text)
    if before is None or after is None or not _is_one_case(before["half"], after.group()):
        return None
    half, second = before["half"], after.group()
    is_compound = f"{half}-{second}".casefold().replace("‐", "-") in compounds
    is_dropped = before["hyphen"] == "\u00ad" or not (is_compound or re.search("[-‐]", half))
    return WordJoint(half, second, before["hyphen"], is_dropped)


def _is_one_case(first: str, second: str) -> bool:
    """A word goes on in small letters, or in capitals where all of it is: `Anglo-` and `Saxon` are two."""
    return second[0].islower() or (len(first) > 1 and first.isupper() and second.isupper())
