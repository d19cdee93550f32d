"""JobStore: jobs, their pages and events in a database. Every change is one transaction, so that a process
killed at any moment leaves jobs that can be gone on with.

Whoever keeps jobs goes through these methods; nothing else writes those tables. Any thread may call them.
"""

import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Engine, Row, Select, delete, func, insert, select, update

from ocr_app.errors import NoSuchJobError, NotReadyError, TooManyRequestsError
from ocr_app.service import tables
from ocr_app.service.folder import Vault
from ocr_app.service.ordering import rank
from ocr_app.service.records import (
    OPEN_STATES,
    Job,
    JobEvent,
    JobOptions,
    JobState,
    NewJob,
    result_bytes,
    result_from_bytes,
)
from ocr_app.types import PageResult

PAGES_A_READ = 32
T_JOBS, T_PAGES, T_EVENTS = tables.jobs, tables.pages, tables.events


def new_job_id() -> str:
    """Long and random: it cannot be guessed."""
    return secrets.token_urlsafe(15)


class JobStore:
    """See the module. `now` is the wall clock, so that a job's times outlive the process."""

    def __init__(self, engine: Engine, vault: Vault, now: Callable[[], float] = time.time) -> None:
        self._engine = engine
        self._vault = vault
        self._now = now
        # SQLite has one writer; waiting for it here is cheaper than being refused there
        self._writing = threading.Lock()

    # coming and waiting

    def add(
        self,
        new: NewJob,
        *,
        job_id: str | None = None,
        short_pages: int = 20,
        overtake_s: float = 600.0,
        max_queued: int = 1000,
        max_open_of_owner: int = 100,
    ) -> Job:
        """Queue a job. Raises TooManyRequestsError when the queue is full or the owner has too many open."""
        now, job_id = self._now(), job_id or new_job_id()
        with self._writing, self._engine.begin() as connection:
            num_open = _count(connection, T_JOBS.c.owner == new.owner, T_JOBS.c.state.in_(OPEN_STATES))
            num_queued = _count(connection, T_JOBS.c.state == JobState.QUEUED)
            _check_room(num_open, max_open_of_owner, num_queued, max_queued)
            is_short = len(new.page_indices) <= short_pages
            place = rank(now, is_short=is_short, num_open_of_owner=num_open, overtake_s=overtake_s)
            connection.execute(insert(T_JOBS).values(id=job_id, created_s=now, rank=place, **_columns(new)))
            self._record(connection, job_id, "state", state=JobState.QUEUED)
        return self.job(job_id)

    def claim(self, *, max_pages: int | None = None, max_running_of_owner: int = 1_000_000) -> Job | None:
        """Take the next job that waits and make it run; None when none may. `max_pages` takes short ones
        only.
        """
        with self._writing, self._engine.begin() as connection:
            job_id = connection.scalar(_next_job(max_pages, max_running_of_owner))
            if job_id is None:
                return None
            values = {
                "state": JobState.RUNNING,
                "started_s": func.coalesce(T_JOBS.c.started_s, self._now()),
                "num_idle_starts": T_JOBS.c.num_idle_starts + 1,
            }
            _change(connection, job_id, values, JobState.QUEUED)
            self._record(connection, job_id, "state", state=JobState.RUNNING)
        return self.job(job_id)

    def recover(self) -> list[str]:
        """Queue the jobs that ran when the process before this one ended; returns their ids."""
        with self._writing, self._engine.begin() as connection:
            orphans = connection.scalars(select(T_JOBS.c.id).where(T_JOBS.c.state == JobState.RUNNING)).all()
            for job_id in orphans:
                _change(connection, job_id, {"state": JobState.QUEUED}, JobState.RUNNING)
                self._record(connection, job_id, "state", state=JobState.QUEUED)
        return list(orphans)

    # running

    def add_page(self, job_id: str, result: PageResult, *, busy_s: float = 0.0) -> None:
        """Write a finished page. A page that is there already is an error of the database."""
        with self._writing, self._engine.begin() as connection:
            self._write_page(connection, job_id, result)
            values = {"busy_s": T_JOBS.c.busy_s + busy_s, "num_idle_starts": 0}
            _change(connection, job_id, values | {"num_done": T_JOBS.c.num_done + 1}, JobState.RUNNING)
            self._record(connection, job_id, "page", page_index=result.page_index)

    def requeue(self, job_id: str, *, is_idle_start: bool = False, for_memory: bool = False) -> None:
        """Put a running job back to its place. A start that the service itself broke off does not count."""
        values: dict[str, Any] = {"state": JobState.QUEUED}
        if not is_idle_start:
            values["num_idle_starts"] = 0
        if for_memory:
            values["num_memory_retries"] = T_JOBS.c.num_memory_retries + 1
        with self._writing, self._engine.begin() as connection:
            _change(connection, job_id, values, JobState.RUNNING)
            self._record(connection, job_id, "state", state=JobState.QUEUED)

    def finish(
        self,
        job_id: str,
        state: JobState,
        *,
        keep_s: float,
        rest: Iterable[PageResult] = (),
        notes: tuple[str, ...] = (),
        error: tuple[str, str] | None = None,
        only_from: tuple[JobState, ...] = OPEN_STATES,
    ) -> None:
        """End a job, with the records of pages that were not read, and what to tell the person.

        Raises NotReadyError for a job in none of the states `only_from`.
        """
        now = self._now()
        with self._writing, self._engine.begin() as connection:
            num_rest = 0
            for result in rest:
                self._write_page(connection, job_id, result)
                self._record(connection, job_id, "page", page_index=result.page_index)
                num_rest += 1
            known = json.loads(connection.scalar(select(T_JOBS.c.notes).where(T_JOBS.c.id == job_id)) or "[]")
            values = {
                "state": state,
                "finished_s": now,
                "expires_s": now + keep_s,
                "num_done": T_JOBS.c.num_done + num_rest,
                "notes": json.dumps(list(dict.fromkeys([*known, *notes])), ensure_ascii=False),
                "error_type": error[0] if error else None,
                "error_message": error[1] if error else None,
            }
            _change(connection, job_id, values, *only_from)
            self._record(connection, job_id, "state", state=state)

    # a person's wishes

    def cancel(self, job_id: str, *, keep_s: float) -> Job:
        """Cancel a job: at once while it waits, and by a mark that its worker looks for while it runs.

        Raises NotReadyError for a job that is over.
        """
        job = self.job(job_id)
        if job.state is JobState.QUEUED:
            try:
                self.finish(job_id, JobState.CANCELLED, keep_s=keep_s, only_from=(JobState.QUEUED,))
                return self.job(job_id)
            except NotReadyError:  # it was claimed in between
                pass
        with self._writing, self._engine.begin() as connection:
            _change(connection, job_id, {"is_cancelling": True}, JobState.RUNNING)
        return self.job(job_id)

    def delete(self, job_id: str) -> None:
        """Remove a job that is over, with its pages. Raises NotReadyError for one that is not."""
        with self._writing, self._engine.begin() as connection:
            closed = T_JOBS.c.state.not_in(OPEN_STATES)
            for table in (T_EVENTS, T_PAGES):  # a database without cascades has no orphans either
                ids = select(T_JOBS.c.id).where(T_JOBS.c.id == job_id, closed)
                connection.execute(delete(table).where(table.c.job_id.in_(ids)))
            if not connection.execute(delete(T_JOBS).where(T_JOBS.c.id == job_id, closed)).rowcount:
                raise NotReadyError("The job is not over; cancel it first.")

    # looking

    def job(self, job_id: str) -> Job:
        """Raises NoSuchJobError."""
        with self._engine.connect() as connection:
            row = connection.execute(select(T_JOBS).where(T_JOBS.c.id == job_id)).first()
            if row is None:
                raise NoSuchJobError("There is no such job; it may have been deleted or be past its time.")
            return _job(row, _verdict_counts(connection, [job_id]).get(job_id, {}))

    def jobs(
        self,
        *,
        owner: str | None = None,
        state: JobState | None = None,
        before_s: float | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """Newest first; of one owner, in one state, created before a time."""
        query = select(T_JOBS).order_by(T_JOBS.c.created_s.desc(), T_JOBS.c.id).limit(limit)
        if owner is not None:
            query = query.where(T_JOBS.c.owner == owner)
        if state is not None:
            query = query.where(T_JOBS.c.state == state)
        if before_s is not None:
            query = query.where(T_JOBS.c.created_s < before_s)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
            counts = _verdict_counts(connection, [row.id for row in rows])
        return [_job(row, counts.get(row.id, {})) for row in rows]

    def page(self, job_id: str, page_index: int) -> PageResult | None:
        where = (T_PAGES.c.job_id == job_id, T_PAGES.c.page_index == page_index)
        with self._engine.connect() as connection:
            record = connection.scalar(select(T_PAGES.c.record).where(*where))
        return None if record is None else result_from_bytes(self._vault.unseal(record))

    def results(self, job: Job) -> Iterator[PageResult]:
        """The finished pages in the order asked for, a few in memory at a time."""
        indices = job.page_indices
        for first in range(0, len(indices), PAGES_A_READ):
            some = indices[first : first + PAGES_A_READ]
            query = select(T_PAGES).where(T_PAGES.c.job_id == job.id, T_PAGES.c.page_index.in_(some))
            with self._engine.connect() as connection:
                found = {row.page_index: row.record for row in connection.execute(query)}
            for index in some:
                if index in found:
                    yield result_from_bytes(self._vault.unseal(found[index]))

    def unfinished(self, job: Job) -> list[int]:
        """Page indices that have no record yet, in the order asked for."""
        with self._engine.connect() as connection:
            done = set(connection.scalars(select(T_PAGES.c.page_index).where(T_PAGES.c.job_id == job.id)))
        return [index for index in job.page_indices if index not in done]

    def events(self, job_id: str, after: int = 0, limit: int = 500) -> list[JobEvent]:
        query = (
            select(T_EVENTS)
            .where(T_EVENTS.c.job_id == job_id, T_EVENTS.c.number > after)
            .order_by(T_EVENTS.c.number)
            .limit(limit)
        )
        with self._engine.connect() as connection:
            return [
                JobEvent(row.number, row.kind, row.page_index, JobState(row.state) if row.state else None)
                for row in connection.execute(query)
            ]

    def pages_ahead(self, job: Job) -> list[int]:
        """Unfinished pages of each waiting job that goes before this one."""
        ahead = (T_JOBS.c.state == JobState.QUEUED, T_JOBS.c.rank < job.rank)
        with self._engine.connect() as connection:
            return list(connection.scalars(select(T_JOBS.c.num_pages - T_JOBS.c.num_done).where(*ahead)))

    def pages_running(self) -> list[int]:
        """Unfinished pages of each running job."""
        query = select(T_JOBS.c.num_pages - T_JOBS.c.num_done).where(T_JOBS.c.state == JobState.RUNNING)
        with self._engine.connect() as connection:
            return list(connection.scalars(query))

    def counts(self) -> dict[JobState, int]:
        query = select(T_JOBS.c.state, func.count()).group_by(T_JOBS.c.state)
        with self._engine.connect() as connection:
            found = dict(iter(connection.execute(query)))
        return {state: found.get(state, 0) for state in JobState}

    def expired(self) -> list[str]:
        with self._engine.connect() as connection:
            return list(connection.scalars(select(T_JOBS.c.id).where(T_JOBS.c.expires_s < self._now())))

    def uploads(self) -> set[str]:
        with self._engine.connect() as connection:
            return set(connection.scalars(select(T_JOBS.c.upload)))

    # parts of a transaction

    def _write_page(self, connection: Connection, job_id: str, result: PageResult) -> None:
        connection.execute(
            insert(T_PAGES).values(
                job_id=job_id,
                page_index=result.page_index,
                verdict=result.verdict.value,
                finished_s=self._now(),
                record=self._vault.seal(result_bytes(result)),
            )
        )

    def _record(self, connection: Connection, job_id: str, kind: str, **values: Any) -> None:
        """Number an event and write it. The job's row is locked by it, so numbers have no gap."""
        number = connection.scalar(
            update(T_JOBS)
            .where(T_JOBS.c.id == job_id)
            .values(last_event=T_JOBS.c.last_event + 1)
            .returning(T_JOBS.c.last_event)
        )
        connection.execute(insert(T_EVENTS).values(job_id=job_id, number=number, kind=kind, **values))


def _next_job(max_pages: int | None, max_running_of_owner: int) -> Select[tuple[str]]:
    busy = (
        select(T_JOBS.c.owner)
        .where(T_JOBS.c.state == JobState.RUNNING)
        .group_by(T_JOBS.c.owner)
        .having(func.count() >= max_running_of_owner)
    )
    query = select(T_JOBS.c.id).where(T_JOBS.c.state == JobState.QUEUED, T_JOBS.c.owner.not_in(busy))
    if max_pages is not None:
        query = query.where(T_JOBS.c.num_pages <= max_pages)
    return query.order_by(T_JOBS.c.rank, T_JOBS.c.id).limit(1)


def _change(connection: Connection, job_id: str, values: dict[str, Any], *states: JobState) -> None:
    """Change a job that is in one of the states. Raises NotReadyError when it is not any more."""
    query = update(T_JOBS).where(T_JOBS.c.id == job_id, T_JOBS.c.state.in_(states)).values(**values)
    if not connection.execute(query).rowcount:
        raise NotReadyError("The job is over already, or is in another state than this needs.")


def _check_room(num_open: int, max_open_of_owner: int, num_queued: int, max_queued: int) -> None:
    if num_open >= max_open_of_owner:
        raise TooManyRequestsError(
            f"You have {num_open} jobs waiting or running; the limit is {max_open_of_owner}. Wait for one to "
            "end, or cancel one."
        )
    if num_queued >= max_queued:
        raise TooManyRequestsError(f"{num_queued} jobs wait already, which is the limit. Try again later.")


def _count(connection: Connection, *where: Any) -> int:
    return connection.scalar(select(func.count()).select_from(T_JOBS).where(*where)) or 0


def _verdict_counts(connection: Connection, job_ids: list[str]) -> dict[str, dict[str, int]]:
    query = (
        select(T_PAGES.c.job_id, T_PAGES.c.verdict, func.count())
        .where(T_PAGES.c.job_id.in_(job_ids))
        .group_by(T_PAGES.c.job_id, T_PAGES.c.verdict)
    )
    counts: dict[str, dict[str, int]] = {}
    for job_id, verdict, number in connection.execute(query):
        counts.setdefault(job_id, {})[verdict] = number
    return counts


def _columns(new: NewJob) -> dict[str, Any]:
    return {
        "owner": new.owner,
        "name": new.name,
        "upload": new.upload,
        "num_bytes": new.num_bytes,
        "state": JobState.QUEUED,
        "page_indices": json.dumps(new.page_indices),
        "num_pages": len(new.page_indices),
        "options": json.dumps(asdict(new.options)),
        "needs_password": new.needs_password,
        "notes": json.dumps(new.notes, ensure_ascii=False),
    }


def _job(row: Row[Any], verdict_counts: dict[str, int]) -> Job:
    values = dict(row._mapping)
    del values["num_pages"]
    return Job(
        **values
        | {
            "state": JobState(row.state),
            "page_indices": tuple(json.loads(row.page_indices)),
            "options": JobOptions(**json.loads(row.options)),
            "notes": tuple(json.loads(row.notes)),
            "verdict_counts": verdict_counts,
        }
    )
