"""How a training document looks: families of styles, drawn at random within wide bounds. Knows nothing of
texts or of the typesetter.

A family stands for a kind of document (a manual, a novel, a ledger ...): which regions it has and which looks
it prefers. Families and fonts are divided between training and held-out; a test checks that nothing is
shared.
"""

from dataclasses import dataclass, replace

PAPERS = {"a4": (595.0, 842.0), "letter": (612.0, 792.0), "a4-wide": (842.0, 595.0), "letter-wide": (792.0, 612.0), "book": (396.0, 612.0),
          "a5": (420.0, 595.0), "legal": (612.0, 1008.0), "royal": (442.0, 665.0)}  # fmt: skip


@dataclass(frozen=True, slots=True)
class FontSet:
    """Typeface names, as fontconfig and typst know them."""

    serif: tuple[str, ...]
    sans: tuple[str, ...]
    mono: tuple[str, ...]
    chinese_serif: tuple[str, ...]
    chinese_sans: tuple[str, ...]


FONTS = {
    "train": FontSet(
        serif=(
            "Liberation Serif",
            "DejaVu Serif",
            "Linux Libertine O",
            "EB Garamond 12",
            "Caladea",
            "Old Standard TT",
            "FreeSerif",
        ),
        sans=(
            "Liberation Sans",
            "DejaVu Sans",
            "Carlito",
            "Open Sans",
            "Roboto",
            "Lato",
            "FreeSans",
            "Linux Biolinum O",
            "Liberation Sans",
        ),
        mono=("Liberation Mono", "DejaVu Sans Mono", "FreeMono", "PT Mono"),
        chinese_serif=("Noto Serif CJK SC", "AR PL UKai"),
        chinese_sans=("Noto Sans CJK SC", "Noto Sans CJK SC", "AR PL UKai"),
    ),
    "held_out": FontSet(
        serif=("Baskervald ADF Std", "PT Serif", "New Computer Modern"),
        sans=("Inter", "Cantarell", "PT Sans"),
        mono=("Courier Prime", "JetBrains Mono"),
        chinese_serif=("LXGW WenKai",),
        chinese_sans=("LXGW WenKai", "LXGW WenKai Mono"),
    ),
}


@dataclass(frozen=True, slots=True)
class Family:
    """A kind of document: what it is made of, and what it may look like."""

    name: str
    regions: dict[str, float]  # kind of content → how often
    papers: tuple[str, ...] = ("a4", "letter", "a4", "letter", "royal")
    columns: tuple[int, ...] = (1,)
    sizes: tuple[float, float] = (9.0, 12.0)
    serif_share: float = 0.5
    numbered: tuple[str, ...] = ("none", "decimal", "decimal")  # headings
    heading_looks: tuple[str, ...] = (
        "bold",
        "bold",
        "italic",
        "smallcaps",
        "upper",
        "plain-large",
        "same-bold",
        "color",
    )
    running_heads: float = 0.85  # share of documents with a header or footer
    loud_heads: float = (
        0.0  # share of those as loud as headings: only the pages before tell that they are none
    )
    max_depth: int = 3
    share: float = (
        1.0  # how often it is drawn; tables have so many cells that two families of them go a long way
    )

    def blended(self, other: "Family") -> "Family":
        """A kind of document between two: what both are made of, and the looks of either."""
        first, second = sum(self.regions.values()), sum(other.regions.values())
        kinds = dict.fromkeys((*self.regions, *other.regions))
        return Family(
            name=f"{self.name}+{other.name}",
            regions={
                kind: self.regions.get(kind, 0) / first + other.regions.get(kind, 0) / second
                for kind in kinds
            },
            papers=self.papers + other.papers,
            columns=self.columns + other.columns,
            sizes=(min(self.sizes[0], other.sizes[0]), max(self.sizes[1], other.sizes[1])),
            serif_share=(self.serif_share + other.serif_share) / 2,
            numbered=self.numbered + other.numbered,
            heading_looks=self.heading_looks + other.heading_looks,
            running_heads=(self.running_heads + other.running_heads) / 2,
            loud_heads=(self.loud_heads + other.loud_heads) / 2,
            max_depth=max(self.max_depth, other.max_depth),
        )


