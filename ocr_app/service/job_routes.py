"""/v1/jobs: submit, look, watch, fetch, cancel, delete."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import APIRouter, Depends, File, Form, Header, Path, Query, Request, Response, UploadFile
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from ocr_app.document.json_output import document_json, page_record
from ocr_app.document.output import document_html, document_markdown, document_zip
from ocr_app.errors import BadRequestError, NoSuchJobError, NotReadyError
from ocr_app.service import intake, sources
from ocr_app.service.keys import Key
from ocr_app.service.records import Job, JobOptions, JobState
from ocr_app.service.service import Service
from ocr_app.service.watching import event_stream

router = APIRouter(prefix="/v1", tags=["jobs"])

PIECE_BYTES = 2**20
MAX_PAGES_AN_ANSWER = 200
MEDIA = {
    "md": "text/markdown; charset=utf-8",
    "json": "application/json",
    "html": "text/html; charset=utf-8",
    "zip": "application/zip",
}
JobId = Annotated[str, Path(max_length=40, pattern=r"^[A-Za-z0-9_-]+$")]


class JobAnswer(BaseModel):
    """A job as it stands. Times are in UTC; None means not known or not yet."""

    id: str
    name: str
    state: JobState
    num_pages: int
    num_pages_done: int
    verdict_counts: dict[str, int]
    place_in_queue: int | None = None  # 1 is next
    eta_s: float | None = None
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    expires_at: datetime | None
    num_memory_retries: int
    error: dict[str, str] | None = None
    notes: list[str]


class JobList(BaseModel):
    jobs: list[JobAnswer]
    next_before: float | None = None  # ask with `before` for older ones


class PageList(BaseModel):
    num_pages: int
    num_pages_done: int
    pages: list[dict[str, Any]]


def get_service(request: Request) -> Service:
    return request.app.state.service


def get_key(request: Request) -> Key:
    return request.state.key


ServiceDep = Annotated[Service, Depends(get_service)]
KeyDep = Annotated[Key, Depends(get_key)]


def submit_options(
    pages: Annotated[str | None, Form(max_length=1000)] = None,
    password: Annotated[str | None, Form(max_length=1000)] = None,
    furniture: Annotated[bool, Form()] = False,
    mask: Annotated[bool, Form()] = False,
    model: Annotated[str | None, Form(max_length=100)] = None,
) -> intake.Request:
    return intake.Request("", pages, password or None, JobOptions(furniture, mask, model or None))


@router.post("/jobs", status_code=202)
def submit(
    request: Request,
    response: Response,
    service: ServiceDep,
    key: KeyDep,
    options: Annotated[intake.Request, Depends(submit_options)],
    file: Annotated[UploadFile | None, File()] = None,
    url: Annotated[str | None, Form(max_length=4000)] = None,
    path: Annotated[str | None, Form(max_length=4000)] = None,
) -> JobAnswer:
    """Submit a PDF or image: as `file`, or by `url` or `path` where the operator allows it."""
    if sum(source is not None for source in (file, url, path)) != 1:
        raise BadRequestError("Send exactly one of file, url and path.")
    name, pieces = _source(service, file, url, path)
    job = submit_pieces(request, service, key, pieces, name, options)
    response.headers["Location"] = f"/v1/jobs/{job.id}"
    return job_answer(service, job)


@router.get("/jobs")
def list_jobs(
    service: ServiceDep,
    key: KeyDep,
    state: JobState | None = None,
    before: Annotated[float | None, Query(ge=0, le=1e12, allow_inf_nan=False)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> JobList:
    """Your jobs, newest first; an admin sees everybody's."""
    owner = None if key.sees_all else key.id
    jobs = service.store.jobs(owner=owner, state=state, before_s=before, limit=limit)
    last = jobs[-1].created_s if len(jobs) == limit else None
    return JobList(jobs=[job_answer(service, job) for job in jobs], next_before=last)


@router.get("/jobs/{job_id}")
def show_job(job_id: JobId, service: ServiceDep, key: KeyDep) -> JobAnswer:
    return job_answer(service, service.job(job_id, key))


@router.get("/jobs/{job_id}/pages")
def list_pages(
    job_id: JobId,
    service: ServiceDep,
    key: KeyDep,
    first: Annotated[int, Query(ge=1, le=10**6)] = 1,
    limit: Annotated[int, Query(ge=1, le=MAX_PAGES_AN_ANSWER)] = 50,
) -> PageList:
    """The finished pages from the `first`-th asked for on, whole: text, regions, boxes, verdict."""
    job = service.job(job_id, key)
    indices = job.page_indices[first - 1 : first - 1 + limit]
    results = (service.store.page(job.id, index) for index in indices)
    pages = [page_record(result) for result in results if result is not None]
    return PageList(num_pages=job.num_pages, num_pages_done=job.num_done, pages=pages)


