"""Settings: frozen, checked where they are made, read once at the entry point and passed down.

Order of precedence: command line, then environment (`OCR_APP_*`), then a YAML file, then the defaults here.
"""

import os
from dataclasses import dataclass, field

from ocr_app.errors import ConfigError


def num_usable_cores() -> int:
    """Cores this process may run on."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def spare_cores() -> int:
    """Cores for the encoder beside the one that decodes, at least 1.

    More threads than cores are worse than slow: with two each on two cores, both wait for each other at every
    product of matrices, and a page takes 1.8 times as long as with one each.
    """
    return max(1, num_usable_cores() - 1)


@dataclass(frozen=True, slots=True)
class SparsityConfig:
    """SR-SWA: what stays in memory and what a decode step reads."""

    block_size: int = 32  # tokens per KV block
    text_window: int = 128  # latest output tokens visible, the current one included
    chunk_pages: int = 2  # pages in the active chunk, overlap included
    overlap_pages: int = 1  # pages carried over between chunks, their KV reused
    page_window: int = 64  # earlier pages that may keep blocks
    sparsity_ratio: float = 0.1  # share of an earlier page's blocks retained
    min_blocks_per_page: int = 1  # the floor under the ratio
    block_budget: int = 12  # earlier blocks read per step, beside the current page
    page_budget: int = 8  # earlier pages, beside the current one and the overlap, that a step may read
    candidate_blocks: int = 16  # the best blocks the budget is chosen from
    relevance_threshold: float = 0.3  # retained blocks scoring below go first when room is needed
    # hard cap; None: the active chunk, and beside it 1.75 median pages, or the floor of every page in the
    # window with the text if that is more (70 blocks)
    max_resident_blocks: int | None = None
    routing: str = "dash"  # dash, minmax, mean, recent, all

    def __post_init__(self) -> None:
        for name in ("block_size", "text_window", "chunk_pages", "min_blocks_per_page", "candidate_blocks"):
            _require(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("overlap_pages", "page_window", "block_budget", "page_budget"):
            _require(name, getattr(self, name), getattr(self, name) >= 0, "at least 0")
        _require(
            "overlap_pages",
            self.overlap_pages,
            self.overlap_pages < self.chunk_pages,
            f"below chunk_pages ({self.chunk_pages})",
        )
        _require("sparsity_ratio", self.sparsity_ratio, 0 <= self.sparsity_ratio <= 1, "between 0 and 1")
        _require(
            "relevance_threshold",
            self.relevance_threshold,
            0 <= self.relevance_threshold <= 1,
            "between 0 and 1",
        )
        _require(
            "block_budget",
            self.block_budget,
            self.block_budget <= self.candidate_blocks,
            f"at most candidate_blocks ({self.candidate_blocks})",
        )
        cap = self.max_resident_blocks
        _require("max_resident_blocks", cap, cap is None or cap >= 1, "at least 1, or empty for automatic")
        _require("routing", self.routing, self.routing in ROUTING_NAMES, f"one of {', '.join(ROUTING_NAMES)}")


ROUTING_NAMES = ("dash", "minmax", "mean", "recent", "all")
ATTENTION_MODES = ("sparse", "full", "rswa")
ENCODER_QUALITIES = ("tiny", "small")
KV_DTYPES = ("float32", "float16", "bfloat16", "int8")
LOG_LEVELS = ("debug", "info", "warning", "error")


@dataclass(frozen=True, slots=True)
class LoaderConfig:
    """Limits that hold before work starts, and how pages are drawn."""

    dpi: int = 150
    max_pixels: int = 25_000_000  # a page above this is drawn at a lower resolution, and says so
    max_file_bytes: int = 512 * 2**20
    max_pages: int = 4096
    page_timeout_s: float = 30.0
    renderer_memory_bytes: int = (
        2 * 2**30
    )  # for the document, beyond what the interpreter and its libraries take

    def __post_init__(self) -> None:
        _require("dpi", self.dpi, 36 <= self.dpi <= 600, "between 36 and 600")
        _require("max_pixels", self.max_pixels, self.max_pixels >= 10_000, "at least 10000")
        for name in ("max_file_bytes", "max_pages", "page_timeout_s", "renderer_memory_bytes"):
            _require(name, getattr(self, name), getattr(self, name) > 0, "above 0")


@dataclass(frozen=True, slots=True)
class EncoderConfig:
    """The visual encoder."""

    quality: str = "tiny"
    threads: int = field(default_factory=spare_cores)
    reuse: bool = True  # recognise identical line crops once
    reuse_entries: int = 1000
    straighten: bool = True  # put sideways and skewed scans right first

    def __post_init__(self) -> None:
        _require(
            "quality",
            self.quality,
            self.quality in ENCODER_QUALITIES,
            f"one of {', '.join(ENCODER_QUALITIES)}",
        )
        _require("threads", self.threads, self.threads >= 1, "at least 1")
        _require("reuse_entries", self.reuse_entries, self.reuse_entries >= 1, "at least 1")


@dataclass(frozen=True, slots=True)
class ReaderConfig:
    """The model that writes, and its guards."""

    model: str = "embedded"  # a name in the model registry: embedded, plain, ...
    weight_path: str | None = None  # a checkpoint's folder; None: the weights that come with the model
    mode: str = "sparse"
    kv_dtype: str = "float32"
    device: str = "cpu"
    backend: str = "gather"  # attention backend: dense, gather, flash
    threads: int = 1  # beside the encoder's, which work at the same time
    max_page_tokens: int = 8192
    page_timeout_s: float = 300.0

    def __post_init__(self) -> None:
        _require("mode", self.mode, self.mode in ATTENTION_MODES, f"one of {', '.join(ATTENTION_MODES)}")
        _require("kv_dtype", self.kv_dtype, self.kv_dtype in KV_DTYPES, f"one of {', '.join(KV_DTYPES)}")
        for name in ("threads", "max_page_tokens", "page_timeout_s"):
            _require(name, getattr(self, name), getattr(self, name) > 0, "above 0")


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """Where the app listens."""

    host: str = "127.0.0.1"
    port: int = 7860
    log_level: str = "info"

    def __post_init__(self) -> None:
        _require("port", self.port, 0 <= self.port <= 65535, "between 0 and 65535")
        _require("log_level", self.log_level, self.log_level in LOG_LEVELS, f"one of {', '.join(LOG_LEVELS)}")


AUTH_MODES = ("auto", "on")


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The HTTP API: where jobs are kept, how they wait, and what guards them."""

    enabled: bool = True
    folder: str | None = None  # jobs and uploads; None: longscribe in the user's data folder
    database_url: str | None = None  # SQLAlchemy's form; None: SQLite in the folder
    auth: str = "auto"  # auto: keys are asked for unless only this machine can connect; on: always
    workers: int = 1  # documents read at once, of any length
    quick_workers: int = 1  # more, that take short documents only, so that none waits behind a book
    short_pages: int = 20  # a document of at most this many pages is short
    overtake_s: float = 600.0  # a document can be overtaken only by those that came within this time after it
    max_queued: int = 1000
    max_open_jobs_per_key: int = 100  # waiting or running
    max_running_jobs_per_key: int = 2
    job_timeout_s: float = 6 * 3600.0  # of reading, waiting not counted
    keep_s: float = 7 * 86400.0  # results are removed this long after the end of the job
    rate_limit: str = "600/minute"  # requests a key
    page_quota: str = "20000/day"  # pages a key
    limits_storage: str = "memory://"  # a storage of the library `limits`
    upload_timeout_s: float = 900.0  # for the whole body of a request
    idle_timeout_s: float = 30.0  # between two pieces of it
    cors_origins: str | None = None  # origins of other web pages that may ask, divided by commas
    source_hosts: str | None = None  # hosts that documents may be fetched from by URL, divided by commas
    source_folder: str | None = None  # folder that documents may be named in by path
    scan_command: str | None = None  # a virus scanner; the file's path is appended, 0 means clean
    mask: bool = False  # e-mail addresses, telephone and identity numbers are struck out in every result
    encryption_key: str | None = field(default=None, repr=False)  # Fernet; encrypts uploads and page records

    def __post_init__(self) -> None:
        _require("auth", self.auth, self.auth in AUTH_MODES, f"one of {', '.join(AUTH_MODES)}")
        for name in ("workers", "max_queued", "max_open_jobs_per_key", "max_running_jobs_per_key"):
            _require(name, getattr(self, name), getattr(self, name) >= 1, "at least 1")
        for name in ("quick_workers", "short_pages", "overtake_s"):
            _require(name, getattr(self, name), getattr(self, name) >= 0, "at least 0")
        for name in ("job_timeout_s", "keep_s", "upload_timeout_s", "idle_timeout_s"):
            _require(name, getattr(self, name), getattr(self, name) > 0, "above 0")


@dataclass(frozen=True, slots=True)
class AppConfig:
    """Everything."""

    sparsity: SparsityConfig = field(default_factory=SparsityConfig)
    loader: LoaderConfig = field(default_factory=LoaderConfig)
    encoder: EncoderConfig = field(default_factory=EncoderConfig)
    reader: ReaderConfig = field(default_factory=ReaderConfig)
    server: ServerConfig = field(default_factory=ServerConfig)
    service: ServiceConfig = field(default_factory=ServiceConfig)


def _require(name: str, value: object, is_valid: bool, rule: str) -> None:
    if not is_valid:
        raise ConfigError(f"{name} is {value!r}; it must be {rule}.", setting=name)
