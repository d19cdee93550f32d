"""The plain reader: writes exactly what geometry suggests, with no decoder.

It is the baseline that the trained reader must beat.
"""

from collections.abc import Callable, Iterator

from ocr_app.config import AppConfig
from ocr_app.models.embedded.encoder import VisualEncoder
from ocr_app.models.embedded.geometry.suggestion import suggest
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS
from ocr_app.models.embedded.writer import TokenWriter
from ocr_app.types import EncodedPage, PageImage, PageReading, TextDelta, Verdict

STOP_EVERY_RUNS = 64


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
        """Write run after run. There is no KV cache, so there are no readings of one."""
        if not page.runs:
            yield PageReading(Verdict.BLANK, (), "", reason="no text was found on this page")
            return
        writer = TokenWriter(page, "")
        verdict, reason = Verdict.OK, None
        suggestion = suggest(page)
        for place, (tokens, run) in enumerate(zip(suggestion.before, suggestion.order, strict=True)):
            if place % STOP_EVERY_RUNS == 0 and should_stop():
                verdict, reason = Verdict.CANCELLED, "stopped while this page was being read"
                break
            text = "".join(map(writer.add, (*map(int, tokens), run + NUM_STRUCTURE_TOKENS)))
            yield TextDelta(page.page_index, text, (run,))
        yield TextDelta(page.page_index, writer.finish())
        confidence = sum(run.confidence for run in page.runs) / len(page.runs)
        yield PageReading(verdict, writer.regions, writer.markdown, reason=reason, confidence=confidence)

    def close(self) -> None:
        """Nothing is held."""
