"""Everything of the service that is not HTTP, started and stopped as one."""

import logging
import threading
from types import TracebackType

from ocr_app.config import AppConfig
from ocr_app.errors import NoSuchJobError, NotReadyError
from ocr_app.service.folder import Vault, WorkFolder, ready_folder
from ocr_app.service.keys import Key, KeyStore
from ocr_app.service.limits import Limits
from ocr_app.service.live import Live
from ocr_app.service.metrics import Metrics
from ocr_app.service.reading import read_document
from ocr_app.service.records import Job, JobState, NewJob
from ocr_app.service.store import JobStore, new_job_id
from ocr_app.service.tables import open_database
from ocr_app.service.worker import Parse, Workers

logger = logging.getLogger(__name__)

JANITOR_S = 60.0


class Service:
    """Jobs, their workers and what guards them. A context manager; leaving it queues what still runs."""

    def __init__(self, config: AppConfig, parse: Parse = read_document) -> None:
        service = config.service
        self.config = config
        vault = Vault(service.encryption_key)
        self.limits = Limits(service)
        self.folder = WorkFolder(ready_folder(service.folder), vault)
        try:
            self._engine = open_database(service.database_url, self.folder.path)
        except BaseException:
            self.folder.close()
            raise
        self.keys = KeyStore(self._engine)
        self.store = JobStore(self._engine, vault)
        self.live = Live()
        self.metrics = Metrics(self.store.counts)
        self.workers = Workers(config, self.store, self.folder, self.live, self.metrics, parse)
        self._closing = threading.Event()
        self._janitor = threading.Thread(target=self._clean, name="janitor")

    def __enter__(self) -> "Service":
        recovered = self.store.recover()
        if recovered:
            logger.info("%d job(s) go on where they were when the service ended", len(recovered))
        self.workers.start()
        self._janitor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self.workers.close()
        self._janitor.join()
        self._engine.dispose()
        self.folder.close()

    def submit(self, new: NewJob, password: str | None = None) -> Job:
        """Queue a job. Its upload is removed again when it cannot be queued."""
        service, job_id = self.config.service, new_job_id()
        if password:  # before a worker can see the job
            self.workers.passwords[job_id] = password
        try:
            self.limits.pages(new.owner, len(new.page_indices))
            job = self.store.add(
                new,
                job_id=job_id,
                short_pages=service.short_pages,
                overtake_s=service.overtake_s,
                max_queued=service.max_queued,
                max_open_of_owner=service.max_open_jobs_per_key,
            )
        except BaseException:
            self.workers.passwords.pop(job_id, None)
            self.folder.remove(new.upload)
            raise
        self.workers.wake()
        return job

    def job(self, job_id: str, key: Key) -> Job:
        """A job that the key may see. Raises NoSuchJobError for any other, whether it exists or not."""
        job = self.store.job(job_id)
        if not key.sees_all and job.owner != key.id:
            raise NoSuchJobError("There is no such job; it may have been deleted or be past its time.")
        return job

    def cancel(self, job_id: str) -> Job:
        job = self.store.cancel(job_id, keep_s=self.config.service.keep_s)
        self.workers.cancel(job_id)
        self.live.changed(job_id)
        if job.state.is_over:
            self.workers.forget(job)
            self.live.close(job_id)
        return job

    def delete(self, job_id: str) -> None:
        """Remove a job and everything of it. Raises NotReadyError for one that is not over."""
        job = self.store.job(job_id)
        self.store.delete(job_id)
        self.workers.forget(job)

    def place(self, job: Job) -> tuple[int, float | None]:
        """How many jobs go before this one (0 when it runs), and seconds until it is over, if known."""
        left = job.num_pages - job.num_done
        if job.state is JobState.RUNNING:
            return 0, self.workers.pace.eta_s(left, [], 1)
        waiting = self.store.pages_ahead(job)
        ahead = [*waiting, *self.store.pages_running()]
        return len(waiting) + 1, self.workers.pace.eta_s(left, ahead, self.workers.num_threads)

    def why_not_ready(self) -> str | None:
        """Why no new document can be taken now; None when one can."""
        if self.workers.fatal is not None:
            return self.workers.fatal
        if not self.workers.are_alive:
            return "The workers do not run."
        num_queued = self.store.counts()[JobState.QUEUED]
        if num_queued >= self.config.service.max_queued:
            return f"The queue is full: {num_queued} jobs wait."
        return None

    def _clean(self) -> None:
        """Remove what is past its time, every minute."""
        while not self._closing.is_set():
            try:
                self.clean()
            except Exception:
                logger.exception("what is past its time could not be removed")
            self._closing.wait(JANITOR_S)

    def clean(self) -> int:
        """Remove jobs past their time and uploads of none; returns how many jobs."""
        expired = self.store.expired()
        for job_id in expired:
            try:
                self.delete(job_id)
            except (NoSuchJobError, NotReadyError):
                continue
        self.folder.remove_orphans(self.store.uploads())
        return len(expired)
