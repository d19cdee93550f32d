"""/livez, /readyz and /metrics."""

from fastapi import APIRouter, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse
from prometheus_client import CONTENT_TYPE_LATEST

router = APIRouter(tags=["health"])


@router.get("/livez", response_class=PlainTextResponse)
async def livez() -> str:
    """Answered as long as the process can answer at all."""
    return "ok\n"


@router.get("/readyz", response_class=JSONResponse)
def readyz(request: Request) -> JSONResponse:
    """503 while no new document can be taken, with the reason."""
    try:
        reason = request.app.state.service.why_not_ready()
    except Exception as error:
        reason = f"The job store cannot be asked ({type(error).__name__})."
    return JSONResponse({"ready": reason is None, "reason": reason}, 200 if reason is None else 503)


@router.get("/metrics", response_class=Response)
def metrics(request: Request) -> Response:
    """Prometheus' text format."""
    return Response(request.app.state.service.metrics.text(), media_type=CONTENT_TYPE_LATEST)
