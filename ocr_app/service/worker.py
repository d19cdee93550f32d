"""Threads that take jobs from the store, read them and write their pages into it.

One document is read by one thread; the number of threads is how many are read at once. A worker never holds
what a page was read into for longer than the page: everything lasting is in the store.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from ocr_app.config import AppConfig
from ocr_app.errors import (
    CrashingFileError,
    DeviceFailedError,
    JobTimeoutError,
    NotReadyError,
    OCRError,
    OutOfMemoryError,
    PasswordRequiredError,
)
from ocr_app.service.drift import Drift
from ocr_app.service.folder import WorkFolder
from ocr_app.service.live import Live
from ocr_app.service.masking import masked_result
from ocr_app.service.metrics import Metrics
from ocr_app.service.ordering import Pace
from ocr_app.service.reading import MEMORY_REMEDY, range_text, smaller_budget
from ocr_app.service.records import Job, JobState
from ocr_app.service.store import JobStore
from ocr_app.types import (
    DocumentFinished,
    Event,
    PageFinished,
    PageResult,
    PageStarted,
    Telemetry,
    TextDelta,
    Verdict,
)

logger = logging.getLogger(__name__)

Parse = Callable[..., Iterator[Event]]  # the signature of reading.read_document
IDLE_WAIT_S = 0.5  # how often a worker looks for a job that nobody told it of
MAX_IDLE_STARTS = 5  # starts without a finished page after which a job is taken to kill its process


class Stop(Enum):
    """Why the reader was told to end."""

    CANCELLED = auto()
    TIME_CAP = auto()
    SHUTDOWN = auto()


@dataclass(slots=True)
class Work:
    """One run of one job, as its reader's `should_stop` sees it."""

    job: Job
    deadline_s: float
    is_shutting_down: Callable[[], bool]
    is_cancelled: bool = False
    stop: Stop | None = None
    rest: list[PageResult] = field(default_factory=list)  # pages a stop left unread
    notes: tuple[str, ...] = ()
    drift: Drift = field(default_factory=Drift)

    def should_stop(self) -> bool:
        if self.stop is None:
            if self.is_cancelled:
                self.stop = Stop.CANCELLED
            elif self.is_shutting_down():
                self.stop = Stop.SHUTDOWN
            elif time.monotonic() > self.deadline_s:
                self.stop = Stop.TIME_CAP
        return self.stop is not None


