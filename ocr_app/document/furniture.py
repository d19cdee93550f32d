"""Running heads over the pages of a document: decides for every region called furniture whether Markdown may
leave it out, and says how much was. Knows page records only.

`settle_page` decides with the pages before, as they come; `settled` decides again with all pages at hand, so
that a head whose first page could not know of its repetition is treated like the others.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from statistics import median

from ocr_app.document.markdown_writer import page_markdown
from ocr_app.document.running_heads import PageEdges, PlacedText, Repeats, running_heads
from ocr_app.types import Box, PageResult, Region, RegionKind, Run


def settle_page(result: PageResult, repeats: Repeats) -> PageResult:
    """The record with its furniture decided by the pages seen so far, this one added to them."""
    if not any(region.kind is RegionKind.FURNITURE for region in result.regions):
        return result
    edges = page_edges(result)
    repeats.add(edges)
    return _decided(result, edges, repeats)


def settled(results: Iterable[PageResult]) -> Iterator[PageResult]:
    """The records in their order, furniture decided over the whole document. An iterable that can be gone
    through twice is not held in memory.
    """
    pages = replayable(results)
    repeats = Repeats(page_edges(page) for page in pages)
    for page in pages:
        yield _decided(page, page_edges(page), repeats)


def replayable(results: Iterable[PageResult]) -> Iterable[PageResult]:
    """The records as something that can be gone through again."""
    return list(results) if isinstance(results, Iterator) else results


def result_markdown(result: PageResult, *, furniture: bool = False) -> str:
    """Markdown of one page. Running headers and page numbers can be written only where the reader told its
    regions.
    """
    if furniture and result.regions:
        return page_markdown(result.regions, furniture=True)
    return result.markdown


def num_lines_set_aside(result: PageResult) -> int:
    """Printed lines of the page that its Markdown leaves out."""
    return sum(_num_lines(region, result.runs) for region in result.regions if region.is_set_aside)


def set_aside_note(num_lines: int) -> str | None:
    """What a person reads about lines that were left out; None where none were."""
    if not num_lines:
        return None
    what = (
        "1 line set aside as a running head"
        if num_lines == 1
        else f"{num_lines} lines set aside as running heads"
    )
    return f"{what}; `--furniture` keeps {'it' if num_lines == 1 else 'them'}"


def page_edges(result: PageResult) -> PageEdges:
    """What the rule must know of a page. Regions without text count as nothing."""
    called, body = [], []
    for region in result.regions:
        if region.text:
            side = called if region.kind is RegionKind.FURNITURE else body
            side.append(_placed(region, result.runs))
    return PageEdges(result.page_index, result.width_px, result.height_px, tuple(called), tuple(body))


def _decided(result: PageResult, edges: PageEdges, repeats: Repeats) -> PageResult:
    """The record as the rule has it. A reader whose Markdown is not that of its regions keeps its own."""
    if not edges.called:
        return result
    aside = iter(running_heads(edges, repeats))
    regions = tuple(
        replace(region, is_kept=not next(aside))
        if region.kind is RegionKind.FURNITURE and region.text
        else region
        for region in result.regions
    )
    if regions == result.regions or page_markdown(result.regions) != result.markdown:
        return result
    return replace(result, regions=regions, markdown=page_markdown(regions))


def _placed(region: Region, runs: tuple[Run, ...]) -> PlacedText:
    boxes = [runs[index].box for index in region.run_indices if 0 <= index < len(runs)]
    boxes = [box for box in boxes if box[2] > box[0] and box[3] > box[1]]  # a run without a place has none
    if not boxes:
        return PlacedText(region.text, None)
    return PlacedText(region.text, _hull(boxes), median(box[3] - box[1] for box in boxes))


def _hull(boxes: list[Box]) -> Box:
    lefts, tops, rights, bottoms = zip(*boxes, strict=True)
    return min(lefts), min(tops), max(rights), max(bottoms)


def _num_lines(region: Region, runs: tuple[Run, ...]) -> int:
    if not region.text:
        return 0
    lines = {runs[index].line_index for index in region.run_indices if 0 <= index < len(runs)}
    return len(lines) or 1 + region.text.count("\n")
