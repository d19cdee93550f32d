"""The plain reader: the encoder's lines grouped by geometry, with no decoder.

It is the fallback for a page the decoder left incomplete, and the baseline the trained reader must beat.
"""

from collections.abc import Callable, Iterator

from ocr_app.config import AppConfig
from ocr_app.document.markdown_writer import MarkdownWriter
from ocr_app.models.embedded.encoder import VisualEncoder
from ocr_app.models.embedded.plain_regions import PlainRegion, plain_regions
from ocr_app.types import EncodedPage, PageImage, PageReading, Piece, TextDelta, Verdict

FIRST_CJK = "\u2e80"
HYPHENS = "-\u2010\u00ad"


def open_plain(config: AppConfig) -> "PlainSession":
    """Open the plain reader for one document. Raises ModelMissingError when the encoder's weights are not
    there.
    """
    return PlainSession(VisualEncoder(config.encoder))


class PlainSession:
    """Reads pages one by one; keeps nothing between them."""

    def __init__(self, encoder: VisualEncoder) -> None:
        self._encoder = encoder

    def prepare(self, image: PageImage) -> EncodedPage:
        return self._encoder.encode(image)

    def read(self, page: EncodedPage, should_stop: Callable[[], bool]) -> Iterator[TextDelta | PageReading]:
        """Write one region after another. There is no KV cache, so there are no readings of one."""
        if not page.runs:
            yield PageReading(Verdict.BLANK, (), "", reason="no text was found on this page")
            return
        writer = MarkdownWriter()
        verdict, reason = Verdict.OK, None
        for region in plain_regions(page):
            if should_stop():
                verdict, reason = Verdict.INCOMPLETE, "stopped while this page was being read"
                break
            yield TextDelta(page.page_index, *_write(writer, page, region))
        yield TextDelta(page.page_index, writer.finish())
        confidence = sum(run.confidence for run in page.runs) / len(page.runs)
        yield PageReading(verdict, writer.regions, writer.markdown, reason=reason, confidence=confidence)

    def close(self) -> None:
        """Nothing is held."""


def _write(writer: MarkdownWriter, page: EncodedPage, region: PlainRegion) -> tuple[str, tuple[int, ...]]:
    """Write a region: the Markdown that became final, and the runs copied."""
    text = writer.start_region(region.kind, region.level)
    run_indices: list[int] = []
    for line_index in region.line_indices:
        line = page.lines[line_index]
        for run_index in range(line.first_run, line.first_run + line.num_runs):
            separator = _separator(writer, page, run_indices[-1], run_index) if run_indices else ""
            text += writer.add_piece(Piece(page.runs[run_index].text, run_index), separator)
            run_indices.append(run_index)
    return text, tuple(run_indices)


def _separator(writer: MarkdownWriter, page: EncodedPage, before: int, after: int) -> str:
    """What goes between two runs; a word parted at a line's end is joined, its hyphen dropped."""
    left, right = page.runs[before], page.runs[after]
    if left.line_index == right.line_index:
        return " " if left.has_space_after else ""
    if left.text[-1] in HYPHENS and len(left.text) > 1 and right.text[0].islower():
        writer.drop_hyphen()
        return ""
    return "" if left.text[-1] >= FIRST_CJK and right.text[0] >= FIRST_CJK else " "
