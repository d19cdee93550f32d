"""Finished pages as Markdown, JSON, HTML and ZIP."""

import io
import json
import zipfile
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.document.furniture import settled
from ocr_app.document.html_output import document_html
from ocr_app.document.json_output import SCHEMA_VERSION, document_json
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.document.output import MarkdownJoiner, document_markdown, document_zip
from ocr_app.types import PageResult, Piece, Region, RegionKind, Run, Verdict

HOSTILE = (
    "<script>alert(1)</script> [click](javascript:alert(1)) ![x](http://evil/x.png) "
    '<img src=x onerror=alert(1)> "&lt;'
)


def region(text: str, kind: RegionKind = RegionKind.PARAGRAPH, **fields) -> Region:
    return Region(kind, (Piece(text),), **fields)


def page(number: int, *regions: Region, verdict: Verdict = Verdict.OK, **fields) -> PageResult:
    return PageResult(number - 1, verdict, markdown=page_markdown(regions), regions=regions, **fields)


def test_a_sentence_over_a_page_border_is_one_sentence():
    pages = [
        page(1, region("It goes")),
        page(2, region("on here.", is_continuation=True)),
        page(3, region("New.")),
    ]
    assert document_markdown(pages) == "It goes on here.\n\nNew."


def test_a_tight_continuation_is_joined_without_a_space():
    pages = [page(1, region("informa")), page(2, region("tion", is_continuation=True, is_tight=True))]
    assert document_markdown(pages) == "information"


@pytest.mark.parametrize(
    "pages",
    [
        [page(1, region("a", RegionKind.HEADING, level=1)), page(2, region("b", is_continuation=True))],
        [page(1, region("a"), region("f", RegionKind.FOOTNOTE)), page(2, region("b", is_continuation=True))],
        [page(1, region("a")), page(3, region("b", is_continuation=True))],
        [page(1, region("a"), verdict=Verdict.INCOMPLETE), page(2, region("b", is_continuation=True))],
        [page(2, region("a")), page(1, region("b", is_continuation=True))],
        [page(1, region("a")), page(2, region("n", RegionKind.CAPTION), region("b", is_continuation=True))],
    ],
    ids=[
        "after a heading",
        "after a footnote",
        "page left out",
        "page before not whole",
        "other order",
        "not first on its page",
    ],
)
def test_what_does_not_stand_next_to_each_other_is_not_joined(pages: list[PageResult]):
    first, second = document_markdown(pages[:1]), pages[1].markdown
    assert document_markdown(pages).endswith("\n\n" + second)
    assert document_markdown(pages).startswith(first)


def test_furniture_is_written_on_request_and_then_parts_the_pages():
    pages = [
        page(1, region("It goes"), region("1", RegionKind.FURNITURE)),
        page(2, region("on.", is_continuation=True), region("2", RegionKind.FURNITURE)),
    ]
    assert document_markdown(pages) == "It goes on."
    assert document_markdown(pages, furniture=True) == "It goes\n\n1\n\non.\n\n2"


def test_separators():
    pages = [page(1, region("a")), page(2, verdict=Verdict.BLANK), page(3, region("b"))]
    assert document_markdown(pages) == "a\n\nb"
    assert document_markdown(pages, separator="rule") == "a\n\n---\n\nb"
    assert (
        document_markdown(pages, separator="comment")
        == "<!-- page 1 -->\n\na\n\n<!-- page 2 -->\n\n<!-- page 3 -->\n\nb"
    )


def test_a_page_that_was_not_read_leaves_its_reason_in_a_comment_that_cannot_be_broken_out_of():
    failed = page(2, verdict=Verdict.FAILED, reason="broken --> <script>")
    text = document_markdown([page(1, region("a")), failed, page(3, region("b"))])
    assert text == "a\n\n<!-- page 2: failed: broken - - <script -->\n\nb"


kinds = st.sampled_from(
    [RegionKind.PARAGRAPH, RegionKind.LIST_ITEM, RegionKind.HEADING, RegionKind.FURNITURE, RegionKind.TABLE]
)
regions = st.builds(
    lambda kind, text, goes_on: region(text, kind, is_continuation=goes_on),
    kinds,
    st.text("ab ", max_size=4),
    st.booleans(),
)
pages = st.lists(st.tuples(st.sampled_from(list(Verdict)), st.lists(regions, max_size=3)), max_size=5).map(
    lambda plan: [page(number, *parts, verdict=verdict) for number, (verdict, parts) in enumerate(plan, 1)]
)


@settings(max_examples=150, deadline=None)
@given(pages, st.booleans(), st.sampled_from(["none", "rule", "comment"]))
def test_pages_joined_one_by_one_are_the_document_and_all_of_their_text_is_in_it(
    results: list[PageResult], furniture: bool, separator
):
    joiner = MarkdownJoiner(furniture=furniture, separator=separator)
    results = list(settled(results))
    text = "".join([joiner.add(result) for result in results]) + joiner.finish()
    assert text == document_markdown(results, furniture=furniture, separator=separator)
    rest = text
    for result in results:
        body = page_markdown(result.regions, furniture=furniture)
        assert body in rest
        rest = rest[rest.index(body) + len(body) :]


def runs() -> tuple[Run, ...]:
    return (
        Run("Hello", (10, 20, 50, 30), 0.987654, True, 0, 0),
        Run("world", (55, 19, 90, 31), 0.5, False, 0, 1),
    )


