"""Finished pages as JSON: text, regions and boxes, with the coordinate space stated. Knows page records
only.
"""

import json
from collections.abc import Iterable
from typing import Any

from ocr_app import __version__
from ocr_app.document.furniture import num_lines_set_aside, set_aside_note, settled
from ocr_app.document.page_joints import WordJoint, word_joints
from ocr_app.types import Box, PageResult, Piece, Region, RegionKind, Run, Verdict, cell_text

SCHEMA_VERSION = 1

# what a program needs to know before it uses a box
COORDINATES = {
    "unit": "pixel",
    "origin": "top left of the upright page image",
    "box": "[x0, y0, x1, y1]",
    "upright": (
        "The page as its file asks (rotation, already applied), then turned clockwise by `turn` degrees and "
        "straightened by `skew` degrees. To points of the page: pixel / dpi * 72."
    ),
}


def document_json(results: Iterable[PageResult], *, source: str) -> str:
    """The document as JSON text. `source` is the name of the file, as a person knows it."""
    return json.dumps(document_record(results, source=source), ensure_ascii=False)


def document_record(results: Iterable[PageResult], *, source: str) -> dict[str, Any]:
    """The same as plain values."""
    results = list(settled(results))
    pages = [page_record(result) for result in results]
    counts = {verdict.value: sum(page["verdict"] == verdict.value for page in pages) for verdict in Verdict}
    return {
        "schema_version": SCHEMA_VERSION,
        "generator": f"longscribe {__version__}",
        "source": source,
        "page_count": len(pages),
        "has_warnings": any(not page["is_good"] for page in pages),
        "verdict_counts": {name: count for name, count in counts.items() if count},
        "coordinates": COORDINATES,
        "word_joints": [_joint_record(*joint) for joint in word_joints(results)],
        "pages": pages,
    }


def _joint_record(result: PageResult, joint: WordJoint) -> dict[str, Any]:
    """A word that the Markdown of the whole document joins; each page's own Markdown keeps its half."""
    return {
        "after_page": result.page_number - 1,
        "before_page": result.page_number,
        "word": joint.word,
        "hyphen": joint.hyphen,
        "is_dropped": joint.is_dropped,
    }


def page_record(result: PageResult) -> dict[str, Any]:
    """One page as plain values; `region.runs` are places in the page's list of runs."""
    size = {
        "width_px": result.width_px,
        "height_px": result.height_px,
        "width_pt": result.width_pt,
        "height_pt": result.height_pt,
    }
    return {
        "page_number": result.page_number,
        "verdict": result.verdict.value,
        "is_good": result.verdict.is_good,
        "reason": result.reason,
        "notes": page_notes(result),
        "num_lines_set_aside": num_lines_set_aside(result),
        "size": size,
        "dpi": result.dpi,
        "rotation": result.rotation,
        "turn": result.turn,
        "skew": result.skew,
        "confidence": result.confidence,
        "num_tokens": result.num_tokens,
        "encode_s": result.encode_s,
        "decode_s": result.decode_s,
        "markdown": result.markdown,
        "joint": result.joint,
        "regions": [_region_record(region, result.runs) for region in result.regions],
        "runs": [_run_record(run) for run in result.runs],
        "figures": [_rounded(box) for box in result.figures],
    }


def page_notes(result: PageResult) -> list[str]:
    """What a person should know about a page beside its verdict, lines that were set aside included."""
    return [*result.notes, *filter(None, [set_aside_note(num_lines_set_aside(result))])]


def _region_record(region: Region, runs: tuple[Run, ...]) -> dict[str, Any]:
    indices = list(region.run_indices)
    record = {
        "kind": region.kind.value,
        "text": region.text,
        "box": _hull([runs[index] for index in indices if index < len(runs)]),
        "runs": indices,
        "is_continuation": region.is_continuation,
        "is_tight": region.is_tight,
    }
    if region.level:
        record["level"] = region.level
    if region.kind is RegionKind.FURNITURE:
        record["is_set_aside"] = region.is_set_aside
    if region.kind is RegionKind.TABLE:
        record["rows"] = [[_cell_record(cell) for cell in row] for row in region.rows]
    return record


def _cell_record(cell: tuple[Piece, ...]) -> dict[str, Any]:
    return {
        "text": cell_text(cell),
        "runs": [piece.run_index for piece in cell if piece.run_index is not None],
    }


def _run_record(run: Run) -> dict[str, Any]:
    return {
        "text": run.text,
        "box": _rounded(run.box),
        "confidence": round(run.confidence, 4),
        "has_space_after": run.has_space_after,
        "line": run.line_index,
        "place_in_line": run.place_in_line,
    }


def _hull(runs: list[Run]) -> list[float] | None:
    """The smallest box round all runs; None where a region has no run on the page."""
    if not runs:
        return None
    lefts, tops, rights, bottoms = zip(*(run.box for run in runs), strict=True)
    return _rounded((min(lefts), min(tops), max(rights), max(bottoms)))


def _rounded(box: Box) -> list[float]:
    return [round(side, 2) for side in box]
