"""Finished pages as a document: Markdown, and a ZIP of everything. HTML and JSON have modules of their own.

Works on page records only: it knows nothing of files that were read, models or jobs.
"""

import io
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from ocr_app.document.furniture import replayable, result_markdown, settled
from ocr_app.document.html_output import document_html
from ocr_app.document.json_output import document_json
from ocr_app.document.markdown_writer import page_markdown, table_lines
from ocr_app.document.page_joints import (
    WordJoint,
    compounds_of,
    is_next_good_page,
    shared_word,
    visible_regions,
)
from ocr_app.types import PageResult, Piece, RegionKind, cell_text

__all__ = [
    "MarkdownJoiner",
    "PageSeparator",
    "document_html",
    "document_json",
    "document_markdown",
    "document_zip",
    "result_markdown",
]

PageSeparator = Literal["none", "rule", "comment"]

_PARAGRAPH_BREAK = "\n\n"
_RUNS_ON = frozenset(
    {RegionKind.PARAGRAPH, RegionKind.LIST_ITEM}
)  # kinds whose text can go on over a page border
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)  # the same pages give the same bytes


class MarkdownJoiner:
    """Joins pages to one Markdown text as they are finished. The returns of `add`, and of `finish` at the
    end, joined, are the document.

    A word, a sentence or a table that runs over a page border is put together again, unless a rule stands
    between the pages; a header row printed again at the top of the page is left out then. A page that was not
    read well leaves a comment with its verdict, so that a gap in the text has its explanation where it is.

    `compounds` are words that the document writes with a hyphen; those of the pages added come by themselves.
    """

    def __init__(
        self,
        *,
        furniture: bool = False,
        separator: PageSeparator = "none",
        compounds: Iterable[str] = (),
    ) -> None:
        self._compounds = set(compounds)
        self._held = ""  # the hyphen that ends the text so far: the next page may show that it is none
        self._furniture = furniture
        self._separator = separator
        self._previous: PageResult | None = None
        self._header: tuple[str, ...] = ()  # first row of the last table, where it began
        self._is_empty = True

    def add(self, result: PageResult) -> str:
        """Return what became final by the page: nothing for a blank one."""
        self._compounds |= compounds_of([result])
        body = result_markdown(result, furniture=self._furniture)
        comment = self._comment(result)
        before, self._previous = self._previous, result
        rows = self._running_rows(before, result)
        self._note_header(result, goes_on=rows is not None)
        if rows is not None:
            return self._hold("".join("\n" + row for row in rows), result)
        if not body and not comment:
            return self.finish()
        word = self._word_joint(before, result)
        joint = "" if word else self._joint(before, result)
        comment_gap = _PARAGRAPH_BREAK if comment and body and joint is None else ""
        kept = "" if word and word.is_dropped else self._held
        text = kept + self._gap(joint) + comment + comment_gap + body
        self._is_empty = False
        self._held = ""
        return self._hold(text, result)

    def finish(self) -> str:
        """Return what was held back for a page that does not come."""
        held, self._held = self._held, ""
        return held

    def _hold(self, text: str, result: PageResult) -> str:
        """Keep back the hyphen that a page ends with, should a word go on behind it."""
        last = visible_regions(result, self._furniture)[-1:]
        if not last or last[0].kind not in _RUNS_ON or not result.verdict.is_good:
            return text
        if self._separator != "rule" and text.endswith(("-", "‐", "\u00ad")):
            text, self._held = text[:-1], text[-1]
        return text

    def _word_joint(self, before: PageResult | None, result: PageResult) -> WordJoint | None:
        if not self._held or not is_next_good_page(before, result):
            return None
        return shared_word(before, result, self._compounds, furniture=self._furniture)

    def _joint(self, before: PageResult | None, result: PageResult) -> str | None:
        if self._separator == "rule":
            return None
        return _running_joint(before, result, furniture=self._furniture)

    def _running_rows(self, before: PageResult | None, result: PageResult) -> list[str] | None:
        """What a page that goes on with a table adds: its rows, and the rest of the page behind them. None
        where no table goes on.
        """
        if self._separator != "none" or not is_next_good_page(before, result):
            return None
        last, shown = visible_regions(before, self._furniture)[-1:], visible_regions(result, self._furniture)
        if not (
            last and shown and shown[0].is_continuation and last[0].kind is shown[0].kind is RegionKind.TABLE
        ):
            return None
        rows = list(shown[0].rows)
        if max(map(len, rows)) != max(map(len, last[0].rows)):
            return None
        if _row_texts(rows[0]) == self._header:
            rows = rows[1:]
        rest = page_markdown(shown[1:], furniture=self._furniture)
        return table_lines(rows) + (["", *rest.split("\n")] if rest else [])

    def _note_header(self, result: PageResult, *, goes_on: bool) -> None:
        last = visible_regions(result, self._furniture)[-1:]
        is_same_table = goes_on and len(visible_regions(result, self._furniture)) == 1
        if last and last[0].kind is RegionKind.TABLE and not is_same_table:
            self._header = _row_texts(last[0].rows[0])

    def _gap(self, joint: str | None) -> str:
        """What stands between the text so far and the page."""
        if self._is_empty:
            return ""
        if joint is not None:
            return joint
        return "\n\n---\n\n" if self._separator == "rule" else _PARAGRAPH_BREAK

    def _comment(self, result: PageResult) -> str:
        if result.verdict.is_good and self._separator != "comment":
            return ""
        parts = [
            f"page {result.page_number}",
            *([] if result.verdict.is_good else [result.verdict.value, result.reason or ""]),
        ]
        text = ": ".join(filter(None, parts)).replace("--", "- -").replace(">", "")
        return f"<!-- {text} -->"


