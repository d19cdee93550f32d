"""What every request meets before any route: the size of its body and its pace, counted as it streams in, and
headers that go with every answer.

They hold for the page's own uploads too, because they know no routes.
"""

import asyncio
import logging
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ocr_app.errors import OCRError, RequestTimeoutError, TooLargeError
from ocr_app.service.answers import error_response
from ocr_app.service.auth import client_address
from ocr_app.service.service import Service

logger = logging.getLogger(__name__)

FORM_BYTES = 2**20  # what a form may have beside its file
SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "SAMEORIGIN",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}
API_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox",
}


class BodyRefusedError(Exception):
    """Ends the reading of a body that was refused; the answer is sent already, or will be by the guard."""


class BodyGuard:
    """Ends a request whose body is too long or comes too slowly, in the middle of it."""

    def __init__(self, app: ASGIApp, *, max_bytes: int, idle_s: float, total_s: float) -> None:
        self._app = app
        self._max_bytes = max_bytes
        self._idle_s = idle_s
        self._total_s = total_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        body = _Body(receive, send, self._max_bytes, self._idle_s, self._total_s)
        length = Headers(scope=scope).get("content-length", "")
        if length.isdigit() and int(length) > self._max_bytes:
            body.refusal = _too_large(self._max_bytes)
            await body.answer(scope)
            return
        try:
            await self._app(scope, body.receive, body.send)
        except Exception:
            if body.refusal is None:
                raise
        if body.refusal is not None:
            await body.answer(scope)


class _Body:
    """The two ends of one request while its body comes in."""

    def __init__(self, receive: Receive, send: Send, max_bytes: int, idle_s: float, total_s: float) -> None:
        self.refusal: OCRError | None = None
        self._receive = receive
        self._send = send
        self._max_bytes = max_bytes
        self._idle_s = idle_s
        self._deadline_s = time.monotonic() + total_s
        self._num_bytes = 0
        self._is_read = False
        self._has_answered = False

    async def receive(self) -> Message:
        if self._is_read:  # what comes now is the end of the connection, which may be hours away
            return await self._receive()
        wait_s = min(self._idle_s, self._deadline_s - time.monotonic())
        try:
            message = await asyncio.wait_for(self._receive(), max(0.0, wait_s))
        except TimeoutError:
            self.refusal = RequestTimeoutError("The body of the request came too slowly; send it again.")
            raise BodyRefusedError from None
        self._num_bytes += len(message.get("body", b""))
        self._is_read = not message.get("more_body", False)
        if self._num_bytes > self._max_bytes:
            self.refusal = _too_large(self._max_bytes)
            raise BodyRefusedError
        return message

    async def send(self, message: Message) -> None:
        """Pass an answer on, unless it is about a body that was refused: that has an answer of its own."""
        if self.refusal is None or self._has_answered:
            self._has_answered = True
            await self._send(message)

    async def answer(self, scope: Scope) -> None:
        if self._has_answered or self.refusal is None:
            return
        self._has_answered = True
        response = error_response(self.refusal)
        response.headers["Connection"] = "close"
        await response(scope, self._receive, self._send)


class AnswerHeaders:
    """Security headers on every answer, counting and the audit log of what changes something."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started_s, status = time.monotonic(), 500

        async def send_with_headers(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                _add_headers(MutableHeaders(scope=message), scope["path"])
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        finally:
            await self._note(scope, status, time.monotonic() - started_s)

    async def _note(self, scope: Scope, status: int, elapsed_s: float) -> None:
        path, method = scope["path"], scope["method"]
        if not path.endswith("/events"):
            self._service.metrics.request(method if method.isalpha() else "other", status, elapsed_s)
        if path.startswith("/v1/") and method not in ("GET", "HEAD", "OPTIONS"):
            key = scope.get("state", {}).get("key")
            who = key.name if key else "unknown"
            try:
                await asyncio.to_thread(
                    self._service.keys.note, who, client_address(scope), f"{method} {path}", status
                )
            except Exception:
                logger.exception("the audit log could not be written")


def _add_headers(headers: MutableHeaders, path: str) -> None:
    wanted = SECURITY_HEADERS | (API_HEADERS if path.startswith("/v1/") else {})
    for name, value in wanted.items():
        headers.setdefault(name, value)


def _too_large(max_bytes: int) -> TooLargeError:
    return TooLargeError(
        f"The request has more than {max_bytes / 2**20:.1f} MiB, which is the limit. Split the file, or "
        "raise loader.max_file_bytes."
    )
