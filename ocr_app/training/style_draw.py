"""Draw one `Style` at random. The bounds here decide how varied the training pages are."""

from dataclasses import replace
from random import Random

from ocr_app.training.styles import (
    FAMILIES,
    FONTS,
    PAPERS,
    Family,
    FontSet,
    HeadingLook,
    ListLook,
    RunningHead,
    Style,
)
from ocr_app.training.texts import TextSource

# of training documents; what is held out is of kinds never trained on, so kinds must not be learned by heart
BLENDED_SHARE = 0.4
BULLETS = ("•", "–", "▪", "◦", "*", "·", "-", "■", "○", "●", "—")
NUMBERINGS = ("1.", "(1)", "1)", "a)", "(a)", "a.", "i.", "(i)", "A.", "I.")
CHINESE_NUMBERINGS = ("1.", "(1)", "（1）", "1、", "①", "一、", "（一）", "a)")
CHINESE_LOOKS = (
    "bold",
    "bold",
    "plain-large",
    "same-bold",
    "color",
)  # slant, small and large capitals show nothing there
WITHOUT_BOLD = ("AR PL UKai",)
COLORS = ("rgb(20,40,110)", "rgb(120,20,30)", "rgb(60,60,60)", "rgb(0,90,70)")


def draw_style(
    rng: Random, *, split: str, language: str, texts: TextSource, loud_heads: float | None = None
) -> Style:
    """A style of the split's families and fonts; `loud_heads` instead of the family's share of running heads
    as loud as headings.
    """
    families = FAMILIES[split]
    family = _draw_family(rng, families)
    if split == "train" and rng.random() < BLENDED_SHARE:
        family = family.blended(_draw_family(rng, families))
    if loud_heads is not None:
        family = replace(family, loud_heads=loud_heads)
    fonts = FONTS[split]
    width, height = PAPERS[rng.choice(family.papers)]
    columns = 1 if width < 450 else rng.choice(family.columns)
    body, heading = _pick_fonts(rng, family, fonts)
    size = round(rng.uniform(*family.sizes) * 2) / 2
    is_chinese = language == "zh"
    chinese_font = rng.choice(fonts.chinese_serif if body in fonts.serif else fonts.chinese_sans)
    looks = family.heading_looks
    if is_chinese:
        looks = ("plain-large",) if chinese_font in WITHOUT_BOLD else CHINESE_LOOKS
    indents = rng.random() < (0.9 if family.name == "book" else 0.35)
    header, footer = _draw_heads(rng, family, texts)
    return Style(
        family=family,
        language=language,
        width=width,
        height=height,
        margins=_draw_margins(rng, width, columns),
        body_font=body,
        heading_font=heading,
        mono_font=rng.choice(fonts.mono),
        chinese_font=chinese_font,
        chinese_first=is_chinese and rng.random() < 0.4,
        size=size,
        leading=rng.uniform(0.7, 1.0) if is_chinese else rng.uniform(0.45, 0.8),
        justify=rng.random() < (0.85 if columns > 1 or body in fonts.serif else 0.4),
        hyphenate=rng.random() < 0.6,
        first_indent=(2.0 if is_chinese else rng.uniform(1.0, 2.0)) if indents else 0.0,
        paragraph_gap=rng.choice((0.0, 0.0, 0.3)) if indents else rng.uniform(0.5, 1.1),
        columns=columns,
        column_gap=rng.uniform(12, 26),
        column_rule=columns > 1 and rng.random() < 0.2,
        spanning_title=rng.random() < 0.6,
        numbered=rng.choice(family.numbered),
        headings=_draw_headings(rng, looks, heading != body),
        lists=_draw_lists(rng, is_chinese),
        captions_above=rng.random() < 0.4,
        caption_italic=rng.random() < 0.3,
        caption_bold_label=rng.random() < 0.5,
        caption_align=rng.choice(("left", "center", "center")),
        note_numbering=rng.choice(("1", "1", "1", "a", "[1]")),
        code_look=rng.choice(("frame", "grey", "grey", "plain", "indented")),
        header=header,
        footer=footer,
        page_numbering=rng.choice(("1", "1", "1", "1", "1", "i")),
        first_page=rng.choice((1, 1, rng.randint(2, 400))),
        skip_first_head=rng.random() < 0.3,
        side_width=rng.uniform(0.2, 0.32),
    )


def _draw_family(rng: Random, families: tuple[Family, ...]) -> Family:
    return rng.choices(families, [family.share for family in families])[0]


def _pick_fonts(rng: Random, family: Family, fonts: FontSet) -> tuple[str, str]:
    body = rng.choice(fonts.serif if rng.random() < family.serif_share else fonts.sans)
    return body, (rng.choice(fonts.sans) if rng.random() < 0.35 else body)


