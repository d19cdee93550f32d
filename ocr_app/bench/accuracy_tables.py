"""Figures of the accuracy bench, added up by group and document, and the tables made of them. It reads
nothing and times nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ocr_app.bench.environment import markdown_table
from ocr_app.bench.ground_truth import TruthDocument
from ocr_app.bench.page_score import PageRecord, add_up, never_written

Figures = dict[str, Any]

SAMPLES = "all samples"
HELD_OUT = "held-out"
SEVERAL_COLUMNS = {"faa-amt-handbook-p1.pdf"}
OURS = "tiny"
OURS_FULL = "tiny-full"
# column → key in the figures and how a number is shown
COLUMNS: dict[str, tuple[str, str]] = {
    "pages": ("pages", "d"),
    "CER %": ("cer", "%"),
    "CER % by default": ("default_cer", "%"),
    "word F1": ("words_f1", ".3f"),
    "heading F1": ("headings_f1", ".3f"),
    "by level": ("headings_by_level_f1", ".3f"),
    "list F1": ("list_items_f1", ".3f"),
    "by depth": ("list_items_by_depth_f1", ".3f"),
    "cell F1": ("cells_f1", ".3f"),
    "order": ("order_distance", ".3f"),
    "s/page": ("s_per_page", ".2f"),
    "processor s/page": ("cpu_s_per_page", ".2f"),
    "loops": ("loops", "d"),
    "lost": ("lost_runs", "d"),
    "unplaced": ("unplaced_runs", "d"),
}


def summarise(documents: Sequence[TruthDocument], records: Sequence[PageRecord]) -> dict[str, Any]:
    """Everything that is saved: figures by group and by document, and the README's tables."""
    groups = {
        group: _by_engine(records, lambda record, group=group: record.document.group == group)
        for group in _groups(documents)
    }
    if len(groups) > 1:
        groups[SAMPLES] = _by_engine(records, lambda record: record.document.is_sample)
    by_document = {
        document.name: _by_engine(records, lambda record, name=document.name: record.document.name == name)
        for document in documents
    }
    tables = {
        "accuracy": _group_table(groups),
        "accuracy-cer": _document_table(documents, by_document, "CER %"),
        "accuracy-words": _document_table(documents, by_document, "word F1"),
        "accuracy-bars": _bar_table(records, groups),
        "accuracy-modes": _mode_table(records),
    }
    return {"groups": groups, "documents": by_document, "tables": tables}


def printed(result: dict[str, Any]) -> str:
    titles = {
        "accuracy": "By group",
        "accuracy-cer": "Character error rate in reading order, %",
        "accuracy-words": "Word F1, order-free",
        "accuracy-bars": "Bars",
        "accuracy-modes": "Sparse and full attention on the same pages",
    }
    return "\n\n".join(
        f"{title}\n\n{markdown_table(**result['tables'][name])}"
        for name, title in titles.items()
        if result["tables"][name]["rows"]
    )


def _groups(documents: Iterable[TruthDocument]) -> list[str]:
    return list(dict.fromkeys(document.group for document in documents))


def _by_engine(records: Sequence[PageRecord], belongs: Callable[[PageRecord], bool]) -> dict[str, Figures]:
    scores: dict[str, list] = {}
    everywhere: dict[str, list] = {}
    for record in records:
        everywhere.setdefault(record.engine, []).append(record.score)
        if belongs(record):
            scores.setdefault(record.engine, []).append(record.score)
    return {
        engine: add_up(pages) | {f"{name}_f1": None for name in never_written(everywhere[engine])}
        for engine, pages in scores.items()
    }


def _group_table(groups: dict[str, dict[str, Figures]]) -> dict[str, Any]:
    rows = [
        [group, engine, *(_shown(figures[key], form) for key, form in COLUMNS.values())]
        for group, engines in groups.items()
        for engine, figures in engines.items()
    ]
    return {"columns": ["documents", "engine", *COLUMNS], "rows": rows}


def _document_table(
    documents: Sequence[TruthDocument], by_document: dict[str, dict[str, Figures]], column: str
) -> dict[str, Any]:
    engines = list(dict.fromkeys(engine for figures in by_document.values() for engine in figures))
    key, form = COLUMNS[column]
    rows = [
        [
            document.name,
            *(
                _shown(by_document[document.name][engine][key], form)
                if engine in by_document[document.name]
                else None
                for engine in engines
            ),
        ]
        for document in documents
        if any(figures[key] is not None for figures in by_document[document.name].values())
    ]
    return {"columns": ["document", *engines], "rows": rows}


