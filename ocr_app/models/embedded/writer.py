"""From the reader's tokens to typed regions and Markdown. Knows runs and structure; nothing of tensors."""

from ocr_app.document.markdown_writer import MarkdownWriter
from ocr_app.models.embedded.grammar import HEADINGS, LIST_ITEMS, NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.letters import is_wide
from ocr_app.types import EncodedPage, Piece, Region, RegionKind

SIMPLE_KINDS = {
    Structure.PARAGRAPH: RegionKind.PARAGRAPH,
    Structure.TABLE: RegionKind.TABLE,
    Structure.CODE: RegionKind.CODE,
    Structure.CAPTION: RegionKind.CAPTION,
    Structure.FOOTNOTE: RegionKind.FOOTNOTE,
    Structure.FURNITURE: RegionKind.FURNITURE,
}


MAX_CODE_COLUMNS = 120  # of white space in one place


class TokenWriter:
    """Writes one page. `add` takes one token and returns the Markdown that became final by it."""

    def __init__(self, page: EncodedPage, text_before: str):
        self._page = page
        self._writer = MarkdownWriter()
        self._text_before = (
            text_before  # the last written text of the page before, to join a paragraph that goes on
        )
        self._continues = False
        self._last_run: int | None = None  # of the open region or cell
        self._is_joined = False  # LINE_BREAK, JOIN or DROP_HYPHEN came last
        self._is_first_cell = True
        self._code_left: float | None = None  # where the first line of the open code begins, in pixels
        self._is_code = False

    @property
    def markdown(self) -> str:
        return self._writer.markdown

    @property
    def regions(self) -> tuple[Region, ...]:
        return self._writer.regions

    @property
    def joint(self) -> str:
        """What goes between the page before and this one."""
        first = next((region for region in self.regions if region.kind is not RegionKind.FURNITURE), None)
        if first is None or not first.is_continuation or first.kind in (RegionKind.TABLE, RegionKind.CODE):
            return "\n\n"
        return "" if first.is_tight else " "

    def add(self, token: int) -> str:
        if token >= NUM_STRUCTURE_TOKENS:
            return self._copy(token - NUM_STRUCTURE_TOKENS)
        if token == Structure.CONTINUE:
            self._continues = True
        elif token == Structure.LINE_BREAK:
            self._is_joined = True
            return self._writer.line_break()
        elif token == Structure.DROP_HYPHEN:
            self._is_joined = True
            self._writer.drop_hyphen()
        elif token == Structure.JOIN:
            self._is_joined = True
        elif token in (Structure.ROW, Structure.CELL):
            return self._open_cell(token)
        elif token not in (Structure.PAGE, Structure.PAD, Structure.END_PAGE):
            return self._open_region(Structure(token))
        return ""

    def add_unplaced(self, runs: list[int]) -> str:
        """Append what was never copied, line by line, marked."""
        text, line = "", None
        for run in runs:
            if self._page.runs[run].line_index != line:
                line = self._page.runs[run].line_index
                text += self._writer.start_region(RegionKind.UNPLACED)
                self._last_run = None
            text += self._copy(run)
        return text

    def finish(self) -> str:
        return self._writer.finish()

    def _open_region(self, token: Structure) -> str:
        self._last_run = None
        self._is_first_cell = True
        self._is_code, self._code_left = token == Structure.CODE, None
        continues, self._continues = self._continues, False
        if token in HEADINGS:
            return self._writer.start_region(RegionKind.HEADING, HEADINGS.index(token) + 1)
        kind, level = SIMPLE_KINDS.get(token, RegionKind.LIST_ITEM), 0
        if token in LIST_ITEMS:
            level = LIST_ITEMS.index(token) + 1
        return self._writer.start_region(
            kind,
            level,
            is_continuation=continues,
            is_tight=continues and is_wide(self._text_before[-1:] or " "),
        )

    def _open_cell(self, token: int) -> str:
        """ROW opens a row without a cell; its first CELL opens none either, since the writer's row begins
        with one.
        """
        self._last_run = None
        if token == Structure.ROW:
            self._is_first_cell = True
            return self._writer.next_row()
        is_first, self._is_first_cell = self._is_first_cell, False
        return "" if is_first else self._writer.next_cell()

    def _copy(self, index: int) -> str:
        run = self._page.runs[index]
        separator = self._separator(index)
        self._last_run, self._is_joined = index, False
        return self._writer.add_piece(Piece(run.text, index), separator)

    def _separator(self, index: int) -> str:
        """A space, unless runs of one line touch, the decoder joined them, or both sides are written without
        spaces.
        """
        if self._is_code:
            return self._columns_before(index)
        if self._last_run is None or self._is_joined:
            return ""
        before, after = self._page.runs[self._last_run], self._page.runs[index]
        if before.line_index == after.line_index and after.place_in_line == before.place_in_line + 1:
            return " " if before.has_space_after else ""
        return "" if is_wide(before.text[-1]) and is_wide(after.text[0]) else " "

    def _columns_before(self, index: int) -> str:
        """The spaces in front of a run of code: what its characters take on paper is one column."""
        run = self._page.runs[index]
        column_px = (run.box[2] - run.box[0]) / len(run.text)
        is_line_start = self._last_run is None or self._is_joined
        if self._code_left is None:
            self._code_left = run.box[0]
        from_px = self._code_left if is_line_start else self._page.runs[self._last_run].box[2]
        num_columns = round((run.box[0] - from_px) / column_px)
        if is_line_start:
            return " " * min(max(0, num_columns), MAX_CODE_COLUMNS)
        before = self._page.runs[self._last_run]
        touches = before.line_index == run.line_index and not before.has_space_after
        return "" if touches else " " * min(max(1, num_columns), MAX_CODE_COLUMNS)
