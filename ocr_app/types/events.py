"""What happens meanwhile: readings of memory and progress, and the events of one document."""

from dataclasses import dataclass, field
from enum import StrEnum

from ocr_app.types.seen import Box, PageImage, Run
from ocr_app.types.written import PageResult, Verdict


class ResidentState(StrEnum):
    ACTIVE = "active"
    OVERLAP = "overlap"
    RETAINED = "retained"


@dataclass(frozen=True, slots=True)
class ResidentPage:
    """A page whose KV, or a part of it, is in memory now."""

    page_index: int
    state: ResidentState
    num_blocks: int


@dataclass(frozen=True, slots=True)
class KVSample:
    """One reading of the KV cache. None means not measured, never 0."""

    allocated_bytes: int | None
    live_bytes: int | None
    attended_tokens: int | None
    resident_pages: tuple[ResidentPage, ...] = ()
    num_tokens: int = 0  # output tokens of this document so far
    step_s: float | None = None  # duration of the last decode step


@dataclass(frozen=True, slots=True)
class DeviceMemory:
    """One reading of memory; the label says of what."""

    label: str
    used_bytes: int | None
    total_bytes: int | None
    is_own: bool = True  # of this process; False: of the whole device, whoever uses it


@dataclass(frozen=True, slots=True)
class TextDelta:
    """New Markdown of a page. The deltas of a page, joined, are its Markdown, unless its record holds lines
    that the reader had set aside and nothing proved to be running heads.
    """

    page_index: int
    text: str
    run_indices: tuple[int, ...] = ()  # the runs just copied: what to light up


@dataclass(frozen=True, slots=True)
class PageStarted:
    """The page image is upright and its runs are known; reading begins."""

    page_index: int
    image: PageImage
    runs: tuple[Run, ...]
    figures: tuple[Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Telemetry:
    """All counters at one moment of one job."""

    time_s: float  # since the job began
    page_index: int
    kv: KVSample | None
    devices: tuple[DeviceMemory, ...]
    process_bytes: int | None
    num_pages_done: int
    num_pages_total: int
    tokens_per_s: float | None = None
    pages_per_s: float | None = None
    ttft_s: float | None = None
    eta_s: float | None = None
    eta_low_s: float | None = None
    eta_high_s: float | None = None
    num_reuse_hits: int = 0
    num_reuse_lookups: int = 0


@dataclass(frozen=True, slots=True)
class PageFinished:
    result: PageResult


class Outcome(StrEnum):
    DONE = "done"
    DONE_WITH_WARNINGS = "done_with_warnings"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class DocumentFinished:
    """The last event of a document."""

    outcome: Outcome
    num_pages: int
    verdict_counts: dict[Verdict, int] = field(default_factory=dict)
    elapsed_s: float = 0.0
    peak_kv_bytes: int | None = None  # most the KV pool ever took
    notes: tuple[str, ...] = ()  # for the person: that the file was repaired, what of it is not read


Event = PageStarted | TextDelta | Telemetry | PageFinished | DocumentFinished