def _bar_table(records: Sequence[PageRecord], groups: dict[str, dict[str, Figures]]) -> dict[str, Any]:
    """What was promised for our default reader, and what was measured."""
    samples = [record for record in records if record.engine == OURS and record.document.is_sample]
    several = add_up(record.score for record in samples if record.document.name in SEVERAL_COLUMNS)
    single = add_up(record.score for record in samples if record.document.name not in SEVERAL_COLUMNS)
    held_out = groups.get(HELD_OUT, {}).get(OURS, {})
    everything = add_up(record.score for record in records if record.engine == OURS)
    bars = [
        ("word F1, digital Latin", _figure(groups, "digital, Latin", "words_f1"), 0.98, False),
        ("word F1, digital Chinese", _figure(groups, "digital, Chinese", "words_f1"), 0.97, False),
        ("CER, one column", single["cer"], 0.02, True),
        ("CER, several columns", several["cer"], 0.05, True),
        ("heading F1, held-out", held_out.get("headings_f1"), 0.95, False),
        ("list F1, held-out", held_out.get("list_items_f1"), 0.95, False),
        ("cell F1, held-out", held_out.get("cells_f1"), 0.95, False),
        ("decoding over encoding time", _decoding_share(everything), 1 / 3, True),
        ("loops", everything["loops"], 0, True),
        ("lost runs", everything["lost_runs"], 0, True),
    ]
    rows = [_bar_row(*bar) for bar in bars if bar[1] is not None]
    rows += [
        _rival_row(groups, rival)
        for rival in ("plain", "tesseract")
        if _figure(groups, SAMPLES, "cer", rival) is not None
    ]
    return {"columns": ["bar", "asked", "measured", "met"], "rows": rows if samples or held_out else []}


def _decoding_share(figures: Figures) -> float | None:
    decode_s, all_s = figures["decode_s_per_page"], figures["s_per_page"]
    return None if decode_s is None or all_s <= decode_s else decode_s / (all_s - decode_s)


def _mode_table(records: Sequence[PageRecord]) -> dict[str, Any]:
    """How much of what is written is the same with everything read at each step and with the routed part of
    it.
    """
    pages: dict[tuple[str, int], dict[str, str]] = {}
    for record in records:
        pages.setdefault((record.document.name, record.page.page_index), {})[record.engine] = (
            record.output.markdown
        )
    pairs = [(of[OURS], of[OURS_FULL]) for of in pages.values() if OURS in of and OURS_FULL in of]
    num_identical = sum(sparse == full for sparse, full in pairs)
    distance = _text_distance(pairs)
    row = (
        [len(pairs), num_identical, f"{100 * num_identical / len(pairs):.1f}", f"{100 * distance:.3f}"]
        if pairs
        else None
    )
    return {
        "columns": ["pages", "identical", "identical %", "edits per character %"],
        "rows": [row] if row else [],
    }


def _text_distance(pairs: Sequence[tuple[str, str]]) -> float:
    from rapidfuzz.distance import Levenshtein

    num_characters = sum(len(full) for _, full in pairs)
    return sum(Levenshtein.distance(*pair) for pair in pairs) / max(1, num_characters)


def _figure(groups: dict[str, dict[str, Figures]], group: str, key: str, engine: str = OURS) -> float | None:
    return groups.get(group, {}).get(engine, {}).get(key)


def _bar_row(name: str, value: float, bar: float, is_upper: bool) -> list[str]:
    is_met = value <= bar if is_upper else value >= bar
    return [
        name,
        f"{'at most' if is_upper else 'at least'} {bar:.3g}",
        f"{value:.4g}",
        "yes" if is_met else "no",
    ]


def _rival_row(groups: dict[str, dict[str, Figures]], rival: str) -> list[str]:
    ours, theirs = _figure(groups, SAMPLES, "cer"), _figure(groups, SAMPLES, "cer", rival)
    is_met = ours is not None and ours < theirs
    return [
        f"CER below {rival}'s, all samples",
        f"below {theirs:.4g}",
        _shown(ours, ".4g") or "–",
        "yes" if is_met else "no",
    ]


def _shown(value: float | None, form: str) -> str | None:
    if value is None:
        return None
    return f"{100 * value:.2f}" if form == "%" else format(value, form)
