"""Answers that every part gives alike: an error as JSON, with the class of `errors.py` as its type."""

from typing import Any

from starlette.responses import JSONResponse

from ocr_app.errors import NotSignedInError, OCRError


def error_body(kind: str, message: str) -> dict[str, Any]:
    # the form that clients of the OpenAI API know
    return {"error": {"type": kind, "message": message, "code": None, "param": None}}


def error_response(error: OCRError, *, asks_for_key: bool = False) -> JSONResponse:
    headers = {"WWW-Authenticate": 'Basic realm="Longscribe", charset="UTF-8"'} if asks_for_key else None
    assert not asks_for_key or isinstance(error, NotSignedInError)
    return JSONResponse(
        error_body(type(error).__name__, str(error)), status_code=error.http_status, headers=headers
    )
