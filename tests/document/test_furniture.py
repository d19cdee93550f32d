"""Furniture over the pages of a document: what is left out of Markdown is proven, counted and in the JSON."""

import json

from ocr_app.document.furniture import num_lines_set_aside, set_aside_note, settle_page, settled
from ocr_app.document.json_output import document_json
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.document.output import document_markdown
from ocr_app.document.running_heads import Repeats
from ocr_app.types import PageResult, Piece, Region, RegionKind, Run, Verdict

HEAD, BODY, FOOT = (100.0, 60.0, 500.0, 80.0), (100.0, 300.0, 900.0, 320.0), (480.0, 1350.0, 500.0, 1370.0)


def page(index: int, head: str, body: str = "Body.", foot: str = "") -> PageResult:
    lines = [
        (head, HEAD, RegionKind.FURNITURE),
        (body, BODY, RegionKind.PARAGRAPH),
        (foot, FOOT, RegionKind.FURNITURE),
    ]
    lines = [line for line in lines if line[0]]
    runs = tuple(Run(text, box, 0.9, False, place, 0) for place, (text, box, _) in enumerate(lines))
    regions = tuple(Region(kind, (Piece(text, place),)) for place, (text, _, kind) in enumerate(lines))
    return PageResult(
        index,
        Verdict.OK,
        markdown=page_markdown(regions),
        regions=regions,
        runs=runs,
        width_px=1000,
        height_px=1400,
    )


def test_a_one_page_file_keeps_its_title_at_its_place():
    (result,) = settled([page(0, "Manual Transmittal")])
    assert result.markdown == "Manual Transmittal\n\nBody."
    assert result.regions[0].kind is RegionKind.FURNITURE
    assert num_lines_set_aside(result) == 0


def test_a_stream_knows_the_pages_before_and_the_document_all():
    pages = [page(index, "The Ferry Book", f"Body {index}.") for index in range(3)]
    repeats = Repeats()
    stream = [settle_page(result, repeats) for result in pages]
    assert [result.markdown for result in stream] == ["The Ferry Book\n\nBody 0.", "Body 1.", "Body 2."]
    assert [result.markdown for result in settled(stream)] == ["Body 0.", "Body 1.", "Body 2."]
    assert document_markdown(stream) == "Body 0.\n\nBody 1.\n\nBody 2."
    assert document_markdown(stream, furniture=True).count("The Ferry Book") == 3


def test_settling_twice_changes_nothing():
    once = list(settled([page(0, "Harbours", foot="12"), page(1, "Of Tides", foot="13")]))
    assert list(settled(once)) == once
    assert [result.markdown for result in once] == ["Body.", "Body."]


def test_json_has_every_line_with_its_kind_and_whether_it_was_left_out():
    (record,) = json.loads(document_json([page(0, "Manual Transmittal", foot="- 1 -")], source="a.pdf"))[
        "pages"
    ]
    assert [(region["text"], region["kind"], region.get("is_set_aside")) for region in record["regions"]] == [
        ("Manual Transmittal", "furniture", False),
        ("Body.", "paragraph", None),
        ("- 1 -", "furniture", True),
    ]
    assert record["num_lines_set_aside"] == 1
    assert record["notes"] == ["1 line set aside as a running head; `--furniture` keeps it"]


def test_a_reader_whose_markdown_is_its_own_keeps_it():
    own = page(0, "Manual Transmittal")
    own = PageResult(0, Verdict.OK, markdown="# Its own", regions=own.regions, runs=own.runs)
    assert next(settled([own])).markdown == "# Its own"


def test_the_note_counts_lines():
    assert set_aside_note(0) is None
    assert set_aside_note(3) == "3 lines set aside as running heads; `--furniture` keeps them"
