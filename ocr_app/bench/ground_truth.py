"""Documents whose text is known: sample folders (index.json and one .txt per file) and generated held-out
pages.

Pages of a truth are separated by a form feed, in both. What is known differs:

    samples    plain text in the reading order of the text layer or of a transcription, running headers and
    page numbers included held-out   Markdown as the product should deliver it: structure known exactly,
    running headers and page numbers left out

Two truths say less than they seem to and are kept out of the totals they would distort: text layers that list
a table column by column (`is_ordered` is False: no reading order to compare with), and layers that are
another engine's unproofread output (`is_exact` is False).
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ocr_app.bench.markdown_structure import PageStructure, read_markdown
from ocr_app.errors import ConfigError

TABLES_BY_COLUMN = {"senate-expenditures.pdf", "warn-report-16p.pdf"}


@dataclass(frozen=True, slots=True)
class TruthPage:
    page_index: int
    text: str
    structure: PageStructure | None = None  # None: not known


@dataclass(frozen=True, slots=True)
class TruthDocument:
    """One file and what stands on the pages that are to be read."""

    name: str
    path: Path
    group: str
    is_chinese: bool
    pages: tuple[TruthPage, ...]
    has_text_layer: bool | None = None  # None: not known, to be tried
    has_furniture: bool = True  # whether the truth holds running headers, footers and page numbers
    is_ordered: bool = True
    is_exact: bool = True
    is_sample: bool = True  # counted in the total of the samples

    @property
    def page_range(self) -> str:
        return ",".join(str(page.page_index + 1) for page in self.pages)


def load_samples(folder: Path, num_pages: int | None = None) -> list[TruthDocument]:
    """Every document with a truth in `folder`, or in its subfolders `digital` and `scanned`."""
    return [
        _sample(home, entry, num_pages)
        for home in _sample_folders(folder)
        for entry in _index(home)
        if entry.get("ground_truth")
    ]


def load_held_out(folder: Path, num_pages: int | None = None, group: str = "held-out") -> list[TruthDocument]:
    """Generated documents with their Markdown."""
    return [_held_out(folder, entry, num_pages, group) for entry in _index(folder)]


def load_middle(folder: Path, name: str, first: int, last: int) -> TruthDocument:
    """Pages `first` to `last`, from 1, of one sample, to be read in one go: enough of them, and blocks are
    evicted. Raises ConfigError where the sample or the pages are not there.
    """
    for document in load_samples(folder):
        if document.name == name:
            pages = tuple(page for page in document.pages if first <= page.page_index + 1 <= last)
            if not pages:
                raise ConfigError(f"{name} has no pages {first}-{last}; it has {len(document.pages)}.")
            title = f"{name} {first}-{last}"  # not the sample's own: figures are added up by name
            return replace(document, name=title, group=title, pages=pages, is_sample=False)
    raise ConfigError(f"there is no sample {name!r} with a truth; name one of those in index.json.")


def left_out(folder: Path) -> list[tuple[str, str, str]]:
    """Samples that some figures, or all, do without: document, what it is left out of, and why."""
    rows = []
    for home in _sample_folders(folder):
        for entry in _index(home):
            if not entry.get("ground_truth"):
                rows.append((entry["file"], "everything", "its text is not known"))
            elif entry["file"] in TABLES_BY_COLUMN:
                rows.append((entry["file"], "CER, order", "its truth lists a table column by column"))
            elif "not proofread" in entry["ground_truth_kind"]:
                rows.append((entry["file"], "all but time", "its truth is another engine's, unproofread"))
    return rows


def load_file(path: Path, num_pages: int | None = None) -> TruthDocument:
    """One document with its truth beside it: scan.pdf and scan.txt."""
    pages = path.with_suffix(".txt").read_text(encoding="utf-8").split("\f")
    return TruthDocument(
        path.name, path, "sample", has_chinese(pages), _plain_pages(pages, len(pages), num_pages)
    )


def pick_pages(num_all: int, num_wanted: int | None) -> list[int]:
    """Pages spread over the document in pairs of neighbours, so that page borders are read as well."""
    if num_wanted is None or num_wanted >= num_all:
        return list(range(num_all))
    num_pairs = (num_wanted + 1) // 2
    starts = [pair * (num_all - 1) // num_pairs for pair in range(num_pairs)]
    picked = sorted({index for start in starts for index in (start, start + 1)})
    return picked[:num_wanted]


def has_chinese(pages: Iterable[str]) -> bool:
    """Whether more than a fifth of the characters are Chinese."""
    characters = [character for page in pages for character in page if not character.isspace()]
    num_chinese = sum("一" <= character <= "鿿" for character in characters)
    return num_chinese > 0.2 * len(characters)


def _sample_folders(folder: Path) -> list[Path]:
    return [folder] if (folder / "index.json").exists() else [folder / "digital", folder / "scanned"]


def _index(folder: Path) -> Iterator[dict[str, Any]]:
    path = folder / "index.json"
    if not path.exists():
        raise ConfigError(
            f"{folder.name!r} has no index.json; give the folder that holds the documents and their list."
        )
    yield from json.loads(path.read_text(encoding="utf-8"))


def _sample(folder: Path, entry: dict[str, Any], num_pages: int | None) -> TruthDocument:
    pages = (folder / entry["ground_truth"]).read_text(encoding="utf-8").split("\f")
    kind = entry["ground_truth_kind"]
    is_chinese = has_chinese(pages)
    return TruthDocument(
        name=entry["file"],
        path=folder / entry["file"],
        group=f"{folder.name}, {'Chinese' if is_chinese else 'Latin'}",
        is_chinese=is_chinese,
        pages=_plain_pages(pages, entry["pages"], num_pages),
        has_text_layer=kind.startswith("text layer"),
        is_ordered=entry["file"] not in TABLES_BY_COLUMN,
        is_exact="not proofread" not in kind,
    )


def _plain_pages(pages: list[str], num_all: int, num_pages: int | None) -> tuple[TruthPage, ...]:
    return tuple(TruthPage(index, pages[index]) for index in pick_pages(min(num_all, len(pages)), num_pages))


def _held_out(folder: Path, entry: dict[str, Any], num_pages: int | None, group: str) -> TruthDocument:
    pages = [page.strip("\n") for page in (folder / entry["truth"]).read_text(encoding="utf-8").split("\f")]
    structures = {index: read_markdown(pages[index]) for index in pick_pages(len(pages), num_pages)}
    return TruthDocument(
        name=f"{entry['file']} ({entry['style']})",
        path=folder / entry["file"],
        group=group,
        is_chinese=entry["language"].startswith("zh"),
        pages=tuple(TruthPage(index, structure.text, structure) for index, structure in structures.items()),
        has_furniture=False,
        is_sample=False,
    )
