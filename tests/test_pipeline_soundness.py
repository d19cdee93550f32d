"""What a model says wrongly is caught where it enters: no places, text without end, text left out."""

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest

from ocr_app.config import AppConfig, ReaderConfig
from ocr_app.document.json_output import document_json
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.pipeline import read_pages
from ocr_app.types import (
    DocumentFinished,
    EncodedPage,
    Outcome,
    PageFinished,
    PageImage,
    PageReading,
    PageResult,
    Piece,
    Region,
    RegionKind,
    Run,
    TextDelta,
    Verdict,
)

CONFIG = AppConfig(reader=ReaderConfig(max_page_tokens=100))
WHITE = np.full((1400, 1000, 3), 255, np.uint8)


class OnePage:
    page_indices = (0,)
    notes: tuple[str, ...] = ()

    def __init__(self, image: PageImage) -> None:
        self._image = image

    def pages(self) -> Iterator[PageImage]:
        yield self._image

    def close(self) -> None:
        pass


class Scripted:
    """Sees the given runs and figures, and writes the given items."""

    def __init__(self, *items: TextDelta | PageReading, runs=(), figures=()) -> None:
        self._items, self._runs, self._figures = items, runs, figures

    def prepare(self, image: PageImage) -> EncodedPage:
        return EncodedPage(image, (), self._runs, np.zeros((0, 3), np.float32), figures=self._figures)

    def read(self, page: EncodedPage, should_stop: Callable[[], bool]) -> Iterator[TextDelta | PageReading]:
        yield from self._items

    def close(self) -> None:
        pass


def image(pixels: np.ndarray = WHITE, **fields) -> PageImage:
    return PageImage(0, pixels, 150.0, 480.0, 672.0, **fields)


def read(session: Scripted, drawn: PageImage | None = None) -> tuple[PageResult, str, DocumentFinished]:
    events = list(read_pages(OnePage(drawn or image()), session, CONFIG))
    (result,) = [event.result for event in events if isinstance(event, PageFinished)]
    return result, "".join(event.text for event in events if isinstance(event, TextDelta)), events[-1]


def run(text: str, box=(100.0, 300.0, 200.0, 320.0), confidence: float = 0.9, line: int = 0) -> Run:
    return Run(text, box, confidence, True, line, 0)


def written(*regions: Region, verdict: Verdict = Verdict.OK, **fields) -> tuple[TextDelta, PageReading]:
    markdown = page_markdown(regions)
    return TextDelta(0, markdown), PageReading(verdict, regions, markdown, **fields)


def paragraph(text: str, index: int | None = 0) -> Region:
    return Region(RegionKind.PARAGRAPH, (Piece(text, index),))


@pytest.mark.parametrize(
    "box",
    [(math.nan, 0, 1, 1), (0, 0, math.inf, 1), (0, 0, 1), (5, 0, 1, 1), None, ("a", 0, 1, 1)],
    ids=["nan", "infinite", "three numbers", "turned round", "none", "text"],
)
def test_a_place_that_is_none_breaks_no_export_and_is_told(box):
    session = Scripted(*written(paragraph("word")), runs=(run("word", box),), figures=(box,))
    result, _, _ = read(session)
    record = json.loads(document_json([result], source="a"), parse_constant=pytest.fail)["pages"][0]
    assert record["runs"][0]["box"] == [0, 0, 0, 0]
    assert record["figures"] == []
    assert record["notes"] == [
        "2 places that the model gave on this page cannot be used; the text is complete."
    ]
    assert result.verdict is Verdict.OK


def test_confidences_that_are_no_numbers_become_unknown():
    session = Scripted(
        *written(paragraph("word"), confidence=math.nan), runs=(run("word", confidence=math.nan),)
    )
    result, _, _ = read(session)
    assert (result.confidence, result.runs[0].confidence) == (None, 0.0)


def test_pointers_to_no_run_are_let_go():
    table = Region(RegionKind.TABLE, rows=(((Piece("b", -1),),),))
    result, _, _ = read(Scripted(*written(paragraph("a", 7), table)))
    assert [region.run_indices for region in result.regions] == [(), ()]


def test_sound_places_are_passed_on_as_they_are():
    session = Scripted(*written(paragraph("word")), runs=(run("word"),), figures=((1.0, 2.0, 3.0, 4.0),))
    result, _, _ = read(session)
    assert (result.runs, result.figures, result.notes) == ((run("word"),), ((1.0, 2.0, 3.0, 4.0),), ())


