"""Jobs of the page: one document, one or two lanes. A lane is a thread that reads the document and folds the
events into a view.

Knows no Gradio. Stopping is our own flag, which the reader looks at in every decode step.
"""

import contextvars
import logging
import secrets
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from ocr_app.config import AppConfig
from ocr_app.document.furniture import settled
from ocr_app.errors import OCRError, PasswordRequiredError
from ocr_app.types import DocumentFinished, Event, PageFinished, PageStarted
from ocr_app.ui.compare import Comparison
from ocr_app.ui.job_view import JobState, JobView
from ocr_app.ui.store import PageStore

logger = logging.getLogger(__name__)

Parse = Callable[..., Iterator[Event]]  # the signature of ocr_app.pipeline.parse_document
JOIN_WAIT_S = 3.0
MAX_JOBS_A_VISIT = 20
MAX_JOB_AGE_S = 6 * 3600


class Lane:
    """One reading of one document with one configuration."""

    def __init__(
        self,
        parse: Callable[[Callable[[], bool]], Iterator[Event]],
        config: AppConfig,
        *,
        keeps_pictures: bool = True,
    ) -> None:
        self.config = config
        self.view = JobView()
        self.store = PageStore()
        self.lock = threading.Lock()  # held while the view changes and while it is looked at
        self._parse = parse
        self._keeps_pictures = keeps_pictures
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def mode(self) -> str:
        return self.config.reader.mode

    @property
    def has_started(self) -> bool:
        return self._thread is not None

    @property
    def is_over(self) -> bool:
        return self.view.state.is_over

    def start(self) -> None:
        # the context carries the request that asked for the work, which ZeroGPU looks for
        context = contextvars.copy_context()
        self._thread = threading.Thread(
            target=context.run, args=(self._run,), name="longscribe-lane", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask the reader to end; a lane that never began is over at once."""
        self._stop.set()
        if not self.has_started and not self.is_over:
            self.view.state = JobState.CANCELLED

    def close(self) -> None:
        """Stop, wait a little and remove the pages."""
        self.stop()
        if self._thread is not None:
            self._thread.join(JOIN_WAIT_S)
        self.store.close()

    def _run(self) -> None:
        try:
            for event in self._parse(self._stop.is_set):
                self._take(event)
        except PasswordRequiredError as error:
            self._fail(str(error), needs_password=True)
        except OCRError as error:
            self._fail(str(error))
        except Exception:
            logger.exception("a job ended by an error nobody expected")
            self._fail(
                "Reading stopped by an internal error; the server's log has the details. Please try again."
            )
        finally:
            if not self.is_over:
                self._fail("Reading ended without a result. Please try again.")

    def _take(self, event: Event) -> None:
        # files first: a page that the view calls finished can be read back
        if isinstance(event, PageStarted) and self._keeps_pictures:
            self.store.save_picture(event.image, event.runs, event.figures)
        elif isinstance(event, PageFinished):
            self.store.save_result(event.result)
        elif isinstance(event, DocumentFinished):
            self._settle()
        with self.lock:
            self.view.fold(event)

    def _settle(self) -> None:
        """Decide on running heads once more, now that every page is known: view and files say the same."""
        for result in settled(self.store):
            if result != self.store.result(result.page_index):
                self.store.save_result(result)

    def _fail(self, message: str, *, needs_password: bool = False) -> None:
        with self.lock:
            self.view.fail(message, needs_password=needs_password)


@dataclass(slots=True, eq=False)
class Job:
    """One document as a person asked for it. The token is what lets its own browser ask for its pages."""

    name: str
    source: Path
    lanes: list[Lane]
    comparison: Comparison | None = None
    token: str = field(default_factory=lambda: secrets.token_urlsafe(18))
    started_s: float = field(default_factory=time.monotonic)
    exports: dict[str, Path] = field(default_factory=dict)
    has_furniture: bool = False  # of the files in `exports`

    def start(self) -> None:
        self.lanes[0].start()

    def tick(self) -> None:
        """Let a comparison start or stop its second lane."""
        if self.comparison:
            self.comparison.tick(*self.lanes)

    @property
    def is_over(self) -> bool:
        return all(lane.is_over for lane in self.lanes)

    def stop(self) -> None:
        for lane in self.lanes:
            lane.stop()

    def close(self) -> None:
        for lane in self.lanes:
            lane.close()


@dataclass(slots=True, eq=False)
class Visit:
    """What one browser tab has done. Nothing of it can be seen from another."""

    jobs: dict[str, Job] = field(default_factory=dict)
    language: str = "en"
    over_pages: bool = False
    furniture: bool = False  # running heads are shown, copied and in the downloads
    running: Job | None = None

    def add(self, job: Job) -> None:
        self.stop()  # one at a time: a second press of Read takes the place of the first
        self._make_room()
        self.jobs[job.token] = job
        self.running = job

    def forget(self, token: str) -> None:
        """Close a job and remove its files. The upload goes by its age: equal files of two persons are one
        file on disk.
        """
        job = self.jobs.pop(token, None)
        if job is None:
            return
        job.close()
        if self.running is job:
            self.running = None

    def stop(self) -> None:
        if self.running:
            self.running.stop()

    def close(self) -> None:
        # all are told first, so that they end side by side
        for job in self.jobs.values():
            job.stop()
        for token in list(self.jobs):
            self.forget(token)

    def _make_room(self) -> None:
        now = time.monotonic()
        over = [token for token, job in self.jobs.items() if job.is_over]
        too_many = max(0, len(self.jobs) - MAX_JOBS_A_VISIT + 1)
        too_old = [token for token in over if now - self.jobs[token].started_s > MAX_JOB_AGE_S]
        for token in dict.fromkeys([*over[:too_many], *too_old]):
            self.forget(token)


class Visits:
    """All visits by the session they belong to."""

    def __init__(self) -> None:
        self._visits: dict[str, Visit] = {}
        self._lock = threading.Lock()

    def of(self, session: str) -> Visit:
        with self._lock:
            return self._visits.setdefault(session, Visit())

    def job(self, token: str) -> Job | None:
        """The job a token belongs to. A token is long and random: knowing it is the right to ask."""
        with self._lock:
            visits = list(self._visits.values())
        return next((visit.jobs[token] for visit in visits if token in visit.jobs), None)

    def close(self, session: str) -> None:
        with self._lock:
            visit = self._visits.pop(session, None)
        if visit:
            visit.close()

    def close_all(self) -> None:
        for session in list(self._visits):
            self.close(session)
