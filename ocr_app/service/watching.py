"""Server-sent events of one job: lasting ones numbered, the text of the page being read in between.

    id: 7
    event: page      a finished page: its record's Markdown, verdict and reason
    id: 8
    event: state     the job waits, runs or is over
    event: text      what was written since the last one; with "reset" the page begins anew

A client that comes back with `Last-Event-ID` gets every lasting event it missed; text has no number, and what
is written of the current page comes whole with the first one.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from ocr_app.errors import NoSuchJobError
from ocr_app.service.records import JobEvent
from ocr_app.service.service import Service

POLL_S = 0.05
LOOK_S = 1.0  # how often the store is asked though nobody said that anything changed
HEARTBEAT_S = 15.0
EVENTS_A_READ = 50


class Watcher:
    """Follows one job from an event on; `changes` yields events as pairs of kind and values."""

    def __init__(self, service: Service, job_id: str, after: int = 0) -> None:
        self._service = service
        self._job_id = job_id
        self._number = after
        self._page_index: int | None = None
        self._num_parts = 0

    async def changes(self) -> AsyncIterator[tuple[int | None, str, dict[str, Any]]]:
        """Number, kind and values of each event, until the job is over; kind "wait" when nothing came."""
        version, looked_s = None, 0.0
        while True:
            now_version = self._service.live.version(self._job_id)
            if now_version != version or time.monotonic() - looked_s > LOOK_S:
                version, looked_s = now_version, time.monotonic()
                events, is_over = await asyncio.to_thread(self._lasting)
                for event in events:
                    yield event
                if is_over:
                    return
                if len(events) == EVENTS_A_READ:
                    version = None
                elif text := self._text():
                    yield None, "text", text
            else:
                yield None, "wait", {}
                await asyncio.sleep(POLL_S)

    def _lasting(self) -> tuple[list[tuple[int, str, dict[str, Any]]], bool]:
        store = self._service.store
        job = store.job(self._job_id)  # before the events: what ends the job is among them then
        events = store.events(self._job_id, self._number, EVENTS_A_READ)
        told = [(event.number, event.kind, self._values(event)) for event in events]
        if events:
            self._number = events[-1].number
        return told, job.state.is_over and self._number >= job.last_event

    def _values(self, event: JobEvent) -> dict[str, Any]:
        if event.kind == "state":
            return {"state": event.state}
        result = self._service.store.page(self._job_id, event.page_index)
        if result is None:
            raise NoSuchJobError("The job was deleted.")
        return {
            "page_number": result.page_number,
            "verdict": result.verdict,
            "reason": result.reason,
            "markdown": result.markdown,
            "joint": result.joint,
            "confidence": result.confidence,
        }

    def _text(self) -> dict[str, Any] | None:
        page = self._service.live.page(self._job_id, self._page_index, self._num_parts)
        if page is None or (page.page_index == self._page_index and not page.text):
            return None
        is_new = page.page_index != self._page_index
        self._page_index, self._num_parts = page.page_index, page.num_parts
        return {"page_number": page.page_index + 1, "text": page.text, "reset": is_new}


async def event_stream(service: Service, job_id: str, after: int) -> AsyncIterator[str]:
    """The events as the lines of a text/event-stream, with a comment now and then to keep it open."""
    sent_s = time.monotonic()
    yield "retry: 1000\n\n"
    try:
        async for number, kind, values in Watcher(service, job_id, after).changes():
            if kind != "wait":
                head = f"id: {number}\n" if number is not None else ""
                yield f"{head}event: {kind}\ndata: {json.dumps(values, ensure_ascii=False)}\n\n"
                sent_s = time.monotonic()
            elif time.monotonic() - sent_s > HEARTBEAT_S:
                yield ": still here\n\n"
                sent_s = time.monotonic()
    except NoSuchJobError:  # deleted under the watcher: there is nothing more to tell
        return
