"""The worst pages of one engine: a small picture of each and what went wrong, told from the counts.

The reason is made from evidence that is printed with it (words lost and invented, lines out of order, loops,
structure); it says how a page failed and cannot say why.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from ocr_app.bench.environment import markdown_table
from ocr_app.bench.markdown_structure import read_markdown
from ocr_app.bench.metrics import words
from ocr_app.bench.page_score import PageRecord, comparable_text
from ocr_app.config import LoaderConfig
from ocr_app.types import PageImage

if TYPE_CHECKING:
    from PIL import Image

MAX_PICTURE_BYTES = 60_000
NUM_GREYS = 8
FIRST_WIDTH = 640
GOOD_F1 = 0.97
SWAPPED_SHARE = 0.01


def write_worst(records: Sequence[PageRecord], num_pages: int, folder: Path, dpi: int) -> None:
    """Write NN-name.png for each of the worst pages of the first engine, and worst.md with the figures and
    reasons.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("[0-9][0-9]-*.png"):
        old.unlink()
    rows, sections = [], []
    for place, record in enumerate(worst_pages(records, num_pages), start=1):
        picture = f"{place:02d}-{record.document.path.stem}-p{record.page.page_index + 1}.png"
        (folder / picture).write_bytes(small_png(_page_image(record, dpi)))
        rows.append(
            [
                place,
                record.document.name,
                record.page.page_index + 1,
                _percent(record.cer),
                f"{record.word_f1:.3f}",
            ]
        )
        sections.append(_section(place, record, picture))
    table = markdown_table(["", "document", "page", "CER %", "word F1"], rows)
    engine = records[0].engine if records else "no engine"
    (folder / "worst.md").write_text(
        "\n\n".join([f"# Worst pages of {engine}", table, *sections]) + "\n", encoding="utf-8"
    )


def worst_pages(records: Sequence[PageRecord], num_pages: int) -> list[PageRecord]:
    """Pages of the first engine, the worst first, by character error rate or, where order says nothing, by
    words.
    """
    engine = records[0].engine if records else None
    ranked = [record for record in records if record.engine == engine and record.document.is_exact]
    return sorted(ranked, key=_badness, reverse=True)[:num_pages]


def diagnose(record: PageRecord) -> str:
    """In a sentence or two: what is wrong with this page."""
    return "; ".join(_findings(record)) or "no fault that the counts can name"


def small_png(image: PageImage) -> bytes:
    """A grey picture of the page of at most 60 kB: narrower until it fits."""
    from PIL import Image

    page = Image.fromarray(image.pixels).convert("L")
    width = min(FIRST_WIDTH, page.width)
    while True:
        data = _png(page.resize((width, max(1, page.height * width // page.width)), Image.Resampling.LANCZOS))
        if len(data) <= MAX_PICTURE_BYTES or width <= 64:
            return data
        width = width * 4 // 5


def _badness(record: PageRecord) -> float:
    return record.cer if record.cer is not None else 1 - record.word_f1


def _findings(record: PageRecord) -> Iterator[str]:
    score = record.score
    if record.output.has_failed:
        yield "the engine failed on this page"
    if not record.page.text.strip():
        yield "text written where the truth has none"
    elif record.word_f1 < GOOD_F1:
        yield _word_finding(record)
    swapped = score.order.distance if score.order else None
    if swapped is not None and swapped > SWAPPED_SHARE:
        yield f"read in another order: {100 * swapped:.0f} % of the pairs of lines changed places"
    elif record.word_f1 >= GOOD_F1 and record.cer is not None and record.cer > 1 - GOOD_F1:
        yield (
            "the words are right and the lines in order, "
            "so a passage inside lines, or a few short lines, moved"
        )
    if score.num_loops:
        yield f"repeats itself in {score.num_loops} place{'s' * (score.num_loops > 1)}"
    if score.num_lost_runs:
        yield f"{score.num_lost_runs} runs seen and not written"
    if score.num_unplaced_runs:
        yield f"{score.num_unplaced_runs} runs left over by the reader and appended"
    for name, counts in (
        ("headings", score.headings),
        ("list items", score.list_items),
        ("table cells", score.cells),
    ):
        if counts is not None and counts.f1 is not None and counts.f1 < GOOD_F1:
            yield f"{name}: {counts.num_found} right of {counts.num_truth}, {counts.num_output} written"


def _word_finding(record: PageRecord) -> str:
    counts = record.score.words
    num_lost, num_extra = counts.num_truth - counts.num_found, counts.num_output - counts.num_found
    if num_lost > 2 * num_extra:
        kind = "words lost"
    elif num_extra > 2 * num_lost:
        kind = "words added"
    else:
        kind = "words misread or cut differently"
    return f"{kind}: {num_lost} of {counts.num_truth} missing, {num_extra} written that are not there"


def _section(place: int, record: PageRecord, picture: str) -> str:
    truth, output = Counter(words(comparable_text(record.page.text))), Counter(words(_text(record)))
    return "\n".join(
        [
            f"## {place}. {record.document.name}, page {record.page.page_index + 1}",
            f"![page]({picture})\n",
            f"Reason: {diagnose(record)}.\n",
            f"Missing: {_examples(truth - output)}\n",
            f"Not there: {_examples(output - truth)}",
        ]
    )


def _examples(surplus: Counter[str]) -> str:
    """A few words as code, the most frequent first."""
    return ", ".join(f"`{word.replace('`', chr(39))}`" for word, _ in surplus.most_common(12)) or "none"


def _text(record: PageRecord) -> str:
    text = read_markdown(record.output.markdown).text if record.output.text is None else record.output.text
    return comparable_text(text)


def _page_image(record: PageRecord, dpi: int) -> PageImage:
    from ocr_app.document.loader import open_document

    with open_document(
        record.document.path, LoaderConfig(dpi=dpi), pages=str(record.page.page_index + 1)
    ) as document:
        return next(iter(document.pages()))


def _png(picture: "Image.Image") -> bytes:
    buffer = BytesIO()
    picture.quantize(NUM_GREYS).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def _percent(rate: float | None) -> str | None:
    return None if rate is None else f"{100 * rate:.1f}"
