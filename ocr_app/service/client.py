"""A small client of the HTTP API.

with Client("http://127.0.0.1:7860", key="lsk_...") as client:
    job = client.submit(Path("book.pdf"))
    for event in client.watch(job["id"]):
        print(event.kind, event.values)
    Path("book.md").write_bytes(client.fetch(job["id"], "md"))
"""

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import httpx

from ocr_app import errors
from ocr_app.errors import OCRError, ServerUnreachableError

WATCH_S = 60.0  # without a heartbeat the connection is taken for dead
NUM_RETRIES = 5
RETRY_S = 0.5


@dataclass(frozen=True, slots=True)
class ServerEvent:
    """One server-sent event."""

    kind: str  # "page", "state" or "text"
    values: dict[str, Any]
    number: int | None = None


class Client:
    """Raises the service's own OCRError classes, and ServerUnreachableError when nobody answers."""

    def __init__(self, url: str, key: str | None = None, timeout_s: float = 120.0) -> None:
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        self._http = httpx.Client(base_url=url, headers=headers, timeout=timeout_s)

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def submit(self, file: Path, **options: Any) -> dict[str, Any]:
        """Send a document. Options: pages, password, furniture, mask, model. Returns the job."""
        values = {name: str(value) for name, value in options.items() if value is not None}
        with file.open("rb") as opened:
            answer = self._ask("POST", "/v1/jobs", data=values, files={"file": (file.name, opened)})
        return answer.json()

    def job(self, job_id: str) -> dict[str, Any]:
        return self._ask("GET", f"/v1/jobs/{job_id}").json()

    def jobs(self) -> list[dict[str, Any]]:
        return self._ask("GET", "/v1/jobs").json()["jobs"]

    def fetch(self, job_id: str, format: str = "md", *, so_far: bool = False) -> bytes:
        """The document as md, json, html or zip."""
        params = {"format": format, "so_far": so_far}
        return self._ask("GET", f"/v1/jobs/{job_id}/result", params=params).content

    def cancel(self, job_id: str) -> dict[str, Any]:
        return self._ask("POST", f"/v1/jobs/{job_id}/cancel").json()

    def delete(self, job_id: str) -> None:
        self._ask("DELETE", f"/v1/jobs/{job_id}")

    def watch(self, job_id: str, after: int = 0) -> Iterator[ServerEvent]:
        """Events until the job is over; a lost connection is taken up again where it broke off."""
        num_left = NUM_RETRIES
        while True:
            try:
                for event in self._events(job_id, after):
                    after = event.number or after
                    num_left = NUM_RETRIES
                    yield event
                return
            except httpx.TransportError as error:
                num_left -= 1
                if not num_left:
                    raise _unreachable(error) from None
                time.sleep(RETRY_S)

    def _events(self, job_id: str, after: int) -> Iterator[ServerEvent]:
        headers = {"Last-Event-ID": str(after)}
        with self._http.stream(
            "GET", f"/v1/jobs/{job_id}/events", headers=headers, timeout=WATCH_S
        ) as answer:
            if answer.is_error:
                answer.read()
                raise _error(answer)
            yield from parse_events(answer.iter_lines())

    def _ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            answer = self._http.request(method, path, **options)
        except httpx.TransportError as error:
            raise _unreachable(error) from None
        if answer.is_error:
            raise _error(answer)
        return answer


def parse_events(lines: Iterator[str]) -> Iterator[ServerEvent]:
    """Events of a text/event-stream."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(": ")
            fields[name] = value
        elif "data" in fields:
            number = int(fields["id"]) if "id" in fields else None
            yield ServerEvent(fields.get("event", "message"), json.loads(fields["data"]), number)
            fields = {}


def _error(answer: httpx.Response) -> OCRError:
    """The service's error as the class it was."""
    try:
        told = answer.json()["error"]
        kind, message = str(told["type"]), str(told["message"])
    except (ValueError, KeyError, TypeError):
        return ServerUnreachableError(
            f"The server answered {answer.status_code}, not as this service does; check the URL."
        )
    known = getattr(errors, kind, None)
    is_ours = isinstance(known, type) and issubclass(known, OCRError)
    return (known if is_ours else OCRError)(message)


def _unreachable(error: httpx.TransportError) -> ServerUnreachableError:
    return ServerUnreachableError(
        f"The server does not answer ({type(error).__name__}); check the URL and that it runs."
    )
