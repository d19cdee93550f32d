"""Pages that a browser lays out: exact truth, source order, the same document again, markers with their
items.
"""

import shutil
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from ocr_app.errors import BrowserMissingError
from ocr_app.training import html_typesetting
from ocr_app.training.html_look import FONT_NAMES, THEMES, HtmlLook, browser_style, draw_look, style_sheet
from ocr_app.training.html_source import HtmlWriter, unit_color
from ocr_app.training.html_typesetting import check_order, close_browser, generate_html_document, print_source
from ocr_app.training.regions import (
    Field,
    Figure,
    Heading,
    Lines,
    ListItem,
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
from ocr_app.training.styles import FONTS, RunningHead, Style
from ocr_app.training.texts import TextSource
from ocr_app.training.truth import (
    LaidOutDocument,
    PageTruth,
    SourceUnit,
    TraceError,
    UnitKind,
    trace_document,
)
from ocr_app.training.typesetting import page_label
from tests.needs import needs_browser
from tests.training.source_check import num_units_like_their_source

PROSE = (
    "Considerations of internationalization, representation and well-established administrative "
    "responsibilities notwithstanding, the self-contained, copper-plated instruments continued to "
    "demonstrate extraordinary performance. "
)
LOOK = TableLook(stroke="grid", zebra=True, head="dark", size=1.0, inset_x=4, inset_y=3)
ROWS = (
    ("Name", "Amount", "Remarks"),
    *((f"Row {n}", f"{n * 7}.50", "" if n % 3 else "long " * 12) for n in range(1, 40)),
)
TABLE = Table(ROWS, ("left", "right", "left"), (None, None, 2.0), LOOK, 1, "Table 1. Amounts")
EVERY_KIND: tuple[Region, ...] = (
    Heading(1, "1 Opening"),
    Paragraph(
        (Span(PROSE * 4), Span("set apart", "italic"), Span(" and go on.")), notes=("A note in small type.",)
    ),
    ListItem(1, "•", (Span(PROSE),)),
    ListItem(2, "(iv)", (Span("deeper"),)),
    Lines(("if ready:", "    go()", "else: wait() <&> \\n"), is_code=True),
    Field("Name:", "Ada", 0.3),
    TocLine(2, "1.1 Beginning", "12"),
    TABLE,
    Figure(0.6, 90, "Figure 1. Shapes", ((0.1, 0.1, "north"),), 3),
    Wrapped(Figure(0.4, 90, "Figure 2. Beside", (), 5), PROSE * 5, figure_on_left=True),
    SideSection(Heading(2, "1.2\nBeside"), (ListItem(1, "(1)", (Span(PROSE),)), Paragraph((Span(PROSE),)))),
    Paragraph((Span("Term", "bold"), Span(": what it means")), hang=1.5),
    Paragraph((Span(PROSE * 9),)),
)


def plain_style(**changes: object) -> tuple[Style, HtmlLook]:
    """A drawn style and look of which the test decides the layout: A5, one column, hyphenated, with a header
    and a page number.
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
    heads = {
        "header": RunningHead(("Left", "", 'Say "hi"'), rule=True),
        "footer": RunningHead(("", "{page}", "")),
        "first_page": 41,
    }
    style = replace(
        style,
        **(fixed | heads | {"hyphenate": True, "captions_above": False, "skip_first_head": False} | changes),
    )
    return style, replace(draw_look(rng, style, "train"), outdent=0.0, stacks_terms=True)


def lay_out(*regions: Region, **changes: object) -> tuple[dict[int, SourceUnit], tuple[PageTruth, ...]]:
    style, look = plain_style(**changes)
    writer = HtmlWriter(style, look)
    pdf = print_source(writer.write(regions), writer.color_sheet())
    return writer.units, trace_document(pdf, writer.units, page_label(style), max_pages=99)


@pytest.fixture(scope="module", autouse=True)
def closed_browser() -> Iterator[None]:
    """The tests of the app start a browser of their own."""
    yield
    close_browser()


@pytest.fixture(scope="module")
def every_kind() -> tuple[dict[int, SourceUnit], tuple[PageTruth, ...]]:
    return lay_out(*EVERY_KIND)


@pytest.fixture(scope="module")
def document() -> LaidOutDocument:
    return generate_html_document(4, language="en", max_pages=2)


@needs_browser
@pytest.mark.browser
def test_units_without_soft_hyphens_are_their_source_text(every_kind):
    units, pages = every_kind
    assert num_units_like_their_source(units, pages) > 100
    assert len(pages) > 3
    assert sum(page.soft_hyphen.sum() for page in pages) > 5
    assert any(unit.kind is UnitKind.FOOTNOTE for unit in pages[-1].units)


@needs_browser
@pytest.mark.browser
def test_every_visible_character_is_in_the_truth_and_on_the_page(document: LaidOutDocument):
    import pymupdf

    with pymupdf.open(stream=document.pdf, filetype="pdf") as pdf:
        assert len(pdf) == len(document.pages)
        for sheet, page in zip(pdf, document.pages, strict=True):
            black = "".join(sheet.get_text("text", flags=0).replace("\u00ad", "").split())
            assert sorted(black) == sorted(page.chars)
            assert page.boxes[:, 2].max() <= page.width_pt
            assert page.boxes.min() >= 0


@needs_browser
@pytest.mark.browser
def test_regions_come_in_source_order_and_a_region_out_of_order_is_an_error(every_kind):
    _, pages = every_kind
    check_order(pages)
    for page in pages:
        body = [
            unit.region for unit in page.units if unit.kind not in (UnitKind.FURNITURE, UnitKind.FOOTNOTE)
        ]
        assert body == sorted(body)
    with pytest.raises(TraceError, match="begins after region"):
        check_order(pages[::-1])


@needs_browser
@pytest.mark.browser
def test_only_hyphens_at_line_ends_are_soft(every_kind):
    for page in every_kind[1]:
        for at in np.flatnonzero(page.soft_hyphen[:-1]):
            if page.unit_of[at] == page.unit_of[at + 1]:
                assert page.boxes[at + 1, 1] > page.boxes[at, 1]  # the word goes on one line lower
                assert page.boxes[at + 1, 0] < page.boxes[at, 0]


@needs_browser
@pytest.mark.browser
def test_a_list_marker_stands_left_of_its_item_and_belongs_to_it(every_kind):
    items = [
        page.chars[at]
        for page in every_kind[1]
        for index, unit in enumerate(page.units)
        if unit.kind is UnitKind.LIST_ITEM and unit.level == 1
        for at in np.flatnonzero(page.unit_of == index)[:1]
    ]
    assert items[0] == "•"
    units, pages = lay_out(ListItem(1, "•", (Span(PROSE),)), ListItem(2, "(iv)", (Span("deeper"),)))
    page = pages[0]
    for marker, number in (("•", 1), ("(iv)", 2)):
        index = next(
            i for i, unit in enumerate(page.units) if unit.kind is UnitKind.LIST_ITEM and unit.level == number
        )
        at = np.flatnonzero(page.unit_of == index)
        assert "".join(page.chars[i] for i in at[: len(marker)]) == marker
        assert page.boxes[at[len(marker) - 1], 2] <= page.boxes[at[len(marker)], 0] + 0.5
        assert units[
            min(n for n, source in units.items() if source.unit == page.units[index])
        ].text.startswith(marker + " ")


@needs_browser
@pytest.mark.browser
def test_running_heads_stand_at_both_ends_with_the_printed_page_number(every_kind):
    _, pages = every_kind
    for number, page in enumerate(pages, 41):
        assert page.texts[:2] == ("Left", 'Say "hi"')
        assert page.texts[-1] == str(number)
        assert page.units[-1].kind is UnitKind.FURNITURE


@needs_browser
@pytest.mark.browser
def test_the_same_seed_gives_the_same_document(document: LaidOutDocument):
    again = generate_html_document(4, language="en", max_pages=2)
    assert again.pdf == document.pdf
    assert again.markdown == document.markdown
    assert again.style.startswith("html-")
    assert all(np.array_equal(a.boxes, b.boxes) for a, b in zip(again.pages, document.pages, strict=True))


def test_a_missing_browser_is_an_error_of_its_own(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(BrowserMissingError, match="install it"):
        html_typesetting._sheet.__wrapped__()


def test_held_out_pages_share_no_theme_and_no_font_with_training():
    names = {split: {theme.name for theme in themes} for split, themes in THEMES.items()}
    assert not names["train"] & names["held_out"]
    train = FONTS["train"]
    trained = {*train.serif, *train.sans, *train.mono, *train.chinese_serif, *train.chinese_sans}
    rng = Random(1)
    for _ in range(200):
        style = browser_style(
            draw_style(rng, split="held_out", language="en", texts=TextSource("en", "held_out", rng))
        )
        drawn = {style.body_font, style.heading_font, style.mono_font, style.chinese_font}
        assert not drawn & (trained | {FONT_NAMES.get(name, name) for name in trained})


def test_a_style_sheet_closes_what_it_opens():
    rng = Random(2)
    for seed in range(30):
        style = draw_style(rng, split="train", language="zh", texts=TextSource("zh", "train", rng))
        sheet = style_sheet(style, draw_look(Random(seed), style, "train"))
        assert sheet.count("{") == sheet.count("}")


@pytest.mark.parametrize(("number", "color"), [(1, "#010000"), (256, "#000100"), (70000, "#701101")])
def test_a_unit_s_colour_is_its_number_lowest_byte_first(number: int, color: str):
    assert unit_color(number) == color