def test_json_states_sizes_space_verdicts_and_where_each_region_lies():
    table = Region(RegionKind.TABLE, rows=(((Piece("Hello", 0),), (Piece("world", 1),)),))
    read = page(
        1,
        Region(RegionKind.HEADING, (Piece("Hello", 0), Piece(" world", 1)), level=2),
        table,
        runs=runs(),
        dpi=150.0,
        rotation=90,
        turn=270,
    )
    document = json.loads(
        document_json([read, page(2, verdict=Verdict.TIMEOUT, reason="took too long")], source="a.pdf")
    )
    assert document["schema_version"] == SCHEMA_VERSION
    assert document["verdict_counts"] == {"ok": 1, "timeout": 1}
    assert document["has_warnings"]
    assert document["coordinates"]["origin"].startswith("top left")
    first, second = document["pages"]
    assert (first["dpi"], first["rotation"], first["turn"]) == (150.0, 90, 270)
    assert first["regions"][0] == {
        "kind": "heading",
        "text": "Hello world",
        "box": [10, 19, 90, 31],
        "runs": [0, 1],
        "is_continuation": False,
        "is_tight": False,
        "level": 2,
    }
    assert first["regions"][1]["rows"] == [[{"text": "Hello", "runs": [0]}, {"text": "world", "runs": [1]}]]
    assert first["runs"][0] == {
        "text": "Hello",
        "box": [10, 20, 50, 30],
        "confidence": 0.9877,
        "has_space_after": True,
        "line": 0,
        "place_in_line": 0,
    }
    assert (second["verdict"], second["reason"], second["regions"]) == ("timeout", "took too long", [])


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "markdown",
    [page_markdown([region(HOSTILE)]), HOSTILE],
    ids=["from regions", "from a reader without regions"],
)
def test_html_shows_hostile_text_as_text(markdown: str):
    result = PageResult(0, Verdict.FAILED, markdown=markdown, reason=HOSTILE)
    parsed = Tags()
    parsed.feed(document_html([result], title=HOSTILE))
    assert {"script", "img", "iframe", "object", "form"}.isdisjoint(parsed.tags)
    assert not [name for name, _ in parsed.attributes if name.startswith("on")]
    assert not [value for name, value in parsed.attributes if name == "href" and not value.startswith("http")]
    assert "<script>alert(1)</script>" in parsed.text


def test_html_has_a_section_for_every_page_and_says_what_went_wrong():
    text = document_html(
        [
            page(1, region("a", RegionKind.HEADING, level=1)),
            page(2, verdict=Verdict.TOKEN_CAP, reason="8192 tokens"),
        ]
    )
    assert '<section id="page-1" dir="auto">' in text
    assert "<h1>a</h1>" in text
    assert '<section id="page-2" dir="auto">' in text
    assert "token cap: 8192 tokens" in text


def table(*rows: tuple[str, ...], **fields) -> Region:
    return Region(
        RegionKind.TABLE,
        rows=tuple(tuple((Piece(text),) if text else () for text in row) for row in rows),
        **fields,
    )


def test_a_table_over_page_borders_is_one_table_without_its_repeated_header():
    header = ("name", "sum")
    pages = [
        page(1, region("Before."), table(header, ("a", "1"))),
        page(2, table(header, ("b", "2"), is_continuation=True)),
        page(3, table(header, ("c", ""), is_continuation=True), region("After.")),
    ]
    rows = ["| name | sum |", "| --- | --- |", "| a | 1 |", "| b | 2 |", "| c |  |"]
    assert document_markdown(pages) == "Before.\n\n" + "\n".join(rows) + "\n\nAfter."


def test_a_first_row_unlike_the_header_is_kept():
    pages = [page(1, table(("name", "sum"), ("a", "1"))), page(2, table(("b", "2"), is_continuation=True))]
    assert document_markdown(pages).endswith("| a | 1 |\n| b | 2 |")


@pytest.mark.parametrize(
    "second",
    [table(("b", "2")), table(("b", "2", "3"), is_continuation=True), region("text", is_continuation=True)],
    ids=["a new table", "other columns", "text"],
)
def test_what_does_not_go_on_with_a_table_stands_apart(second):
    first = page(1, table(("name", "sum"), ("a", "1")))
    assert document_markdown([first, page(2, second)]) == first.markdown + "\n\n" + page(2, second).markdown


def test_zip_holds_every_format_and_every_page_and_is_repeatable():
    results = [page(1, region("a")), page(2, verdict=Verdict.BLANK), page(3, region("b"))]
    data = document_zip(results, source="../../evil.pdf")
    assert data == document_zip(results, source="../../evil.pdf")
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = archive.namelist()
        assert archive.read("document.md").decode() == document_markdown(results) + "\n"
        assert json.loads(archive.read("document.json"))["page_count"] == 3
    assert names == [
        "document.md",
        "document.html",
        "document.json",
        *(f"pages/page-000{number}.md" for number in (1, 2, 3)),
    ]


def test_pictures_lie_in_the_zip_and_are_linked_from_their_page():
    results = [page(1, region("a")), page(2, verdict=Verdict.BLANK), page(3, region("b"))]
    with zipfile.ZipFile(
        io.BytesIO(document_zip(results, source="a.pdf", figures={1: [b"first"], 2: [b"second", b"third"]}))
    ) as archive:
        found = {name: archive.read(name) for name in archive.namelist() if name.startswith("figures/")}
        pages = [archive.read(f"pages/page-000{number}.md").decode() for number in (1, 2, 3)]
    assert found == {
        "figures/page-0002-1.jpg": b"first",
        "figures/page-0003-1.jpg": b"second",
        "figures/page-0003-2.jpg": b"third",
    }
    assert pages == [
        "a\n",
        "![](../figures/page-0002-1.jpg)\n",
        "b\n\n![](../figures/page-0003-1.jpg)\n\n![](../figures/page-0003-2.jpg)\n",
    ]