class Endless(Scripted):
    """Writes for ever, and tells how much was asked of it."""

    num_asked = 0

    def read(self, page: EncodedPage, should_stop: Callable[[], bool]) -> Iterator[TextDelta]:
        while True:
            self.num_asked += 1
            yield TextDelta(0, "more " * 100)


def test_a_reader_that_writes_without_end_is_stopped_by_the_cap():
    session = Endless()
    result, text, finished = read(session)
    assert result.verdict is Verdict.TOKEN_CAP
    assert "max_page_tokens" in result.reason
    assert len(text) == len(result.markdown) == 1600
    assert session.num_asked == 4
    assert finished.outcome is Outcome.DONE_WITH_WARNINGS


def test_one_huge_piece_and_one_huge_region_are_cut_too():
    result, _, _ = read(Scripted(TextDelta(0, "x" * 10_000_000)))
    assert (result.verdict, len(result.markdown)) == (Verdict.TOKEN_CAP, 1600)
    silent = PageReading(Verdict.OK, (paragraph("x" * 10_000, None),), "")
    result, _, _ = read(Scripted(silent))
    assert (result.verdict, result.regions) == (Verdict.TOKEN_CAP, ())


def test_text_seen_and_not_written_is_appended_and_marked():
    runs = (run("one"), run("two", line=1), run("three", line=1), run("four", line=2))
    result, text, finished = read(Scripted(*written(paragraph("one")), runs=runs))
    assert result.verdict is Verdict.INCOMPLETE
    assert result.reason.startswith("3 pieces of text were seen and not placed")
    assert [region.text for region in result.regions] == ["one", "two three", "four"]
    assert [region.kind for region in result.regions[1:]] == [RegionKind.UNPLACED] * 2
    assert result.markdown == text == page_markdown(result.regions)
    assert finished.outcome is Outcome.DONE_WITH_WARNINGS


def test_what_the_reader_itself_could_not_place_makes_a_page_incomplete():
    regions = (paragraph("one"), Region(RegionKind.UNPLACED, (Piece("two", 1),)))
    result, _, _ = read(Scripted(*written(*regions), runs=(run("one"), run("two"))))
    assert (result.verdict, result.regions) == (Verdict.INCOMPLETE, regions)


def test_a_reader_that_writes_nothing_of_what_was_seen_loses_nothing():
    session = Scripted(PageReading(Verdict.BLANK, (), "", reason="nothing"), runs=(run("one"),))
    result, text, _ = read(session)
    assert (result.verdict, result.markdown) == (Verdict.INCOMPLETE, text)
    assert "one" in text


def test_a_reader_that_points_to_no_run_is_believed():
    result, _, _ = read(Scripted(*written(paragraph("one", None)), runs=(run("two"),)))
    assert (result.verdict, result.markdown) == (Verdict.OK, "one")


def inked() -> np.ndarray:
    pixels = WHITE.copy()
    pixels[300:340, 200:500] = 0
    return pixels


def nothing() -> PageReading:
    return PageReading(Verdict.BLANK, (), "", reason="no text was found")


def test_ink_without_text_is_not_blank_paper():
    result, _, _ = read(Scripted(nothing()), image(inked()))
    assert result.verdict is Verdict.INCOMPLETE
    assert "ink but no text" in result.reason
    assert read(Scripted(nothing()), image())[0].verdict is Verdict.BLANK


def test_a_page_of_a_picture_is_blank_and_says_so():
    result, _, _ = read(Scripted(nothing(), figures=((190.0, 290.0, 510.0, 350.0),)), image(inked()))
    assert (result.verdict, result.reason) == (Verdict.BLANK, "Only pictures were found on this page.")


def test_a_page_drawn_in_part_is_incomplete():
    result, _, finished = read(Scripted(*written(paragraph("one"))), image(lack="A part is missing."))
    assert (result.verdict, result.reason) == (Verdict.INCOMPLETE, "A part is missing.")
    assert result.markdown == "one"
    assert finished.outcome is Outcome.DONE_WITH_WARNINGS


def test_a_line_called_furniture_amid_the_page_is_in_the_text():
    foot = Region(RegionKind.FURNITURE, (Piece("FOOTER LINE", 1),))
    number = Region(RegionKind.FURNITURE, (Piece("12", 2),))
    runs = (
        run("one"),
        run("FOOTER LINE", (100.0, 600.0, 300.0, 620.0)),
        run("12", (480.0, 1350.0, 500.0, 1370.0)),
    )
    result, _, _ = read(Scripted(*written(paragraph("one"), foot, number), runs=runs))
    assert result.markdown == "one\n\nFOOTER LINE"
    assert [region.is_set_aside for region in result.regions] == [False, False, True]
    assert result.regions[1] == replace(foot, is_kept=True)
