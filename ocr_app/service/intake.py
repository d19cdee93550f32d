"""A document on its way in: saved under a name of ours, scanned, opened once to see what it is, queued.

What is wrong with a document is told at once, with the error it would have ended in.
"""

import re
import shlex
import subprocess
import tempfile
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath

from ocr_app.config import LoaderConfig
from ocr_app.document.loader import open_document
from ocr_app.document.sniff import HEAD_BYTES, sniff
from ocr_app.errors import BadRequestError, InfectedFileError
from ocr_app.models.base import READERS
from ocr_app.service.keys import Key
from ocr_app.service.records import Job, JobOptions, NewJob
from ocr_app.service.service import Service

SCAN_S = 120.0
MAX_NAME_CHARS = 120


@dataclass(frozen=True, slots=True)
class Inspection:
    """What opening a document showed."""

    page_indices: tuple[int, ...]
    notes: tuple[str, ...] = ()


Inspect = Callable[..., Inspection]  # the signature of inspect_document


@dataclass(frozen=True, slots=True)
class Request:
    """What came with a document."""

    name: str
    pages: str | None = None
    password: str | None = None
    options: JobOptions = field(default_factory=JobOptions)


def inspect_document(
    source: bytes | Path, config: LoaderConfig, *, password: str | None, pages: str | None
) -> Inspection:
    """Open and close a document. Raises the leaf of OCRError that says what is wrong with it."""
    with open_document(source, config, password=password, pages=pages) as document:
        return Inspection(tuple(document.page_indices), document.notes)


def take_in(
    service: Service, key: Key, pieces: Iterable[bytes], request: Request, inspect: Inspect = inspect_document
) -> Job:
    """Save, check and queue a document; nothing of it stays when it is refused."""
    options = request.options
    if options.model is not None and options.model not in READERS:
        raise BadRequestError(f"There is no model {options.model!r}; it must be one of {', '.join(READERS)}.")
    upload, num_bytes = service.folder.save(_sniffed(pieces))
    try:
        source = service.folder.document(upload)
        if service.config.service.scan_command:
            scan(service.config.service.scan_command, source)
        found = inspect(source, service.config.loader, password=request.password, pages=request.pages)
    except BaseException:
        service.folder.remove(upload)
        raise
    new = NewJob(
        owner=key.id,
        name=shown_name(request.name),
        upload=upload,
        num_bytes=num_bytes,
        page_indices=found.page_indices,
        options=options,
        needs_password=request.password is not None,
        notes=found.notes,
    )
    return service.submit(new, request.password)


def shown_name(name: str) -> str:
    """A file's name as it may be shown and offered for download: no folder, no control or direction marks."""
    base = PurePosixPath(PureWindowsPath(name).name).name
    kept = "".join(char for char in unicodedata.normalize("NFC", base) if char.isprintable())
    kept = re.sub(r'[<>:"/\\|?*]', "_", kept).strip(" .")
    if len(kept) > MAX_NAME_CHARS:
        kept = kept[: MAX_NAME_CHARS - 8] + "…" + kept[-7:]
    return kept or "document"


def scan(command: str, source: bytes | Path) -> None:
    """Run the operator's scanner over a document. Raises InfectedFileError unless it ends with 0."""
    if isinstance(source, bytes):
        with tempfile.NamedTemporaryFile() as file:
            file.write(source)
            file.flush()
            scan(command, Path(file.name))
            return
    try:
        done = subprocess.run(
            [*shlex.split(command), str(source)],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=SCAN_S,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired):
        raise InfectedFileError(
            "The file could not be scanned, so it is not read; tell the operator."
        ) from None
    if done.returncode:
        raise InfectedFileError("The scanner of this service refused the file.")


def _sniffed(pieces: Iterable[bytes]) -> Iterable[bytes]:
    """The pieces, once the first bytes are those of a PDF or an image; before that, nothing is written."""
    head, waiting, is_known = b"", [], False
    for piece in pieces:
        if is_known:
            yield piece
            continue
        head += piece[: HEAD_BYTES - len(head)]
        waiting.append(piece)
        if len(head) >= HEAD_BYTES:
            sniff(head)
            is_known = True
            yield from waiting
    if not is_known:
        sniff(head)
        yield from waiting