class Workers:
    """All workers of one service. `wake` when a job has come; `cancel` reaches one that runs."""

    def __init__(
        self,
        config: AppConfig,
        store: JobStore,
        folder: WorkFolder,
        live: Live,
        metrics: Metrics,
        parse: Parse,
    ) -> None:
        self.pace = Pace()
        self.passwords: dict[str, str] = {}  # of open jobs; in memory only, never stored
        self.fatal: str | None = None  # why nothing can be read any more
        self._config = config
        self._store = store
        self._folder = folder
        self._live = live
        self._metrics = metrics
        self._parse = parse
        self._running: dict[str, Work] = {}
        self._news = threading.Condition()
        self._is_closing = False
        self._threads = [threading.Thread(target=self._loop, args=args) for args in self._places()]

    @property
    def num_threads(self) -> int:
        return len(self._threads)

    @property
    def are_alive(self) -> bool:
        return all(thread.is_alive() for thread in self._threads)

    def start(self) -> None:
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        with self._news:
            self._news.notify_all()

    def cancel(self, job_id: str) -> None:
        """End a job that runs here at its next decode step."""
        work = self._running.get(job_id)
        if work is not None:
            work.is_cancelled = True

    def close(self) -> None:
        """End every run within a decode step; the jobs go back to their places in the queue."""
        self._is_closing = True
        self.wake()
        for thread in self._threads:
            thread.join()

    def _places(self) -> list[tuple[str, int | None]]:
        service = self._config.service
        return [("any", None)] * service.workers + [("quick", service.short_pages)] * service.quick_workers

    def _loop(self, _name: str, max_pages: int | None) -> None:
        while not self._is_closing and self.fatal is None:
            try:
                job = self._store.claim(
                    max_pages=max_pages,
                    max_running_of_owner=self._config.service.max_running_jobs_per_key,
                )
                if job is not None:
                    self._run(job)
                    continue
            except Exception:  # the store may come back: a database restarts
                logger.exception("a worker could not go on; it tries again")
            with self._news:
                if not self._is_closing:
                    self._news.wait(IDLE_WAIT_S)

    def _run(self, job: Job) -> None:
        """Read what is left of a job, and leave it over or waiting."""
        left_s = self._config.service.job_timeout_s - job.busy_s
        work = Work(job, time.monotonic() + left_s, lambda: self._is_closing)
        self._running[job.id] = work
        self._live.changed(job.id)
        try:
            # asked again now that `cancel` can find it: a wish in between would be lost
            if self._store.job(job.id).is_cancelling:  # set only, or another thread's wish is undone
                work.is_cancelled = True
            self._read(work)
        except OutOfMemoryError as error:
            self._out_of_memory(work, error)
        except DeviceFailedError as error:
            self.fatal = str(error)
            self._metrics.error(error)
            self._store.requeue(job.id, is_idle_start=True)
        except PasswordRequiredError as error:
            self._fail(work, error, _password_message(job, error))
        except NotReadyError:
            logger.warning("a job was over before its worker was")
        except OCRError as error:
            self._fail(work, error, str(error))
        except Exception as error:
            logger.exception("a job ended by an error nobody expected")
            self._fail(work, error, f"Unexpected error ({type(error).__name__}); the log has the details.")
        finally:
            del self._running[job.id]
            self._live.close(job.id)
            self._tidy(job.id)

    def _read(self, work: Work) -> None:
        job = work.job
        if job.num_idle_starts > MAX_IDLE_STARTS:
            message = f"Reading it ended the process {job.num_idle_starts - 1} times at the same page."
            raise CrashingFileError(message + " Ask for the pages around that one.")
        unfinished = self._store.unfinished(job)
        if unfinished:
            events = self._parse(
                self._folder.document(job.upload),
                self._settings(job),
                password=self.passwords.get(job.id),
                pages=range_text(unfinished),
                should_stop=work.should_stop,
            )
            with closing(events):
                for event in events:
                    self._take(work, event)
        self._end(work)

    def _settings(self, job: Job) -> AppConfig:
        config = self._config
        if job.options.model:
            config = replace(config, reader=replace(config.reader, model=job.options.model))
        return smaller_budget(config) if job.num_memory_retries else config

    def _take(self, work: Work, event: Event) -> None:
        job = work.job
        if isinstance(event, PageStarted):
            self._live.begin_page(job.id, event.page_index)
        elif isinstance(event, TextDelta):
            if not job.options.mask:  # what is half written cannot be masked
                self._live.add(job.id, event.text)
        elif isinstance(event, PageFinished):
            self._page_finished(work, event.result)
        elif isinstance(event, Telemetry):
            self._metrics.telemetry(event)
        elif isinstance(event, DocumentFinished):
            work.notes = event.notes

    def _page_finished(self, work: Work, result: PageResult) -> None:
        result = masked_result(result) if work.job.options.mask else result
        if result.verdict is Verdict.CANCELLED:
            work.rest.append(result)
            return
        elapsed_s = result.encode_s + result.decode_s
        self._store.add_page(work.job.id, result, busy_s=elapsed_s)
        self.pace.page_done(elapsed_s)
        work.drift.add(result)
        self._metrics.page(result)
        self._live.end_page(work.job.id)

    def _end(self, work: Work) -> None:
        """What became of a run that the reader ended by itself or when told."""
        if work.stop is Stop.SHUTDOWN and work.rest:
            self._store.requeue(work.job.id)
        elif work.stop is Stop.CANCELLED:
            self._finish(work, JobState.CANCELLED)
        elif work.stop is Stop.TIME_CAP and work.rest:
            cap_s = self._config.service.job_timeout_s
            message = f"The job took longer than its cap of {cap_s:g} s; raise service.job_timeout_s."
            work.rest = [replace(page, verdict=Verdict.TIMEOUT, reason=message) for page in work.rest]
            self._finish(work, JobState.DONE_WITH_WARNINGS, (JobTimeoutError.__name__, message))
        else:
            counts = self._store.job(work.job.id).verdict_counts
            is_good = all(Verdict(verdict).is_good for verdict in counts)
            self._finish(work, JobState.DONE if is_good else JobState.DONE_WITH_WARNINGS)

    def _finish(self, work: Work, state: JobState, error: tuple[str, str] | None = None) -> None:
        keep_s = self._config.service.keep_s
        rest, notes = work.rest, work.notes + work.drift.notes()
        self._store.finish(work.job.id, state, keep_s=keep_s, rest=rest, notes=notes, error=error)
        self._metrics.job_over(state)
        logger.info("job %s: %s", work.job.id, state)

    def _out_of_memory(self, work: Work, error: OutOfMemoryError) -> None:
        """Once more with a smaller budget, from the first page that is not finished; then it has failed."""
        self._metrics.error(error)
        if work.job.num_memory_retries == 0 and not work.is_cancelled:
            logger.warning(
                "job %s ran out of memory; it is tried once more with a smaller budget", work.job.id
            )
            self._store.requeue(work.job.id, for_memory=True)
        else:
            self._fail(work, error, f"{error} It was tried twice, the second time with less. {MEMORY_REMEDY}")

    def _fail(self, work: Work, error: Exception, message: str) -> None:
        if not isinstance(error, OutOfMemoryError):
            self._metrics.error(error)
        work.rest = []
        try:
            self._finish(work, JobState.FAILED, (type(error).__name__, message))
        except NotReadyError:
            logger.warning("a job was over before its worker failed")

    def _tidy(self, job_id: str) -> None:
        """A job that is over needs neither its upload nor its password."""
        try:
            job = self._store.job(job_id)
            if job.state.is_over:
                self.forget(job)
        except Exception:
            logger.exception("an upload could not be removed; it goes at its time limit")

    def forget(self, job: Job) -> None:
        self.passwords.pop(job.id, None)
        self._folder.remove(job.upload)


def _password_message(job: Job, error: Exception) -> str:
    if not job.needs_password:
        return str(error)
    return "The service was restarted, and passwords are not stored; submit the document again."
