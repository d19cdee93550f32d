"""The text of the page being read now, for those who watch: never stored, gone when the page is finished.

Versions tell a watcher that something changed without asking the database.
"""

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class _Open:
    version: int = 0
    page_index: int | None = None
    parts: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class LivePage:
    """What is written of a page from the part asked for on; `num_parts` is where to ask from next."""

    page_index: int
    text: str
    num_parts: int


class Live:
    """Open jobs by id. Any thread may call any method."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, _Open] = {}

    def version(self, job_id: str) -> int:
        with self._lock:
            job = self._open.get(job_id)
            return job.version if job else -1

    def changed(self, job_id: str) -> None:
        """Something lasting happened."""
        with self._lock:
            self._of(job_id).version += 1

    def begin_page(self, job_id: str, page_index: int) -> None:
        with self._lock:
            job = self._of(job_id)
            job.page_index, job.parts = page_index, []

    def add(self, job_id: str, text: str) -> None:
        with self._lock:
            job = self._of(job_id)
            job.parts.append(text)
            job.version += 1

    def end_page(self, job_id: str) -> None:
        with self._lock:
            job = self._of(job_id)
            job.page_index, job.parts = None, []
            job.version += 1

    def close(self, job_id: str) -> None:
        """The job is over or waits again; a watcher sees its version jump."""
        with self._lock:
            self._open.pop(job_id, None)

    def page(self, job_id: str, page_index: int | None, num_parts: int) -> LivePage | None:
        """The page being read; from its start, unless `page_index` is still the one asked for last."""
        with self._lock:
            job = self._open.get(job_id)
            if job is None or job.page_index is None:
                return None
            first = num_parts if page_index == job.page_index else 0
            return LivePage(job.page_index, "".join(job.parts[first:]), len(job.parts))

    def _of(self, job_id: str) -> _Open:
        return self._open.setdefault(job_id, _Open())
