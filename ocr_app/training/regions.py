"""A training document before it is laid out: typed regions in reading order. Knows nothing of text sources or
of the typesetter.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of text in one look: "", bold, italic, mono."""

    text: str
    look: str = ""


Spans = tuple[Span, ...]


def plain_text(spans: Spans) -> str:
    return "".join(span.text for span in spans)


@dataclass(frozen=True, slots=True)
class Paragraph:
    spans: Spans
    notes: tuple[str, ...] = ()  # footnotes called at its end
    is_quote: bool = False
    hang: float = 0.0  # em: a hanging indent (definitions, bibliography)
    align: str | None = None


@dataclass(frozen=True, slots=True)
class Heading:
    level: int
    text: str  # number included


@dataclass(frozen=True, slots=True)
class ListItem:
    depth: int
    marker: str
    spans: Spans
    is_tight: bool = True


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines that stay lines: addresses, verse, index entries; listings with `is_code`."""

    lines: tuple[str, ...]
    is_code: bool = False
    align: str = "left"


@dataclass(frozen=True, slots=True)
class Field:
    """A form's label and value on one line."""

    label: str
    value: str
    label_width: float  # of the line
    has_rule: bool = False


@dataclass(frozen=True, slots=True)
class TocLine:
    depth: int
    text: str
    target: str
    has_leader: bool = True


@dataclass(frozen=True, slots=True)
class TableLook:
    stroke: str  # grid, rows, head, outer, none
    zebra: bool
    head: str  # plain, bold, grey, dark
    size: float  # in multiples of the body size
    inset_x: float  # points
    inset_y: float
    repeat_head: bool = True
    align_center: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    rows: tuple[tuple[str, ...], ...]
    aligns: tuple[str, ...]
    widths: tuple[float | None, ...]  # shares of the free width; None takes what it needs
    look: TableLook
    num_head_rows: int = 1
    caption: str = ""


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawn picture; labels stand inside it at shares of its size."""

    width: float  # of the column
    height: float  # points
    caption: str
    labels: tuple[tuple[float, float, str], ...] = ()
    drawing: int = 0  # seed of the shapes


@dataclass(frozen=True, slots=True)
class Wrapped:
    """A paragraph that runs round a figure at its left or right."""

    figure: Figure
    text: str
    figure_on_left: bool


@dataclass(frozen=True, slots=True)
class SideSection:
    """A heading in a margin column beside its regions."""

    heading: Heading
    regions: "tuple[Region, ...]"


@dataclass(frozen=True, slots=True)
class ColumnSection:
    """Regions in columns of their own, in a document of one column."""

    num_columns: int
    regions: "tuple[Region, ...]"


@dataclass(frozen=True, slots=True)
class TitleBlock:
    """Title and authors across all columns; on a page of its own if asked."""

    heading: Heading
    lines: tuple[str, ...]
    own_page: bool = False


@dataclass(frozen=True, slots=True)
class PageBreak:
    pass


Region = (
    Paragraph
    | Heading
    | ListItem
    | Lines
    | Field
    | TocLine
    | Table
    | Figure
    | Wrapped
    | SideSection
    | ColumnSection
    | TitleBlock
    | PageBreak
)
