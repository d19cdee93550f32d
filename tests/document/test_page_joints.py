"""A word broken over a page end is one word in the document, and both halves are still to be had."""

import json

import pytest

from ocr_app.document.json_output import document_json
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.document.output import MarkdownJoiner, document_markdown
from ocr_app.types import PageResult, Piece, Region, RegionKind, Verdict


def page(number: int, *texts: str, kind: RegionKind = RegionKind.PARAGRAPH, **fields) -> PageResult:
    regions = tuple(Region(kind, (Piece(text),), **fields) for text in texts)
    return PageResult(number - 1, Verdict.OK, markdown=page_markdown(regions), regions=regions)


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        ("a long para-", "graph ends.", "a long paragraph ends."),
        ("the north-", "east wind", "the north-east wind"),
        ("a mother-in-", "law", "a mother-in-law"),
        ("PARA-", "GRAPH", "PARAGRAPH"),
        ("a soft\u00ad", "ened word", "a softened word"),
        ("of Anglo-", "Saxon times", "of Anglo-\n\nSaxon times"),
        ("pages 3-", "5 of it", "pages 3-\n\n5 of it"),
        ("a dash -", "then text", "a dash -\n\nthen text"),
        ("no hyphen", "here", "no hyphen\n\nhere"),
    ],
)
def test_halves_of_a_word_are_joined_by_rule(first: str, second: str, whole: str):
    pages = [page(1, "A North-East gale."), page(2, "x", first), page(3, second)]
    assert document_markdown(pages) == f"A North-East gale.\n\nx\n\n{whole}"


def test_the_hyphen_is_kept_also_where_the_compound_comes_later():
    pages = [page(1, "the north-"), page(2, "east wind"), page(3, "a north-east wind")]
    assert document_markdown(pages) == "the north-east wind\n\na north-east wind"


def test_chinese_goes_on_without_a_space():
    pages = [page(1, "船在港"), page(2, "口停泊。", is_continuation=True, is_tight=True)]
    assert document_markdown(pages) == "船在港口停泊。"


@pytest.mark.parametrize("kind", [RegionKind.HEADING, RegionKind.CODE, RegionKind.CAPTION, RegionKind.TABLE])
def test_only_running_text_is_joined(kind: RegionKind):
    if kind is RegionKind.TABLE:
        region = Region(kind, rows=(((Piece("para-"),),),))
    else:
        region = Region(kind, (Piece("para-"),), level=1)
    first = PageResult(0, Verdict.OK, markdown=page_markdown([region]), regions=(region,))
    assert document_markdown([first, page(2, "graph")]).endswith("\n\ngraph")


def test_a_hyphen_at_the_very_end_is_not_lost_and_a_page_keeps_its_half():
    assert document_markdown([page(1, "para-")]) == "para-"
    blank = PageResult(1, Verdict.BLANK)
    assert document_markdown([page(1, "para-"), blank, page(3, "graph")]) == "para-\n\ngraph"
    assert (
        document_markdown([page(1, "para-"), page(2, "graph")], separator="rule") == "para-\n\n---\n\ngraph"
    )


def test_the_stream_joins_what_it_knows():
    joiner = MarkdownJoiner()
    texts = [joiner.add(page(1, "para-")), joiner.add(page(2, "graph-")), joiner.finish()]
    assert texts == ["para", "graph", "-"]


def test_json_tells_what_was_joined_so_that_it_can_be_taken_back():
    record = json.loads(
        document_json([page(1, "north-east"), page(2, "para-"), page(3, "graph")], source="a.pdf")
    )
    assert record["word_joints"] == [
        {"after_page": 2, "before_page": 3, "word": "paragraph", "hyphen": "-", "is_dropped": True}
    ]
    assert [one["markdown"] for one in record["pages"]] == ["north-east", "para-", "graph"]