def _draw_margins(rng: Random, width: float, columns: int) -> tuple[float, float, float, float]:
    side = width * rng.uniform(0.06, 0.11 if columns > 1 else 0.17)
    return side, rng.uniform(48, 90), side * rng.uniform(0.8, 1.2), rng.uniform(48, 90)


def _draw_headings(rng: Random, kinds: tuple[str, ...], use_sans: bool) -> tuple[HeadingLook, ...]:
    """Four levels, from large to small; the look of a level differs from the one above it."""
    largest = rng.uniform(1.2, 2.2)
    align = rng.choice(("left", "left", "left", "center"))
    color = rng.choice(COLORS) if rng.random() < 0.2 else "black"
    has_rule = rng.random() < 0.12
    looks = []
    for level in range(4):
        kind = rng.choice(kinds)
        size = max(1.0, largest - level * rng.uniform(0.15, 0.4))
        is_plain = kind in ("plain-large", "italic", "smallcaps", "upper")
        looks.append(
            HeadingLook(
                size=1.0
                if kind == "same-bold"
                else max(size, 1.2)
                if kind in ("plain-large", "smallcaps")
                else size,
                bold=not is_plain or rng.random() < 0.3,
                italic=kind == "italic",
                smallcaps=kind == "smallcaps",
                upper=kind == "upper",
                align=align if level < 2 else "left",
                color=color if kind == "color" or level == 0 else "black",
                above=rng.uniform(1.0, 2.2),
                below=rng.uniform(0.4, 1.0),
                is_run_in=level >= 2 and rng.random() < 0.25,
                use_sans=use_sans,
                rule=has_rule and level == 0,
            )
        )
    return tuple(looks)


def _draw_lists(rng: Random, is_chinese: bool) -> ListLook:
    numberings = CHINESE_NUMBERINGS if is_chinese else NUMBERINGS
    return ListLook(
        bullets=tuple(rng.sample(BULLETS, 3)),
        numberings=tuple(rng.sample(numberings, 3)),
        indent=rng.uniform(1.2, 2.6),
        hang=rng.uniform(1.0, 2.6),
        gap=rng.uniform(0.5, 1.0),
        tight_gap=rng.uniform(0.0, 0.15),
    )


def _draw_heads(rng: Random, family: Family, texts: TextSource) -> tuple[RunningHead, RunningHead]:
    """Furniture of one document: the header, the footer, both or neither; the page number stands in one of
    them.
    """
    if rng.random() > family.running_heads:
        return RunningHead(), RunningHead()
    title, section = texts.title(40), texts.title(30)
    if rng.random() < 0.35:
        title = title.upper()
    page = _page_label(rng, texts)
    if rng.random() < 0.2:
        section = (
            f"{texts.title(24)}\n{section}"
            if rng.random() < 0.5
            else f"{texts.identifier()}\n{texts.date()}\n{section}"
        )
    code = rng.choice((texts.identifier(), texts.date(), section, texts.company(), ""))
    shapes = [
        (("", page, ""), ("", "", "")),
        (("", title, page), ("", "", "")),
        ((title, "", page), (code, "", section)),
        ((title, "", section), ("", page, "")),
        ((title, "", code), (code, section, page)),
        (("", title, ""), ("", page, "")),
        (("", "", ""), ("", page, "")),
        (("", "", ""), (title, "", page)),
        (("", "", ""), (code, title, page)),
        ((page, title, ""), ("", "", "")),
    ]
    header, footer = rng.choice(shapes)
    rule, swaps = rng.random() < 0.4, rng.random() < 0.3
    bold, italic, scale = rng.random() < 0.2, rng.random() < 0.25, rng.uniform(0.75, 1.05)
    loud = Random(title)  # a stream of its own: the other draws stay what they are without it
    if loud.random() < family.loud_heads:
        bold, italic, scale = True, False, loud.uniform(1.1, 1.6)
    return RunningHead(header, rule, bold, italic, scale, swaps), RunningHead(
        footer, rule and rng.random() < 0.7, bold, italic, scale, swaps
    )


def _page_label(rng: Random, texts: TextSource) -> str:
    if texts.is_chinese and rng.random() < 0.4:
        return rng.choice(("第 {page} 页", "第{page}页", "第 {page} 页 共 {pages} 页"))
    word = texts.vocabulary.page if not texts.is_chinese else "Page"
    return rng.choice(
        (
            "{page}",
            "{page}",
            "{page}",
            "- {page} -",
            "– {page} –",
            "{page} / {pages}",
            "{page}/{pages}",
            word + " {page}",
            word.lower() + " {page}",
            "[{page}]",
        )
    )
