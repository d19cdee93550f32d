"""What the page shows of one job, folded from its events. Pure: no threads, no files, no Gradio.

Finished pages leave only their verdict and a few numbers here; text, runs and pictures go to the page store.
"""

from dataclasses import dataclass, field
from enum import StrEnum

from ocr_app.document.furniture import num_lines_set_aside
from ocr_app.types import (
    DocumentFinished,
    Event,
    Outcome,
    PageFinished,
    PageStarted,
    Run,
    Telemetry,
    TextDelta,
    Verdict,
)
from ocr_app.ui.series import Point, Series, peak


class JobState(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    WARNINGS = "warnings"
    CANCELLED = "cancelled"
    PASSWORD = "password"
    ERROR = "error"

    @property
    def is_over(self) -> bool:
        return self not in (JobState.WAITING, JobState.RUNNING)


STATE_OF_OUTCOME = {
    Outcome.DONE: JobState.DONE,
    Outcome.DONE_WITH_WARNINGS: JobState.WARNINGS,
    Outcome.CANCELLED: JobState.CANCELLED,
}


@dataclass(slots=True)
class CurrentPage:
    """The page being read now."""

    page_index: int
    runs: tuple[Run, ...] = ()
    text: str = ""
    copied: list[int] = field(default_factory=list)  # run indices in the order they were written


@dataclass(frozen=True, slots=True)
class FinishedPage:
    """What stays in memory of a page that is done."""

    page_index: int
    verdict: Verdict
    reason: str | None
    num_tokens: int
    decode_s: float
    confidence: float | None
    num_lines_set_aside: int = 0


@dataclass(slots=True)
class StepTimes:
    """Mean duration of a decode step on one page."""

    total_s: float = 0.0
    count: int = 0

    def add(self, step_s: float) -> None:
        self.total_s += step_s
        self.count += 1

    @property
    def mean_s(self) -> float:
        return self.total_s / self.count


@dataclass(slots=True)
class JobView:
    """State of one job as a person sees it."""

    state: JobState = JobState.WAITING
    message: str | None = None  # why it failed, for the person
    current: CurrentPage | None = None
    finished: list[FinishedPage] = field(default_factory=list)  # in the order they ended
    series: Series = field(default_factory=Series)
    latest: Telemetry | None = None
    end: DocumentFinished | None = None
    step_times: dict[int, StepTimes] = field(default_factory=dict)
    live_after_page: dict[int, int] = field(default_factory=dict)

    def fold(self, event: Event) -> None:
        """Take in one event."""
        match event:
            case PageStarted():
                self.state = JobState.RUNNING
                self.current = CurrentPage(event.page_index, event.runs)
            case TextDelta():
                self._add_text(event)
            case Telemetry():
                self._add_sample(event)
            case PageFinished():
                self._finish_page(event)
            case DocumentFinished():
                self.end = event
                self.current = None
                self.state = STATE_OF_OUTCOME[event.outcome]

    def fail(self, message: str, *, needs_password: bool = False) -> None:
        """The job ended by an error that is the person's to know."""
        self.state = JobState.PASSWORD if needs_password else JobState.ERROR
        self.message = message
        self.current = None

    def _add_text(self, delta: TextDelta) -> None:
        if self.current is None or self.current.page_index != delta.page_index:
            self.current = CurrentPage(delta.page_index)
        self.state = JobState.RUNNING
        self.current.text += delta.text
        self.current.copied.extend(delta.run_indices)

    def _add_sample(self, sample: Telemetry) -> None:
        self.state = JobState.RUNNING
        self.latest = sample
        self.series.add(Point.of(sample))
        if sample.kv is None:
            return
        if sample.kv.step_s is not None:
            self.step_times.setdefault(sample.page_index, StepTimes()).add(sample.kv.step_s)
        if sample.kv.live_bytes is not None:
            self.live_after_page[sample.page_index] = sample.kv.live_bytes

    def _finish_page(self, event: PageFinished) -> None:
        result = event.result
        self.state = JobState.RUNNING
        self.current = None
        self.finished.append(
            FinishedPage(
                result.page_index,
                result.verdict,
                result.reason,
                result.num_tokens,
                result.decode_s,
                result.confidence,
                num_lines_set_aside(result),
            )
        )

    @property
    def num_pages_total(self) -> int | None:
        if self.end:
            return self.end.num_pages
        return self.latest.num_pages_total if self.latest else None

    @property
    def peak_kv_bytes(self) -> int | None:
        """The largest allocation of the KV pool that was measured."""
        reported = self.end.peak_kv_bytes if self.end else None
        return peak([reported, *(point.allocated_bytes for point in self.series.points)])

    @property
    def num_pages_read(self) -> int:
        """Pages whose reading ended by itself: a job that was stopped has records of the others too."""
        return sum(page.verdict is not Verdict.CANCELLED for page in self.finished)

    def verdict_counts(self) -> dict[Verdict, int]:
        counts: dict[Verdict, int] = {}
        for page in self.finished:
            counts[page.verdict] = counts.get(page.verdict, 0) + 1
        return counts

    def step_at_ends(self) -> tuple[float | None, float | None]:
        """Mean step time on the first and on the last page that has one, in seconds."""
        pages = sorted(self.step_times)
        if not pages:
            return None, None
        return self.step_times[pages[0]].mean_s, self.step_times[pages[-1]].mean_s
