"""Values of the service: a job as it was asked for and as it stands, and page records as bytes."""

from dataclasses import dataclass, field
from enum import StrEnum

from pydantic import TypeAdapter
from pydantic_core import to_json

from ocr_app.types import PageResult


class JobState(StrEnum):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    DONE_WITH_WARNINGS = "done_with_warnings"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def is_over(self) -> bool:
        return self not in OPEN_STATES


OPEN_STATES = (JobState.QUEUED, JobState.RUNNING)


@dataclass(frozen=True, slots=True)
class JobOptions:
    """What a person chose for one document."""

    furniture: bool = False  # running headers and page numbers in the Markdown
    mask: bool = False  # strike out e-mail addresses, telephone and identity numbers
    model: str | None = None  # a reader's name; None: the server's own


@dataclass(frozen=True, slots=True)
class NewJob:
    """A document that was looked at and found readable."""

    owner: str  # id of the key; LOCAL_OWNER where no keys are asked for
    name: str  # of the file, as a person knows it
    upload: str  # its name in the work folder
    num_bytes: int
    page_indices: tuple[int, ...]  # those asked for, in that order
    options: JobOptions = field(default_factory=JobOptions)
    needs_password: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it stands in the store. Times are seconds since the epoch."""

    id: str
    owner: str
    name: str
    upload: str
    num_bytes: int
    state: JobState
    rank: float
    page_indices: tuple[int, ...]
    num_done: int
    options: JobOptions
    needs_password: bool
    created_s: float
    started_s: float | None = None
    finished_s: float | None = None
    expires_s: float | None = None
    busy_s: float = 0.0  # of reading, over all its runs
    num_memory_retries: int = 0
    num_idle_starts: int = 0  # starts since the last page was finished
    is_cancelling: bool = False
    error_type: str | None = None
    error_message: str | None = None
    notes: tuple[str, ...] = ()
    last_event: int = 0
    verdict_counts: dict[str, int] = field(default_factory=dict)

    @property
    def num_pages(self) -> int:
        return len(self.page_indices)


@dataclass(frozen=True, slots=True)
class JobEvent:
    """Something lasting that happened to a job. Numbers count from 1 without a gap."""

    number: int
    kind: str  # "state" or "page"
    page_index: int | None = None
    state: JobState | None = None


_RESULT = TypeAdapter(PageResult)


def result_bytes(result: PageResult) -> bytes:
    # a number that JSON has no word for comes back as itself, not as null
    return to_json(result, inf_nan_mode="strings")


def result_from_bytes(data: bytes) -> PageResult:
    return _RESULT.validate_json(data)
