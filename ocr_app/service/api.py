"""The HTTP application: routes behind their guards, and errors as JSON."""

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware

from ocr_app import __version__
from ocr_app.errors import OCRError
from ocr_app.service import chat, health, job_routes
from ocr_app.service.answers import error_body, error_response
from ocr_app.service.auth import AuthMiddleware, needs_keys
from ocr_app.service.guards import FORM_BYTES, AnswerHeaders, BodyGuard
from ocr_app.service.intake import Inspect, inspect_document
from ocr_app.service.service import Service

logger = logging.getLogger(__name__)

MAX_CHAT_GROWTH = 1.4  # base64 makes a document a third longer


def build_api(service: Service, inspect: Inspect = inspect_document) -> FastAPI:
    """The application over a running service. What is mounted into it is behind the same guards."""
    app = FastAPI(
        title="Longscribe",
        version=__version__,
        openapi_url="/v1/openapi.json",
        docs_url=None,  # the usual pages of documentation load scripts from elsewhere
        redoc_url=None,
    )
    app.state.service = service
    app.state.inspect = inspect
    for router in (job_routes.router, chat.router, health.router):
        app.include_router(router)
    _add_guards(app, service)
    _add_error_answers(app, service)
    return app


def _add_guards(app: FastAPI, service: Service) -> None:
    """From the inside out: the last one added meets a request first."""
    config = service.config
    app.add_middleware(
        BodyGuard,
        max_bytes=int(config.loader.max_file_bytes * MAX_CHAT_GROWTH) + FORM_BYTES,
        idle_s=config.service.idle_timeout_s,
        total_s=config.service.upload_timeout_s,
    )
    keys_are_on = needs_keys(config.service.auth, config.server.host)
    app.add_middleware(AuthMiddleware, service=service, keys_are_on=keys_are_on)
    origins = [origin.strip() for origin in (config.service.cors_origins or "").split(",") if origin.strip()]
    if origins:
        app.add_middleware(
            CORSMiddleware, allow_origins=origins, allow_methods=["*"], allow_headers=["*"], max_age=600
        )
    app.add_middleware(AnswerHeaders, service=service)


def _add_error_answers(app: FastAPI, service: Service) -> None:
    async def known(_request: Request, error: Any) -> JSONResponse:
        service.metrics.error(error)
        return error_response(error)

    async def invalid(_request: Request, error: Any) -> JSONResponse:
        return JSONResponse(error_body("BadRequestError", _complaint(error)), 422)

    async def plain(_request: Request, error: Any) -> JSONResponse:
        return JSONResponse(error_body("HTTPError", str(error.detail)), error.status_code, error.headers)

    async def unknown(_request: Request, error: Any) -> JSONResponse:
        logger.error("a request ended by an error nobody expected", exc_info=error)
        service.metrics.error(error)
        return JSONResponse(error_body("InternalError", "Unexpected error; the server's log has it."), 500)

    app.add_exception_handler(OCRError, known)
    app.add_exception_handler(RequestValidationError, invalid)
    app.add_exception_handler(HTTPException, plain)
    app.add_exception_handler(Exception, unknown)


def _complaint(error: RequestValidationError) -> str:
    """What is wrong with a request, without what was sent: it may hold a password."""
    parts = [f"{'.'.join(map(str, one['loc'][1:])) or one['loc'][0]}: {one['msg']}" for one in error.errors()]
    return "; ".join(parts)[:1000]