@router.get("/jobs/{job_id}/pages/{page_number}")
def show_page(
    job_id: JobId,
    page_number: Annotated[int, Path(ge=1, le=10**6)],
    service: ServiceDep,
    key: KeyDep,
) -> dict[str, Any]:
    job = service.job(job_id, key)
    if page_number - 1 not in job.page_indices:
        raise NoSuchJobError(f"The job has no page {page_number}.")
    result = service.store.page(job.id, page_number - 1)
    if result is None:
        raise NotReadyError(f"Page {page_number} is not finished; ask again later.")
    return page_record(result)


@router.get("/jobs/{job_id}/events", response_class=StreamingResponse)
def watch(
    job_id: JobId,
    service: ServiceDep,
    key: KeyDep,
    last_event_id: Annotated[str | None, Header(max_length=40)] = None,
) -> StreamingResponse:
    """Server-sent events until the job is over: `page`, `state`, and `text` of the page being read."""
    job = service.job(job_id, key)
    is_number = last_event_id is not None and last_event_id.isascii() and last_event_id.isdigit()
    after = min(int(last_event_id[:18]), job.last_event) if is_number else 0
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(
        event_stream(service, job.id, after), media_type="text/event-stream", headers=headers
    )


@router.get("/jobs/{job_id}/result", response_class=Response)
def fetch(
    job_id: JobId,
    service: ServiceDep,
    key: KeyDep,
    format: Literal["md", "json", "html", "zip"] = "md",
    so_far: bool = False,
) -> Response:
    """The whole document, or with `so_far` what there is of it."""
    job = service.job(job_id, key)
    if not job.state.is_over and not so_far:
        raise NotReadyError(
            f"{job.num_done} of {job.num_pages} pages are finished; wait, or ask with so_far=true."
        )
    stem = job.name.rpartition(".")[0] or job.name
    disposition = f"attachment; filename=\"document.{format}\"; filename*=UTF-8''{quote(stem)}.{format}"
    body = _rendered(service, job, format)
    return Response(body, media_type=MEDIA[format], headers={"Content-Disposition": disposition})


@router.post("/jobs/{job_id}/cancel")
def cancel(job_id: JobId, service: ServiceDep, key: KeyDep) -> JobAnswer:
    """End a job that waits or runs; what is read of it stays."""
    job = service.job(job_id, key)
    return job_answer(service, service.cancel(job.id))


@router.delete("/jobs/{job_id}", status_code=204)
def delete(job_id: JobId, service: ServiceDep, key: KeyDep) -> None:
    """Remove a job that is over, with everything of it."""
    service.delete(service.job(job_id, key).id)


def submit_pieces(
    request: Request,
    service: Service,
    key: Key,
    pieces: Iterator[bytes],
    name: str,
    options: intake.Request,
) -> Job:
    """Take a document in, masked where the operator wants it."""
    mask = options.options.mask or service.config.service.mask
    wanted = JobOptions(options.options.furniture, mask, options.options.model)
    asked = intake.Request(name, options.pages, options.password, wanted)
    return intake.take_in(service, key, pieces, asked, request.app.state.inspect)


def job_answer(service: Service, job: Job) -> JobAnswer:
    place, eta_s = (None, None) if job.state.is_over else service.place(job)
    error = {"type": job.error_type, "message": job.error_message or ""} if job.error_type else None
    return JobAnswer(
        id=job.id,
        name=job.name,
        state=job.state,
        num_pages=job.num_pages,
        num_pages_done=job.num_done,
        verdict_counts=job.verdict_counts,
        place_in_queue=place or None,
        eta_s=eta_s,
        created_at=_time(job.created_s),
        started_at=_time(job.started_s),
        finished_at=_time(job.finished_s),
        expires_at=_time(job.expires_s),
        num_memory_retries=job.num_memory_retries,
        error=error,
        notes=list(job.notes),
    )


def _source(
    service: Service, file: UploadFile | None, url: str | None, path: str | None
) -> tuple[str, Iterator[bytes]]:
    config, max_bytes = service.config.service, service.config.loader.max_file_bytes
    if url is not None:
        return url.rpartition("/")[2].partition("?")[0], sources.url_pieces(
            url, config.source_hosts, max_bytes
        )
    if path is not None:
        return path, sources.path_pieces(path, config.source_folder, max_bytes)
    assert file is not None
    return file.filename or "document", iter(lambda: file.file.read(PIECE_BYTES), b"")


def _rendered(service: Service, job: Job, format: str) -> str | bytes:
    results = service.store.results(job)
    if format == "md":
        return document_markdown(results, furniture=job.options.furniture) + "\n"
    if format == "json":
        return document_json(results, source=job.name)
    if format == "html":
        return document_html(list(results), title=job.name)
    return document_zip(results, source=job.name)


def _time(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
