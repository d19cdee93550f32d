"""An OpenAI-compatible way in: /v1/chat/completions reads the images and PDFs of the last message.

Text in the messages is not an instruction here: a document is read, whatever is asked about it. Several
documents in one message are read one after the other.
"""

import asyncio
import base64
import binascii
import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from ocr_app.document.output import MarkdownJoiner
from ocr_app.errors import BadRequestError, OCRError, TooLargeError
from ocr_app.models.base import READERS
from ocr_app.service import intake, sources
from ocr_app.service.answers import error_body
from ocr_app.service.job_routes import KeyDep, ServiceDep, submit_pieces
from ocr_app.service.keys import Key
from ocr_app.service.records import Job, JobOptions, JobState
from ocr_app.service.service import Service
from ocr_app.service.watching import Watcher

router = APIRouter(prefix="/v1", tags=["chat"])

MAX_DOCUMENTS = 16
DEFAULT_MODEL = "longscribe"  # whatever the server reads with


class ImageUrl(BaseModel):
    url: str


class FilePart(BaseModel):
    file_data: str | None = None
    filename: Annotated[str, Field(max_length=1000)] = "document"


class Part(BaseModel):
    type: Literal["text", "image_url", "file"]
    text: str | None = None
    image_url: ImageUrl | None = None
    file: FilePart | None = None


class Message(BaseModel):
    role: Annotated[str, Field(max_length=40)]
    content: str | list[Part] | None = None


class ChatRequest(BaseModel):
    """What of the request is used; anything else in it is ignored."""

    model: Annotated[str, Field(max_length=100)] = DEFAULT_MODEL
    messages: Annotated[list[Message], Field(min_length=1, max_length=1000)]
    stream: bool = False


@router.get("/models")
def models() -> dict[str, Any]:
    names = [DEFAULT_MODEL, *READERS]
    return {
        "object": "list",
        "data": [{"id": name, "object": "model", "created": 0, "owned_by": "longscribe"} for name in names],
    }


@router.post("/chat/completions", response_model=None)
async def chat(
    body: ChatRequest, request: Request, service: ServiceDep, key: KeyDep
) -> JSONResponse | StreamingResponse:
    """Read the documents of the last message that has any; the answer is their Markdown."""
    jobs = await asyncio.to_thread(_submit_all, body, request, service, key)
    head = {"id": f"chatcmpl-{jobs[0].id}", "created": int(jobs[0].created_s), "model": body.model}
    if body.stream:
        return StreamingResponse(_chunks(service, jobs, head), media_type="text/event-stream")
    texts = []
    async for text in _texts(service, jobs):
        texts.append(text)
        if await request.is_disconnected():
            break
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": "".join(texts)},
        "finish_reason": "stop",
    }
    return JSONResponse(head | {"object": "chat.completion", "choices": [choice]})


async def _chunks(service: Service, jobs: list[Job], head: dict[str, Any]) -> AsyncIterator[str]:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        value = head | {"object": "chat.completion.chunk", "choices": [choice]}
        return f"data: {json.dumps(value, ensure_ascii=False)}\n\n"

    yield chunk({"role": "assistant", "content": ""})
    try:
        async for text in _texts(service, jobs):
            if text:
                yield chunk({"content": text})
    except OCRError as error:
        yield f"data: {json.dumps(error_body(type(error).__name__, str(error)))}\n\n"
        return
    yield chunk({}, "stop")
    yield "data: [DONE]\n\n"


async def _texts(service: Service, jobs: list[Job]) -> AsyncIterator[str]:
    """Markdown of the jobs page by page, "" while nothing comes. Closed early, it cancels what is left."""
    try:
        for place, job in enumerate(jobs):
            if place:
                yield "\n\n"
            async for text in _job_texts(service, job):
                yield text
    finally:
        await asyncio.shield(asyncio.to_thread(_cancel_all, service, jobs))


async def _job_texts(service: Service, job: Job) -> AsyncIterator[str]:
    joiner = MarkdownJoiner(furniture=job.options.furniture)
    async for _number, kind, values in Watcher(service, job.id).changes():
        if kind == "page":
            result = await asyncio.to_thread(service.store.page, job.id, values["page_number"] - 1)
            yield joiner.add(result)
        elif kind == "wait":
            yield ""
    yield joiner.finish()
    over = await asyncio.to_thread(service.store.job, job.id)
    if over.state is JobState.FAILED:
        raise BadRequestError(over.error_message or "The document could not be read.")


def _cancel_all(service: Service, jobs: list[Job]) -> None:
    for job in jobs:
        try:
            service.cancel(job.id)
        except OCRError:  # it is over
            continue


def _submit_all(body: ChatRequest, request: Request, service: Service, key: Key) -> list[Job]:
    """Queue every document of the last message that has any; on an error none of them stays."""
    found = [documents for message in body.messages if (documents := _documents(message))]
    if not found:
        raise BadRequestError("No message has an image_url or a file; send the document as one of them.")
    if len(found[-1]) > MAX_DOCUMENTS:
        raise BadRequestError(
            f"A message may have {MAX_DOCUMENTS} documents; send the others in another one."
        )
    model = None if body.model == DEFAULT_MODEL else body.model
    jobs: list[Job] = []
    try:
        for name, address in found[-1]:
            pieces = _pieces(service, address)
            options = intake.Request("", options=JobOptions(model=model))
            jobs.append(submit_pieces(request, service, key, pieces, name, options))
    except OCRError:
        _cancel_all(service, jobs)
        raise
    return jobs


def _documents(message: Message) -> list[tuple[str, str]]:
    """Name and address of each document of a message."""
    found = []
    for part in message.content if isinstance(message.content, list) else []:
        if part.type == "image_url" and part.image_url:
            found.append(("image", part.image_url.url))
        elif part.type == "file" and part.file and part.file.file_data:
            found.append((part.file.filename, part.file.file_data))
    return found


def _pieces(service: Service, address: str) -> Iterator[bytes]:
    max_bytes = service.config.loader.max_file_bytes
    if not address.startswith("data:"):
        return sources.url_pieces(address, service.config.service.source_hosts, max_bytes)
    head, comma, text = address.partition(",")
    try:
        if not comma or not head.endswith(";base64"):
            raise ValueError
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise BadRequestError("A data URL must be data:TYPE;base64,DATA.") from None
    if len(data) > max_bytes:
        raise TooLargeError(f"The document has more than {max_bytes / 2**20:.1f} MiB, which is the limit.")
    return iter([data])
