"""The engines that are compared, behind one small seam: a session per document that is handed page images one
by one.

All get the same images, upright or not, as the loader made them. Ours are run with the reuse of known lines
off: the encoder's cache is shared by the process, and the second reader of a page would be timed on the first
one's work. Engines that write plain text are compared by that text, and have no structure to be compared.
"""

import os
import subprocess
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from ocr_app.bench.ground_truth import TruthDocument
from ocr_app.config import AppConfig, EncoderConfig, ReaderConfig
from ocr_app.errors import ConfigError, OCRError
from ocr_app.models.base import ReaderSession, open_reader
from ocr_app.types import PageImage, PageReading, RegionKind

TESSERACT_TIMEOUT_S = 300
SEVERAL_LANGUAGES = {"eurotext.tif": ("eng", "deu", "fra", "ita", "spa", "por")}


class EngineMissingError(OCRError):
    """An engine cannot run here, or not on this document."""


@dataclass(frozen=True, slots=True)
class EngineOutput:
    """What an engine made of one page. None means that it cannot tell."""

    markdown: str
    text: str | None = None  # set by engines that write plain text
    default_markdown: str | None = None  # what a user gets by default, where it is not `markdown`
    num_lost_runs: int | None = None
    num_unplaced_runs: int | None = None
    has_failed: bool = False
    wall_s: float = 0.0
    decode_s: float | None = None  # the part of wall_s after encoding, of engines that encode and decode
    cpu_s: float | None = None


class EngineSession(Protocol):
    def read(self, image: PageImage) -> EngineOutput: ...

    def close(self) -> None: ...


class Engine(Protocol):
    """Made once per bench; `open` raises EngineMissingError, or another OCRError, where it cannot read this
    document.
    """

    def open(self, document: TruthDocument) -> EngineSession: ...


@dataclass(frozen=True, slots=True)
class EngineOptions:
    threads: int = 2
    weights: Path | None = None  # of our reader; None: the shipped ones


@dataclass(frozen=True, slots=True)
class Reader:
    """One of our readers, through the protocol every model obeys."""

    config: AppConfig

    def open(self, document: TruthDocument) -> EngineSession:
        return _ReaderSession(open_reader(self.config), document.has_furniture)


class _ReaderSession:
    def __init__(self, session: ReaderSession, has_furniture: bool) -> None:
        self.session = session
        self.has_furniture = has_furniture

    def read(self, image: PageImage) -> EngineOutput:
        from ocr_app.document.markdown_writer import UNPLACED_MARK, page_markdown

        if image.is_blank:  # as in the pipeline: a blank page is not read
            return EngineOutput("", num_lost_runs=0, num_unplaced_runs=0, decode_s=0.0)
        page = self.session.prepare(image)
        start = time.perf_counter()
        reading = deque(self.session.read(page, lambda: False), maxlen=1).pop()
        decode_s = time.perf_counter() - start
        markdown = page_markdown(reading.regions, furniture=self.has_furniture).replace(
            UNPLACED_MARK, ""
        )  # our words, not the page's
        lost, unplaced = (
            len(page.runs) - _num_runs(reading, set(RegionKind)),
            _num_runs(reading, {RegionKind.UNPLACED}),
        )
        default = page_markdown(reading.regions).replace(UNPLACED_MARK, "")
        return EngineOutput(
            markdown,
            default_markdown=default,
            num_lost_runs=lost,
            num_unplaced_runs=unplaced,
            decode_s=decode_s,
        )

    def close(self) -> None:
        self.session.close()


class RapidOCREngine:
    """`rapidocr` as it comes, with its *small* models and its own Markdown; only the threads are set."""

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR

        params = {"EngineConfig.onnxruntime.intra_op_num_threads": threads, "Global.log_level": "error"}
        self.ocr = RapidOCR(params=params)

    def open(self, document: TruthDocument) -> EngineSession:
        return self

    def read(self, image: PageImage) -> EngineOutput:
        return EngineOutput(self.markdown(image))

    def markdown(self, image: PageImage) -> str:
        found = self.ocr(image.pixels[:, :, ::-1])
        return found.to_markdown() if found.txts else ""

    def close(self) -> None:
        """Nothing is kept between documents."""


class TesseractEngine:
    """Tesseract 5 from the system, one process per page, one OpenMP thread: with more it can stall on a busy
    machine.
    """

    def __init__(self) -> None:
        try:
            listing = subprocess.run(
                ["tesseract", "--list-langs"], capture_output=True, text=True, check=True
            )
        except (OSError, subprocess.CalledProcessError) as error:
            raise EngineMissingError(
                "tesseract does not run here; install Debian's tesseract-ocr and tesseract-ocr-chi-sim."
            ) from error
        self.languages = set(listing.stdout.split())

    def open(self, document: TruthDocument) -> EngineSession:
        languages = tesseract_languages(document)
        for language in languages:
            if language not in self.languages:
                package = f"tesseract-ocr-{language.replace('_', '-')}"
                raise EngineMissingError(f"tesseract lacks the language {language}; install {package}.")
        return _TesseractSession("+".join(languages))


