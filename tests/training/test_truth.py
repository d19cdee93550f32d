"""Laid-out training pages: exact truth, reading order, continuation, and splits that share nothing."""

from dataclasses import replace
from pathlib import Path
from random import Random

import numpy as np
import pytest

from ocr_app.training import texts as texts_module
from ocr_app.training.numbering import format_count
from ocr_app.training.regions import (
    Field,
    Figure,
    Heading,
    Lines,
    ListItem,
    PageBreak,
    Paragraph,
    Region,
    SideSection,
    Span,
    Table,
    TableLook,
    TocLine,
    Wrapped,
)
from ocr_app.training.style_draw import draw_style
from ocr_app.training.styles import FAMILIES, FONTS, Style
from ocr_app.training.tables import fit_columns
from ocr_app.training.texts import TextSource, load_corpus
from ocr_app.training.truth import (
    LEADER,
    LaidOutDocument,
    PageTruth,
    SourceUnit,
    TraceError,
    UnitKind,
    markdown_truth,
    trace_document,
    walk_source,
)
from ocr_app.training.typesetting import compile_source, generate_document, page_label
from ocr_app.training.typst_source import TypstWriter
from tests.training.source_check import num_units_like_their_source

PROSE = (
    "Considerations of internationalization, representation and well-established administrative "
    "responsibilities notwithstanding, the self-contained, copper-plated instruments continued to "
    "demonstrate extraordinary performance. "
)
LOOK = TableLook(stroke="grid", zebra=False, head="bold", size=1.0, inset_x=4, inset_y=3)


@pytest.fixture(scope="module")
def documents() -> list[LaidOutDocument]:
    return [generate_document(seed, language="en", max_pages=3) for seed in range(12)]


def plain_style(**changes: object) -> Style:
    """A drawn style whose layout the test decides: A5, one column, narrow, hyphenated, with furniture as
    drawn unless changed.
    """
    rng = Random(7)
    style = draw_style(rng, split="train", language="en", texts=TextSource("en", "train", rng))
    fixed = {
        "width": 420.0,
        "height": 595.0,
        "margins": (60.0, 60.0, 60.0, 60.0),
        "columns": 1,
        "size": 11.0,
        "justify": True,
    }
    return replace(
        style,
        **(fixed | {"hyphenate": True, "captions_above": False, "body_font": "Libertinus Serif"} | changes),
    )


def lay_out(style: Style, *regions: Region) -> tuple[dict[int, SourceUnit], tuple[PageTruth, ...]]:
    writer = TypstWriter(style)
    pdf = compile_source(writer.write(regions), colored=True)
    return writer.units, trace_document(pdf, writer.units, page_label(style), max_pages=99)


def every_kind_of_region() -> tuple[Region, ...]:
    rows = (
        ("Name", "Amount", "Remarks"),
        *((f"Row {n}", f"{n * 7}.50", "" if n % 3 else "long " * 12) for n in range(1, 40)),
    )
    return (
        Heading(1, "1 Opening"),
        Paragraph(
            (Span(PROSE * 4), Span("set apart", "italic"), Span(" and go on.")),
            notes=("A note at the foot of the page.",),
        ),
        ListItem(1, "•", (Span(PROSE),)),
        ListItem(2, "(iv)", (Span("deeper"),)),
        Lines(("if ready:", "    go()", "else: wait()"), is_code=True),
        Field("Name:", "Ada", 0.3),
        TocLine(2, "1.1 Beginning", "12"),
        Table(rows, ("left", "right", "left"), (None, None, 2.0), LOOK, 1, "Table 1. Amounts"),
        Figure(0.6, 90, "Figure 1. Shapes", ((0.1, 0.1, "north"),), 3),
        Wrapped(Figure(0.4, 90, "Figure 2. Beside", (), 5), PROSE * 5, figure_on_left=True),
        SideSection(
            Heading(2, "1.2\nBeside"), (ListItem(1, "(1)", (Span(PROSE),)), Paragraph((Span(PROSE),)))
        ),
        Paragraph((Span(PROSE * 9),)),
    )


