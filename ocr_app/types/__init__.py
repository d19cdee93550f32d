"""Values that cross a module border: what was seen, what was written, and events.

A page is paper: a page of the user's document. `page_index` counts from 0 and is internal; `page_number`
counts from 1 and is shown. All boxes are (x0, y0, x1, y1) in pixels of the upright page image
(`PageImage.pixels` after the encoder has put it right), origin top left.
"""

from ocr_app.types.events import (
    DeviceMemory,
    DocumentFinished,
    Event,
    KVSample,
    Outcome,
    PageFinished,
    PageStarted,
    ResidentPage,
    ResidentState,
    Telemetry,
    TextDelta,
)
from ocr_app.types.seen import (
    Box,
    EncodedPage,
    Line,
    PageImage,
    PageLayout,
    Rule,
    Run,
    TableGrid,
)
from ocr_app.types.written import (
    PageFailure,
    PageReading,
    PageResult,
    Piece,
    Region,
    RegionKind,
    Verdict,
    cell_text,
)

__all__ = [
    "Box",
    "DeviceMemory",
    "DocumentFinished",
    "EncodedPage",
    "Event",
    "KVSample",
    "Line",
    "Outcome",
    "PageFailure",
    "PageFinished",
    "PageImage",
    "PageLayout",
    "PageReading",
    "PageResult",
    "PageStarted",
    "Piece",
    "Region",
    "RegionKind",
    "ResidentPage",
    "ResidentState",
    "Rule",
    "Run",
    "TableGrid",
    "Telemetry",
    "TextDelta",
    "Verdict",
    "cell_text",
]