def tesseract_languages(document: TruthDocument) -> tuple[str, ...]:
    """What a user who knows the document would ask for: Chinese pages hold Latin words as well."""
    if document.name in SEVERAL_LANGUAGES:
        return SEVERAL_LANGUAGES[document.name]
    return ("chi_sim", "eng") if document.is_chinese else ("eng",)


class _TesseractSession:
    def __init__(self, language: str) -> None:
        self.language = language

    def read(self, image: PageImage) -> EngineOutput:
        command = ["tesseract", "stdin", "stdout", "-l", self.language, "--dpi", str(round(image.dpi))]
        portable = b"P6 %d %d 255\n" % (image.width_px, image.height_px) + image.pixels.tobytes()
        environment = {**os.environ, "OMP_THREAD_LIMIT": "1"}
        done = subprocess.run(
            command,
            input=portable,
            capture_output=True,
            env=environment,
            timeout=TESSERACT_TIMEOUT_S,
            check=True,
        )
        text = done.stdout.decode("utf-8").replace("\f", "")
        return EngineOutput(text, text)

    def close(self) -> None:
        """Each page has its own process."""


class PyMuPDF4LLM:
    """The upper reference on born-digital files: it reads the text layer, which no other engine may."""

    def open(self, document: TruthDocument) -> EngineSession:
        from ocr_app.bench.text_layer import text_layer_pages

        if document.has_text_layer is False:
            raise EngineMissingError("no text layer to read.")
        indices = [page.page_index for page in document.pages]
        start, cpu_start = time.perf_counter(), _cpu_s()
        pages = text_layer_pages(document.path, indices, furniture=document.has_furniture)
        wall_s, cpu_s = time.perf_counter() - start, _cpu_s() - cpu_start
        if not any(page.strip() for page in pages):
            raise EngineMissingError("no text layer to read.")
        by_index = dict(zip(indices, pages, strict=True))
        return _PyMuPDF4LLMSession(by_index, wall_s / len(indices), cpu_s / len(indices))


@dataclass(frozen=True, slots=True)
class _PyMuPDF4LLMSession:
    pages: dict[int, str]
    s_per_page: float
    cpu_s_per_page: float

    def read(self, image: PageImage) -> EngineOutput:
        markdown = self.pages[image.page_index]
        return EngineOutput(markdown, wall_s=self.s_per_page, cpu_s=self.cpu_s_per_page)

    def close(self) -> None:
        """All pages were read when it was opened."""


# name → what makes it; the order is that of the tables
ENGINES: dict[str, Callable[[EngineOptions], Engine]] = {
    "tiny": lambda options: Reader(_config("embedded", "tiny", options)),
    "tiny-full": lambda options: Reader(_config("embedded", "tiny", options, mode="full")),
    "small": lambda options: Reader(_config("embedded", "small", options)),
    "plain": lambda options: Reader(_config("plain", "tiny", options)),
    "rapidocr": lambda options: RapidOCREngine(options.threads),
    "tesseract": lambda options: TesseractEngine(),
    "pymupdf4llm": lambda options: PyMuPDF4LLM(),
}


def make_engine(name: str, options: EngineOptions) -> Engine:
    if name not in ENGINES:
        raise ConfigError(f"engine is {name!r}; it must be one of {', '.join(ENGINES)}.")
    return ENGINES[name](options)


def timed_read(session: EngineSession, image: PageImage) -> EngineOutput:
    """Read one page with the clock running; an engine that brings its own time keeps it."""
    wall_start, cpu_start = time.perf_counter(), _cpu_s()
    output = session.read(image)
    if output.wall_s:
        return output
    return replace(output, wall_s=time.perf_counter() - wall_start, cpu_s=_cpu_s() - cpu_start)


def _config(model: str, quality: str, options: EngineOptions, mode: str = "sparse") -> AppConfig:
    encoder = EncoderConfig(quality=quality, threads=options.threads, reuse=False)
    weights = str(options.weights) if options.weights else None
    return AppConfig(
        encoder=encoder,
        reader=ReaderConfig(model=model, mode=mode, threads=options.threads, weight_path=weights),
    )


def _num_runs(reading: PageReading, kinds: set[RegionKind]) -> int:
    """Number of runs written in regions of these kinds."""
    return len({index for region in reading.regions if region.kind in kinds for index in region.run_indices})


def _cpu_s() -> float:
    """Processor time of this process and of the children it has waited for, all threads together."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system