def test_every_character_belongs_to_exactly_one_unit(documents: list[LaidOutDocument]):
    for page in (page for document in documents for page in document.pages):
        assert (
            len(page.chars)
            == len(page.boxes)
            == len(page.unit_of)
            == len(page.soft_hyphen)
            == len(page.line_end)
        )
        assert not any(char.isspace() for char in page.chars)
        assert sorted(set(page.unit_of.tolist())) == list(range(len(page.units)))


def test_units_without_soft_hyphens_are_their_source_text():
    units, pages = lay_out(plain_style(), *every_kind_of_region())
    assert num_units_like_their_source(units, pages) > 100
    assert len(pages) > 3
    assert sum(page.soft_hyphen.sum() for page in pages) > 5


def test_only_hyphens_at_line_ends_are_soft_and_written_ones_are_kept():
    _, pages = lay_out(plain_style(), Paragraph((Span(PROSE * 6),)))
    text = "".join(pages[0].texts)
    assert "self-contained" in text
    assert "well-established" in text
    for page in pages:
        for at in np.flatnonzero(page.soft_hyphen):
            assert page.boxes[at + 1, 1] > page.boxes[at, 1]  # the word goes on one line lower
            assert page.boxes[at + 1, 0] < page.boxes[at, 0]


def test_coloured_and_black_layout_are_the_same():
    style = plain_style()
    writer = TypstWriter(style)
    source = writer.write(every_kind_of_region())
    pages = trace_document(
        compile_source(source, colored=True), writer.units, page_label(style), max_pages=99
    )
    import pymupdf

    with pymupdf.open(stream=compile_source(source, colored=False)) as document:
        assert len(document) == len(pages)
        for page, truth in zip(document, pages, strict=True):
            blocks = page.get_text("rawdict", flags=0)["blocks"]
            spans = [span for block in blocks for line in block["lines"] for span in line["spans"]]
            found = sorted(
                (char["c"], *char["bbox"])
                for span in spans
                for char in span["chars"]
                if not char["c"].isspace()
            )
            wanted = sorted((char, *box) for char, box in zip(truth.chars, truth.boxes.tolist(), strict=True))
            assert [char for char, *_ in found] == [char for char, *_ in wanted]
            assert (
                np.abs(np.array([box for _, *box in found]) - np.array([box for _, *box in wanted])).max()
                < 0.5
            )


def test_left_column_comes_before_right_and_furniture_stands_at_both_ends():
    style = plain_style(columns=2, column_gap=20.0)
    paragraphs = [Paragraph((Span(PROSE * 2),), notes=("Foot note.",) * (n == 0)) for n in range(5)]
    _, pages = lay_out(style, *paragraphs)
    page = pages[0]
    kinds = [unit.kind for unit in page.units]
    body = [index for index, kind in enumerate(kinds) if kind is UnitKind.PARAGRAPH]
    starts = [page.boxes[page.unit_of == index][0] for index in body]
    assert [(x > style.width / 2, y) for x, y, *_ in starts] == sorted(
        (x > style.width / 2, y) for x, y, *_ in starts
    )
    ranks = [{UnitKind.PARAGRAPH: 1, UnitKind.FOOTNOTE: 2}.get(kind, 0) for kind in kinds]
    inner = [rank for rank in ranks if rank]
    assert inner == sorted(inner)
    assert UnitKind.FOOTNOTE in kinds


def test_side_heading_comes_before_the_text_beside_it():
    _, pages = lay_out(
        plain_style(), SideSection(Heading(2, "1.2\nBeside"), (ListItem(1, "(1)", (Span(PROSE),)),))
    )
    body = [(index, unit) for index, unit in enumerate(pages[0].units) if unit.kind is not UnitKind.FURNITURE]
    assert [unit.kind for _, unit in body] == [UnitKind.HEADING, UnitKind.LIST_ITEM]
    heading, item = (pages[0].boxes[pages[0].unit_of == index] for index, _ in body)
    assert heading[:, 2].max() < item[:, 0].min()


