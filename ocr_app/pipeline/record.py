"""The record of a page that was read: what the reader made of it, completed by what it left out, made sound,
with the paper it stands on.
"""

import logging
from typing import Any

from ocr_app.pipeline.attempt import PageAttempt
from ocr_app.pipeline.leftovers import completed, told_of_ink
from ocr_app.pipeline.soundness import Seen, sound_reading
from ocr_app.types import PageImage, PageReading, PageResult, Verdict

logger = logging.getLogger(__name__)


def page_result(
    image: PageImage, encode_s: float, seen: Seen, attempt: PageAttempt
) -> tuple[PageResult, str]:
    """The record, and the Markdown that it holds beyond what the reader wrote piece by piece."""
    markdown = "".join(attempt.written)
    reading, added = _completed(attempt, image, seen, markdown)
    if reading is None or attempt.was_cut:
        verdict, reason = attempt.verdict()
    else:
        verdict, reason = reading.verdict, reading.reason
    if verdict.is_good and image.lack:
        verdict, reason = Verdict.INCOMPLETE, image.lack
    paper = paper_of(image)
    result = PageResult(
        image.page_index,
        verdict,
        markdown=markdown + added,
        joint=reading.joint if reading else "\n\n",
        reason=reason,
        regions=reading.regions if reading else (),
        runs=seen.runs,
        figures=seen.figures,
        confidence=reading.confidence if reading else None,
        num_tokens=reading.num_tokens if reading else 0,
        encode_s=encode_s,
        decode_s=attempt.busy_s,
        **paper | {"notes": (*paper["notes"], *seen.notes)},
    )
    return result, added


def paper_of(image: PageImage | None) -> dict[str, Any]:
    """The fields of a page record that describe its image."""
    if image is None:
        return {}
    return {
        "width_px": image.width_px,
        "height_px": image.height_px,
        "dpi": image.dpi,
        "width_pt": image.width_pt,
        "height_pt": image.height_pt,
        "rotation": image.rotation,
        "turn": image.turn,
        "skew": image.skew,
        "notes": image.notes,
    }


def _completed(
    attempt: PageAttempt, image: PageImage, seen: Seen, markdown: str
) -> tuple[PageReading | None, str]:
    """The reading with its leftovers; as it is where the page was cut off or failed."""
    reading = attempt.reading
    if reading is None:
        return None, ""
    reading = sound_reading(reading, len(seen.runs))
    if reading.markdown != markdown:
        logger.error(
            "page %d: the reader's Markdown is not what it wrote piece by piece; the pieces are kept",
            image.page_number,
        )
    if attempt.was_cut:
        return reading, ""
    if not seen.runs:
        reading = told_of_ink(reading, image, seen.figures)
    done = completed(reading, seen.runs)
    return done.reading, done.added
