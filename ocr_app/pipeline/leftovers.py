"""Text that was seen on a page and not written: it is appended line by line, marked, and the page is
incomplete. Ink in which no text was seen is told too. Knows readings and runs, not readers.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from ocr_app.document.blank import ink_share
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.types import Box, PageImage, PageReading, Piece, Region, RegionKind, Run, Verdict

MIN_INK_SHARE = 0.0005  # of the page: about one short word of print on a letter page
NO_TEXT = "There is ink but no text was found; it may be a picture or in a script that is not read."
ONLY_PICTURES = "Only pictures were found on this page."


@dataclass(frozen=True, slots=True)
class Completion:
    """A reading with what it left out, and the Markdown that this adds to its end."""

    reading: PageReading
    added: str = ""


def completed(reading: PageReading, runs: Sequence[Run]) -> Completion:
    """Append the runs that no region holds. A reader that points to no run at all cannot be asked."""
    written = {index for region in reading.regions for index in region.run_indices}
    left = [index for index in range(len(runs)) if index not in written]
    if not written and reading.markdown.strip():
        return Completion(reading)
    regions = (*reading.regions, *_unplaced(left, runs))
    num_unplaced = sum(len(region.run_indices) for region in regions if region.kind is RegionKind.UNPLACED)
    if not num_unplaced:
        return Completion(reading)
    reading = _as_incomplete(reading, _leftover_reason(num_unplaced))
    if not left:
        return Completion(reading)
    body = page_markdown(regions[len(reading.regions) :])
    added = "\n\n" + body if reading.markdown else body
    return Completion(replace(reading, regions=regions, markdown=reading.markdown + added), added)


def told_of_ink(reading: PageReading, image: PageImage, figures: Sequence[Box]) -> PageReading:
    """A page without text says why where there is ink on it: that is not blank paper."""
    is_wordless = not reading.markdown.strip() and not reading.regions
    if not is_wordless or reading.verdict not in (Verdict.OK, Verdict.BLANK) or image.is_blank:
        return reading
    if ink_share(image.pixels, figures) >= MIN_INK_SHARE:
        return replace(reading, verdict=Verdict.INCOMPLETE, reason=NO_TEXT)
    return replace(reading, reason=ONLY_PICTURES) if figures else reading


def _unplaced(left: Sequence[int], runs: Sequence[Run]) -> Iterator[Region]:
    """A region for each line of what was left."""
    for _, group in groupby(left, key=lambda index: runs[index].line_index):
        indices = list(group)
        spaces = [""] + [" " * runs[index].has_space_after for index in indices]
        pieces = (Piece(gap + runs[index].text, index) for gap, index in zip(spaces, indices, strict=False))
        yield Region(RegionKind.UNPLACED, tuple(pieces))


def _as_incomplete(reading: PageReading, reason: str) -> PageReading:
    if reading.verdict not in (Verdict.OK, Verdict.BLANK):
        return reading
    return replace(reading, verdict=Verdict.INCOMPLETE, reason=reason)


def _leftover_reason(num_runs: int) -> str:
    what = "1 piece of text was" if num_runs == 1 else f"{num_runs} pieces of text were"
    return f"{what} seen and not placed; what was left stands at the end of the page, marked."
