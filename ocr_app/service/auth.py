"""Who a request comes from, asked once for every route: page, API and metrics alike.

A key is sent as `Authorization: Bearer KEY`, as `X-API-Key`, or as the password of HTTP Basic, which is what
a browser asks for. Where only this machine can connect, no key is needed, but the request must name this
machine and must not have come through a proxy.
"""

import asyncio
import base64
import binascii
import ipaddress
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from ocr_app.errors import NotAllowedError, NotSignedInError, OCRError
from ocr_app.service.answers import error_response
from ocr_app.service.keys import LOCAL, Key, Role
from ocr_app.service.service import Service

OPEN_PATHS = {"/livez", "/readyz"}
SAFE_METHODS = {"GET", "HEAD", "OPTIONS"}
LOCAL_NAMES = {"localhost", "127.0.0.1", "::1"}
FORWARDED = ("forwarded", "x-forwarded-for")


def needs_keys(auth: str, host: str) -> bool:
    """Whether keys are asked for: always where another machine can connect."""
    return auth == "on" or not is_loopback(host)


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class AuthMiddleware:
    """Lets a request through with `scope["state"]["key"]` set, or answers it."""

    def __init__(self, app: ASGIApp, service: Service, *, keys_are_on: bool) -> None:
        self._app = app
        self._service = service
        self._keys_are_on = keys_are_on

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope["path"] in OPEN_PATHS:
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        try:
            _check_origin(scope, headers)
            key = await asyncio.to_thread(self._key, scope, headers)
        except OCRError as error:
            response = error_response(error, asks_for_key=isinstance(error, NotSignedInError))
            await response(scope, receive, send)
            return
        scope.setdefault("state", {})["key"] = key
        await self._app(scope, receive, send)

    def _key(self, scope: Scope, headers: Headers) -> Key:
        if not self._keys_are_on:
            _check_local(headers)
            return LOCAL
        service, address = self._service, client_address(scope)
        service.limits.check_sign_in(address)
        secret = _secret(headers)
        key = service.keys.owner_of(secret) if secret else None
        if key is None:
            if secret:
                service.limits.sign_in_failed(address)
                service.keys.note("unknown", address, "sign in", 401)
            raise NotSignedInError(
                "A key is needed: send it as `Authorization: Bearer KEY`. The operator makes one with "
                "`longscribe keys add NAME`."
            )
        service.limits.request(key.id)
        _check_role(key, scope)
        return key


def client_address(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else "unknown"


def _check_role(key: Key, scope: Scope) -> None:
    path, method = scope["path"], scope.get("method", "GET")
    if path == "/metrics":
        allowed = key.role in (Role.ADMIN, Role.MONITOR)
    elif key.role is Role.READER:
        # the page reads documents by messages of its own, which no method tells apart
        allowed = method in SAFE_METHODS and path.startswith("/v1/")
    else:
        allowed = key.role in (Role.ADMIN, Role.USER)
    if not allowed:
        raise NotAllowedError(f"A key with the role {key.role.value} may not do this; use another key.")


def _check_origin(scope: Scope, headers: Headers) -> None:
    """Refuse what another web page makes a browser send: it would carry the person's key."""
    origin = headers.get("origin")
    if scope.get("method", "GET") in SAFE_METHODS or not origin:
        return
    # a browser sends neither of these by itself
    is_meant = "x-api-key" in headers or headers.get("authorization", "").lower().startswith("bearer ")
    if urlsplit(origin).netloc != headers.get("host") and not is_meant:
        raise NotAllowedError("This request comes from another web page; send a key with it.")


def _check_local(headers: Headers) -> None:
    """Without keys, a name that was made to point here and a proxy in front would both let others in."""
    host = urlsplit(f"//{headers.get('host', '')}").hostname
    if host not in LOCAL_NAMES or any(name in headers for name in FORWARDED):
        raise NotAllowedError(
            "Without keys only this machine may ask, by the name localhost. Behind a proxy, set "
            "service.auth to on."
        )


def _secret(headers: Headers) -> str | None:
    if key := headers.get("x-api-key"):
        return key.strip()
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(value, validate=True).decode().partition(":")[2].strip()
        except (binascii.Error, UnicodeDecodeError):
            return None
    return None
