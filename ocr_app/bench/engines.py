"""The engines that are compared, behind one small seam: a session per document that is handed page images one
by one.

All get the same images, upright or not, as the loader made them. Ours are run with the reuse of known lines
off: the encoder's cache is shared by the process, and the second reader of a page would be timed on the first
one's work. Engines that write plain text are compared by that text; asked for structure, their text is taken
as the Markdown it may happen to be.
"""

import json
import os
import subprocess
import sys
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
CHILD_TIMEOUT_S = 1800


class EngineMissingError(OCRError):
    """An engine cannot run here, or not on this document."""


@dataclass(frozen=True, slots=True)
class EngineOutput:
    """What an engine made of one page. None means that it cannot tell."""

    markdown: str
    text: str | None = None  # set by engines that write plain text
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
    pymupdf4llm: Path | None = None  # a folder made by `pip install --target`


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
        return EngineOutput(markdown, num_lost_runs=lost, num_unplaced_runs=unplaced, decode_s=decode_s)

    def close(self) -> None:
        self.session.close()


class RapidOCREngine:
    """`rapidocr` as it comes, its lines in the order it returns them; only the number of threads is set."""

    def __init__(self, threads: int) -> None:
        from rapidocr import RapidOCR

        params = {"EngineConfig.onnxruntime.intra_op_num_threads": threads, "Global.log_level": "error"}
        self.ocr = RapidOCR(params=params)

    def open(self, document: TruthDocument) -> EngineSession:
        return self

    def read(self, image: PageImage) -> EngineOutput:
        lines = self.ocr(image.pixels[:, :, ::-1]).txts or ()
        text = "\n".join(lines)
        return EngineOutput(text, text)

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
        language = "chi_sim" if document.is_chinese else "eng"
        if language not in self.languages:
            raise EngineMissingError(
                f"tesseract lacks the language {language}; "
                f"install tesseract-ocr-{language.replace('_', '-')}."
            )
        return _TesseractSession(language)


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

    def __init__(self, folder: Path | None) -> None:
        if folder is None:
            raise EngineMissingError(
                "pymupdf4llm needs a folder of its own: pip install --target DIR pymupdf==2.0, then --pymupdf4llm DIR."
            )
        self.folder = folder

    def open(self, document: TruthDocument) -> EngineSession:
        if not document.has_text_layer:
            raise EngineMissingError("no text layer to read.")
        indices = [page.page_index for page in document.pages]
        script = Path(__file__).with_name("pymupdf4llm_child.py")
        arguments = [str(document.path), ",".join(map(str, indices)), str(int(document.has_furniture))]
        command = [sys.executable, "-P", str(script), *arguments]
        environment = {**os.environ, "PYTHONPATH": str(self.folder)}
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=CHILD_TIMEOUT_S
        )
        if done.returncode:
            raise EngineMissingError(f"pymupdf4llm failed: {done.stderr.strip().splitlines()[-1:]}")
        answer = json.loads(done.stdout.splitlines()[-1])
        return _PyMuPDF4LLMSession(answer["pages"], answer["elapsed_s"] / len(indices))


class _PyMuPDF4LLMSession:
    def __init__(self, pages: dict[str, str], s_per_page: float) -> None:
        self.pages = pages
        self.s_per_page = s_per_page

    def read(self, image: PageImage) -> EngineOutput:
        return EngineOutput(self.pages[str(image.page_index)], wall_s=self.s_per_page)

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
    "pymupdf4llm": lambda options: PyMuPDF4LLM(options.pymupdf4llm),
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
