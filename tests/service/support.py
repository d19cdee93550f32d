"""A service with scripted documents, and what tests ask of it again and again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ocr_app.config import AppConfig, ServiceConfig
from ocr_app.service.records import Job, JobOptions, NewJob
from ocr_app.service.service import Service
from ocr_app.service.worker import Parse
from tests.service import scripted


def config(folder: Path, **service: Any) -> AppConfig:
    return replace(AppConfig(), service=ServiceConfig(folder=str(folder), **service))


@contextmanager
def running(folder: Path, parse: Parse = scripted.parse, **service: Any) -> Iterator[Service]:
    with Service(config(folder, **service), parse) as one:
        yield one


def submit(
    service: Service,
    marker: str,
    num_pages: int,
    *,
    owner: str = "local",
    options: JobOptions | None = None,
    password: str | None = None,
    **told: Any,
) -> Job:
    upload, num_bytes = service.folder.save([scripted.document(marker, num_pages, **told)])
    new = NewJob(
        owner=owner,
        name=f"{marker}.pdf",
        upload=upload,
        num_bytes=num_bytes,
        page_indices=tuple(range(num_pages)),
        options=options or JobOptions(),
        needs_password=password is not None,
    )
    return service.submit(new, password)


def wait_until(is_true: Any, timeout_s: float = 15.0) -> None:
    deadline_s = time.monotonic() + timeout_s
    while not is_true():
        assert time.monotonic() < deadline_s, "it did not happen in time"
        time.sleep(0.01)


def over(service: Service, job: Job, timeout_s: float = 15.0) -> Job:
    """The job when it is over."""
    wait_until(lambda: service.store.job(job.id).state.is_over, timeout_s)
    return service.store.job(job.id)


def texts(service: Service, job: Job) -> list[str]:
    return [result.markdown for result in service.store.results(service.store.job(job.id))]
