"""Engines that turn a whole PDF into Markdown, as their users call them, for `bench real` and `bench cases`.

    MODEL[+MODE][+QUALITY]   any model of the registry: embedded, embedded+full, embedded+small, plain
    rapidocr                 its own `to_markdown()`, page by page
    tesseract                plain text, the language of the page by its truth
    pymupdf4llm              the PDF's own text layer, which no other engine may see: nothing on a scan

All but the last get pictures of the pages at the same resolution. What is scored of ours is what `parse`
writes by default.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from ocr_app.bench.engines import EngineMissingError, RapidOCREngine, TesseractEngine
from ocr_app.bench.ground_truth import TruthDocument, has_chinese
from ocr_app.bench.text_layer import text_layer_pages
from ocr_app.config import AppConfig, EncoderConfig, LoaderConfig, ReaderConfig
from ocr_app.errors import ConfigError
from ocr_app.models.base import READERS
from ocr_app.types import PageFailure, PageImage

MODES = ("sparse", "full", "rswa")
QUALITIES = ("tiny", "small")


@dataclass(frozen=True, slots=True)
class WholeOutput:
    """What an engine made of one file: the Markdown of all, that of every page, and what it took."""

    markdown: str
    pages: tuple[str, ...]
    wall_s: float = 0.0
    cpu_s: float = 0.0  # of all threads and child processes


@dataclass(frozen=True, slots=True)
class WholeOptions:
    dpi: int = 150
    threads: int = 1
    weights: Path | None = None  # of our reader; None: the shipped ones


# (file, its truth if there is one: only for the language) → its Markdown
WholeEngine = Callable[[Path, str], WholeOutput]


def default_engines() -> list[str]:
    """Every model of the registry, ours in both modes, and the peers."""
    ours = [spec for name in READERS for spec in ((name, f"{name}+full") if name == "embedded" else (name,))]
    return [*ours, *PEERS]


def open_whole(spec: str, options: WholeOptions) -> WholeEngine:
    """Make an engine ready. Raises ConfigError for an unknown name, EngineMissingError if it cannot run."""
    if spec in PEERS:
        return _timed(PEERS[spec](options))
    return _timed(_Ours(_config(spec, options)))


def _timed(engine: WholeEngine) -> WholeEngine:
    def read(path: Path, truth: str) -> WholeOutput:
        wall_s, cpu_s = time.perf_counter(), _cpu_s()
        output = engine(path, truth)
        return WholeOutput(output.markdown, output.pages, time.perf_counter() - wall_s, _cpu_s() - cpu_s)

    return read


@dataclass(frozen=True, slots=True)
class _Ours:
    config: AppConfig

    def __call__(self, path: Path, truth: str) -> WholeOutput:
        from ocr_app.document.output import document_markdown
        from ocr_app.pipeline import parse_document
        from ocr_app.types import PageFinished

        with closing(parse_document(path, self.config)) as events:
            results = [event.result for event in events if isinstance(event, PageFinished)]
        pages = tuple(result.markdown for result in results)
        return WholeOutput(document_markdown(results).rstrip("\n") + "\n", pages)


@dataclass(slots=True)
class _RapidOCR:
    options: WholeOptions
    engine: RapidOCREngine = field(init=False)

    def __post_init__(self) -> None:
        try:
            self.engine = RapidOCREngine(self.options.threads)
        except ImportError as error:
            raise EngineMissingError("rapidocr is not installed; pip install rapidocr.") from error

    def __call__(self, path: Path, truth: str) -> WholeOutput:
        images = _images(path, self.options.dpi)
        pages = ["" if image is None else self.engine.markdown(image) for image in images]
        return WholeOutput("\n\n".join(pages) + "\n", tuple(pages))


@dataclass(slots=True)
class _Tesseract:
    options: WholeOptions
    engine: TesseractEngine = field(default_factory=TesseractEngine)

    def __call__(self, path: Path, truth: str) -> WholeOutput:
        session = self.engine.open(TruthDocument(path.name, path, "real", has_chinese([truth]), ()))
        with closing(session):
            pages = [
                session.read(image).markdown if image is not None else ""
                for image in _images(path, self.options.dpi)
            ]
        return WholeOutput("\n\n".join(pages) + "\n", tuple(pages))


@dataclass(frozen=True, slots=True)
class _PyMuPDF4LLM:
    options: WholeOptions

    def __call__(self, path: Path, truth: str) -> WholeOutput:
        pages = text_layer_pages(path)
        return WholeOutput("\n\n".join(pages) + "\n", tuple(pages))


PEERS: dict[str, Callable[[WholeOptions], WholeEngine]] = {
    "rapidocr": _RapidOCR,
    "tesseract": _Tesseract,
    "pymupdf4llm": _PyMuPDF4LLM,
}


def _images(path: Path, dpi: int) -> Iterator[PageImage | None]:
    """The pictures of a file's pages; None for one that cannot be drawn."""
    from ocr_app.document.loader import open_document

    with open_document(path, LoaderConfig(dpi=dpi)) as document:
        for image in document.pages():
            yield None if isinstance(image, PageFailure) else image


def _config(spec: str, options: WholeOptions) -> AppConfig:
    """Settings of MODEL[+MODE][+QUALITY]; known lines are not reused, or an engine would profit from the one
    before it.
    """
    model, *parts = spec.split("+")
    unknown = [part for part in parts if part not in (*MODES, *QUALITIES)]
    if model not in READERS or unknown:
        known = ", ".join([*READERS, *PEERS])
        raise ConfigError(
            f"engine is {spec!r}; it must be one of {known}, ours with +{' +'.join(MODES + QUALITIES)}."
        )
    mode = next((part for part in parts if part in MODES), "sparse")
    quality = next((part for part in parts if part in QUALITIES), "tiny")
    weights = str(options.weights) if options.weights else None
    return AppConfig(
        loader=LoaderConfig(dpi=options.dpi),
        encoder=EncoderConfig(quality=quality, threads=options.threads, reuse=False),
        reader=ReaderConfig(model=model, mode=mode, threads=options.threads, weight_path=weights),
    )


def _cpu_s() -> float:
    """Processor time of this process and of the children it has waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