def test_a_table_over_pages_continues_with_its_head_again():
    rows = (("Number", "Word"), *((str(n), f"word{n}") for n in range(90)))
    _, pages = lay_out(plain_style(), Table(rows, ("left", "left"), (None, None), LOOK))
    assert len(pages) > 1
    assert [page.is_continuation for page in pages] == [False] + [True] * (len(pages) - 1)
    cells = [[unit for unit in page.units if unit.kind is UnitKind.CELL] for page in pages]
    assert all((page_cells[0].row, page_cells[0].column) == (0, 0) for page_cells in cells)
    assert len({unit.region for page_cells in cells for unit in page_cells}) == 1
    body_rows = [unit.row for page_cells in cells for unit in page_cells if unit.row and not unit.column]
    assert body_rows == list(range(1, 91))


@pytest.mark.parametrize(("num_words", "continues"), [(30, False), (400, True)])
def test_a_page_continues_only_when_a_unit_was_cut(num_words: int, continues: bool):
    first = Paragraph((Span("word " * num_words + "end."),))
    _, pages = lay_out(plain_style(height=300.0), first, PageBreak(), Paragraph((Span("Another."),)))
    assert pages[1].is_continuation is continues
    assert pages[-1].is_continuation is False


def test_kept_lines_end_where_the_source_ends_them():
    _, pages = lay_out(plain_style(), Lines(("12 Mill Lane", "Dover"), align="right"))
    page = pages[0]
    index = next(i for i, unit in enumerate(page.units) if unit.keeps_lines)
    picked = np.flatnonzero(page.unit_of == index)
    assert [page.chars[at] for at in picked if page.line_end[at]] == ["e"]
    assert page.texts[index] == "12 Mill Lane\nDover"


def test_markdown_truth_of_headings_lists_and_tables():
    table = Table((("Name", "Amount"), ("Ada", ""), ("Bo", "7")), ("left", "left"), (None, None), LOOK)
    _, pages = lay_out(plain_style(), Heading(2, "Results"), ListItem(1, "•", (Span("first"),)), table)
    markdown = markdown_truth(pages[0])
    assert markdown.startswith("## Results\n\n- first\n\n")
    assert "| Ada |  |" in markdown
    assert "| Bo | 7 |" in markdown


def test_the_same_seed_gives_the_same_document():
    first, second = (generate_document(5, language="de", max_pages=2) for _ in range(2))
    assert first.pdf == second.pdf
    assert first.markdown == second.markdown
    assert all(np.array_equal(a.boxes, b.boxes) for a, b in zip(first.pages, second.pages, strict=True))
    assert generate_document(6, language="de", max_pages=2).markdown != first.markdown


def test_pages_are_cut_at_the_limit_and_match_the_pdf(documents: list[LaidOutDocument]):
    import pymupdf

    for document in documents:
        with pymupdf.open(stream=document.pdf) as pdf:
            assert 1 <= len(pdf) == len(document.pages) == len(document.markdown) <= 3


def test_furniture_never_shares_a_region_number(documents: list[LaidOutDocument]):
    for document in documents:
        regions = [
            unit.region for page in document.pages for unit in page.units if unit.kind is UnitKind.FURNITURE
        ]
        others = {
            unit.region
            for page in document.pages
            for unit in page.units
            if unit.kind is not UnitKind.FURNITURE
        }
        assert len(regions) == len(set(regions))
        assert others.isdisjoint(regions)


def test_held_out_shares_no_font_no_family_and_no_passage_with_training():
    train, held_out = (
        {*f.serif, *f.sans, *f.mono, *f.chinese_serif, *f.chinese_sans}
        for f in (FONTS["train"], FONTS["held_out"])
    )
    assert train.isdisjoint(held_out)
    assert {f.name for f in FAMILIES["train"]}.isdisjoint(f.name for f in FAMILIES["held_out"])
    corpora = load_corpus("en", "train"), load_corpus("en", "held_out")
    for part in ("prose", "titles", "cells", "codes", "verses"):
        assert set(getattr(corpora[0], part)).isdisjoint(getattr(corpora[1], part))
    assert len(corpora[1].prose) > 20