def document_markdown(
    results: Iterable[PageResult], *, furniture: bool = False, separator: PageSeparator = "none"
) -> str:
    """The document as Markdown. Between pages stands nothing, a rule, or a comment with the page number."""
    pages = replayable(results)
    joiner = MarkdownJoiner(furniture=furniture, separator=separator, compounds=compounds_of(pages))
    return "".join(map(joiner.add, settled(pages))) + joiner.finish()


def document_zip(
    results: Iterable[PageResult],
    *,
    source: str,
    figures: Mapping[int, Sequence[bytes]] | None = None,
    furniture: bool = False,
) -> bytes:
    """A ZIP of the document as Markdown, HTML and JSON, of every page's Markdown, and of its pictures: JPEGs
    by page index.
    """
    results, figures = list(settled(results)), figures or {}
    files = {
        "document.md": document_markdown(results, furniture=furniture) + "\n",
        "document.html": document_html(results, title=source, furniture=furniture),
        "document.json": document_json(results, source=source),
    }
    pictures = {
        _figure_name(index + 1, place): jpeg
        for index, jpegs in figures.items()
        for place, jpeg in enumerate(jpegs, start=1)
    }
    for result in results:
        names = [
            _figure_name(result.page_number, place)
            for place in range(1, 1 + len(figures.get(result.page_index, ())))
        ]
        parts = [result_markdown(result, furniture=furniture), *(f"![](../{name})" for name in names)]
        files[f"pages/page-{result.page_number:04d}.md"] = "\n\n".join(filter(None, parts)) + "\n"
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), text, zipfile.ZIP_DEFLATED)
        for name, jpeg in pictures.items():
            archive.writestr(zipfile.ZipInfo(name, _ZIP_TIME), jpeg)
    return buffer.getvalue()


def _figure_name(page_number: int, place: int) -> str:
    return f"figures/page-{page_number:04d}-{place}.jpg"


def _running_joint(before: PageResult | None, result: PageResult, *, furniture: bool) -> str | None:
    """What joins a page to the sentence that the page before ended in; None where it does not go on."""
    if not is_next_good_page(before, result):
        return None
    if not (before.regions and result.regions):
        return None if result.joint == _PARAGRAPH_BREAK else result.joint
    last, first = visible_regions(before, furniture)[-1:], visible_regions(result, furniture)[:1]
    if not (last and first and first[0].is_continuation and {last[0].kind, first[0].kind} <= _RUNS_ON):
        return None
    return "" if first[0].is_tight else " "


def _row_texts(row: Iterable[tuple[Piece, ...]]) -> tuple[str, ...]:
    return tuple(map(cell_text, row))