TRAIN_FAMILIES = (
    Family("manual", {"side": 5, "items": 2, "table": 1.5, "paragraph": 1, "exhibit": 1.5, "lines": 0.4}, ("letter", "a4"),
           serif_share=0.2),
    Family("book", {"paragraph": 12, "heading": 1, "wrapped": 0.8, "quote": 0.6, "verse": 0.4, "figure": 0.3},
           ("book", "a5", "royal"), sizes=(9, 12), serif_share=0.95, numbered=("none", "chapter"),
           heading_looks=("upper", "smallcaps", "italic", "plain-large"), max_depth=2),
    Family("report", {"paragraph": 6, "heading": 4.5, "table": 1.2, "items": 3, "figure": 1.5, "notes": 1.5, "fields": 0.3},
           max_depth=4, share=1.6),
    Family("handbook", {"paragraph": 8, "heading": 3.5, "figure": 2.2, "items": 1.8, "table": 0.8, "wrapped": 0.4}, columns=(2, 2, 2, 3),
           sizes=(8, 10.5), numbered=("none",)),
    Family("article", {"paragraph": 8, "heading": 3, "figure": 1.2, "table": 0.6, "notes": 0.7, "bibliography": 0.6, "items": 1.2},
           columns=(2, 2, 1), sizes=(8, 10.5), serif_share=0.8, numbered=("decimal", "roman", "none"), max_depth=2),
    Family("ledger", {"ledger": 8, "heading": 0.8, "paragraph": 0.5},
           ("letter", "a4", "letter-wide"), sizes=(8, 9), numbered=("none",), share=0.5),
    Family("register", {"register": 8, "heading": 0.3, "paragraph": 0.3}, ("letter-wide", "a4-wide"), sizes=(8, 10), serif_share=0.2,
           numbered=("none",), share=0.5),
    Family("guide", {"paragraph": 5, "heading": 4, "code": 3.5, "items": 3.5, "notes": 0.6, "definitions": 0.6, "table": 0.5},
           max_depth=4, share=1.8),
    Family("letter", {"paragraph": 6, "lines": 1.2, "items": 1.5, "fields": 0.5}, sizes=(10, 12.5), numbered=("none",), running_heads=0.5),
    Family("form", {"fields": 6, "paragraph": 1.5, "heading": 1.5, "items": 1, "table": 1}, serif_share=0.25,
           numbered=("none", "decimal", "part")),
    Family("contents", {"toc": 5, "index": 3, "bibliography": 2, "heading": 0.6, "paragraph": 0.8}, columns=(1, 1, 2)),
    Family("glossary", {"definitions": 5, "heading": 1, "paragraph": 1, "table": 0.4}, columns=(1, 2), numbered=("none", "decimal")),
)  # fmt: skip

HELD_OUT_FAMILIES = (
    Family("gazette", {"paragraph": 8, "heading": 2.2, "table": 0.7, "figure": 0.6, "lines": 0.6, "items": 0.5},
           ("a4", "legal"), columns=(3, 2), sizes=(8, 9.5), numbered=("none",)),
    Family("memo", {"fields": 1, "items": 3, "paragraph": 5, "table": 1, "heading": 1.5}, sizes=(10, 12), numbered=("decimal", "none")),
    Family("standard", {"paragraph": 5, "heading": 3, "items": 2.5, "table": 1.2, "notes": 1, "figure": 0.5, "side": 0.8}, max_depth=4),
    Family("catalogue", {"definitions": 2, "table": 2, "ledger": 1, "figure": 1, "heading": 1.5, "paragraph": 3}, columns=(1, 2)),
    Family("almanac", {"register": 2, "table": 2, "paragraph": 4, "heading": 1.5, "wrapped": 0.5, "toc": 0.5},
           ("a5", "a4", "royal"), serif_share=0.8),
)  # fmt: skip

LOUD_HEADS = 0.15
FAMILIES = {
    "train": tuple(replace(family, loud_heads=LOUD_HEADS) for family in TRAIN_FAMILIES),
    "held_out": HELD_OUT_FAMILIES,
}


@dataclass(frozen=True, slots=True)
class HeadingLook:
    """One level of headings."""

    size: float  # in multiples of the body size
    bold: bool = False
    italic: bool = False
    smallcaps: bool = False
    upper: bool = False
    align: str = "left"
    color: str = "black"
    above: float = 1.2  # space above and below, in em of the body
    below: float = 0.6
    is_run_in: bool = False
    use_sans: bool = False
    rule: bool = False


@dataclass(frozen=True, slots=True)
class ListLook:
    """Markers by depth, and how items hang."""

    bullets: tuple[str, ...]
    numberings: tuple[str, ...]  # typst-like patterns: 1 a i with their dress
    indent: float  # em per depth
    hang: float  # em between marker and text
    gap: float  # em between items of a loose list
    tight_gap: float


@dataclass(frozen=True, slots=True)
class RunningHead:
    """Templates of the furniture: left, centre, right; {page} and {pages} are filled in."""

    parts: tuple[str, str, str] = ("", "", "")
    rule: bool = False
    bold: bool = False
    italic: bool = False
    scale: float = 0.85
    swaps: bool = False  # left and right change places on even pages


@dataclass(frozen=True, slots=True)
class Style:
    """Everything the typesetter needs to know about the look of one document."""

    family: Family
    language: str
    width: float
    height: float
    margins: tuple[float, float, float, float]  # left, top, right, bottom
    body_font: str
    heading_font: str
    mono_font: str
    chinese_font: str
    chinese_first: bool  # Latin letters too are taken from the Chinese typeface
    size: float
    leading: float
    justify: bool
    hyphenate: bool
    first_indent: float
    paragraph_gap: float
    columns: int
    column_gap: float
    column_rule: bool
    spanning_title: bool
    numbered: str
    headings: tuple[HeadingLook, ...]
    lists: ListLook
    captions_above: bool
    caption_italic: bool
    caption_bold_label: bool
    caption_align: str
    note_numbering: str
    code_look: str  # frame, grey, plain, indented
    header: RunningHead
    footer: RunningHead
    page_numbering: str  # 1 or i
    first_page: int
    skip_first_head: bool
    side_width: float = 0.25  # of the text's width

    @property
    def text_width(self) -> float:
        return self.width - self.margins[0] - self.margins[2]

    @property
    def column_width(self) -> float:
        return (self.text_width - (self.columns - 1) * self.column_gap) / self.columns

    @property
    def is_chinese(self) -> bool:
        return self.language == "zh"