def test_a_blended_kind_of_document_has_the_content_of_both():
    book, ledger = (
        next(family for family in FAMILIES["train"] if family.name == name) for name in ("book", "ledger")
    )
    blended = book.blended(ledger)
    assert set(blended.regions) == set(book.regions) | set(ledger.regions)
    assert sum(blended.regions.values()) == pytest.approx(2)
    assert blended.regions["paragraph"] == pytest.approx(
        12 / sum(book.regions.values()) + 0.5 / sum(ledger.regions.values())
    )
    assert set(book.papers) <= set(blended.papers)


@pytest.mark.parametrize("split", FAMILIES)
def test_every_family_can_be_laid_out(split: str):
    wanted = {family.name for family in FAMILIES[split]}
    seeds = iter(range(200))
    while wanted:
        wanted.discard(generate_document(next(seeds), split=split, language="en", max_pages=1).style)


def test_without_text_packages_words_are_made_up_and_a_warning_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    for name in ("REFERENCE", "DEVELOPERS", "FORTUNES", "BIBLE"):
        monkeypatch.setattr(texts_module, name, tmp_path / "absent")
    caches = (texts_module._passages, texts_module.load_corpus)
    for cache in caches:
        cache.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="No text package"):
            document = generate_document(1, language="fr", max_pages=1)
    finally:
        for cache in caches:
            cache.cache_clear()
    assert len(document.pages[0].chars) > 20


def test_text_holds_only_what_the_recogniser_reads():
    assert texts_module.clean("Füße\u00ad  и мир かな ok\n go") == "Füße ok go"
    for passage in load_corpus("zh", "train").prose[:300]:
        assert set(passage) <= texts_module.alphabet() | {" "}


@pytest.mark.parametrize(
    ("source", "chars", "text", "soft"),
    [
        ("to be sure", "tobesure", "to be sure", 0),
        ("hyphenation", "hyphen\u00adation", "hyphenation", 1),
        ("well-known", "well-known", "well-known", 0),
        (f"One {LEADER} 7", "One....7", "One .... 7", 0),
        (f"One {LEADER} 7", "One7", "One  7", 0),
    ],
)
def test_walking_a_source_text(source: str, chars: str, text: str, soft: int):
    walk = walk_source(source, 0, list(chars))
    assert (walk.text, sum(walk.soft_hyphen), walk.end) == (text, soft, len(source))


def test_a_lost_character_is_an_error():
    with pytest.raises(TraceError, match="where the source has"):
        walk_source("abc", 0, list("ac"))


@pytest.mark.parametrize(
    ("pattern", "number", "text"),
    [
        ("(1)", 3, "(3)"),
        ("a)", 2, "b)"),
        ("i.", 4, "iv."),
        ("I.", 9, "IX."),
        ("①", 2, "②"),
        ("一、", 12, "十二、"),
        ("（一）", 20, "（二十）"),
    ],
)
def test_counts_as_printed(pattern: str, number: int, text: str):
    assert format_count(pattern, number) == text


@pytest.mark.parametrize("seed", range(8))
def test_columns_hold_their_longest_word_and_fit_the_page(seed: int):
    rng = Random(seed)
    cells = [
        tuple("x" * rng.randint(1, 14) + " y" * rng.randint(0, 30) for _ in range(rng.choice((2, 5, 9))))
        for _ in range(1)
    ]
    table = Table(tuple(cells), ("left",) * len(cells[0]), (None,) * len(cells[0]), LOOK)
    fitted, widths = fit_columns(table, 300.0, 5.0)
    if widths[0] is None:
        assert fitted == table
        return
    assert sum(widths) <= 300.0 + 1e-6
    for column, width in enumerate(widths):
        longest = max(len(word) for word in fitted.rows[0][column].split())
        assert width >= min(longest * 5.0 + 2 * LOOK.inset_x, 300.0) - 1e-6
