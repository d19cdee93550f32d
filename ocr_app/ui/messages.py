"""Messages from a job to its page: each holds what is new since the last, and what may be sent again without
harm.

A page that is finished is announced once, with its verdict; the browser asks for its text when it comes into
view. Should a message be lost, the browser sees it by `base` (how many pages or characters went before) and
asks for what it lacks.
"""

from dataclasses import dataclass
from typing import Any

from ocr_app.types import Telemetry
from ocr_app.ui.compare import agreement_of, result_card
from ocr_app.ui.job_view import CurrentPage, FinishedPage, JobView
from ocr_app.ui.jobs import Job, Lane, Visit
from ocr_app.ui.rendering import markdown_html

MAX_LIT_RUNS = 12  # about one line


@dataclass(slots=True)
class _Sent:
    """What one lane has sent."""

    num_pages: int = 0
    page_index: int | None = None
    num_chars: int = 0
    num_copied: int = 0


class Messages:
    """Makes the messages of one job."""

    def __init__(self, job: Job, visit: Visit) -> None:
        self._job = job
        self._visit = visit
        self._sent = [_Sent() for _ in job.lanes]
        self._sequence = 0
        self._card: dict[str, Any] | None = None

    def message(self) -> dict[str, Any]:
        self._sequence += 1
        job = self._job
        return {
            "job": job.token,
            "sequence": self._sequence,
            "name": job.name,
            "is_over": job.is_over,
            "lanes": [self._lane(lane, sent) for lane, sent in zip(job.lanes, self._sent, strict=True)],
            "comparison": self._comparison(),
            "jobs": [_summary(known) for known in self._visit.jobs.values()],
        }

    def _lane(self, lane: Lane, sent: _Sent) -> dict[str, Any]:
        with lane.lock:
            view = lane.view
            base, sent.num_pages = sent.num_pages, len(view.finished)
            return {
                "mode": lane.mode,
                "state": view.state,
                "message": view.message,
                "base": base,
                "pages": [page_line(page) for page in view.finished[base:]],
                "total": view.num_pages_total,
                "read": view.num_pages_read,
                "elapsed_s": view.end.elapsed_s if view.end else None,
                "current": _current(view.current, sent) if view.current else None,
                "stats": _stats(view),
                "strip": _strip(view.latest),
            }

    def _comparison(self) -> dict[str, Any] | None:
        comparison = self._job.comparison
        if comparison is None:
            return None
        if self._job.is_over and self._card is None and all(lane.view.finished for lane in self._job.lanes):
            self._card = job_card(self._job)
        return {
            "will_not_fit": comparison.will_not_fit,
            "estimated_bytes": comparison.estimated_bytes,
            "limit_bytes": comparison.limit_bytes,
            "fits_pages": comparison.fits_pages,
            "stopped_at_page": comparison.stopped_at_page,
            "needed_bytes": comparison.needed_bytes,
            "card": self._card,
        }


def job_card(job: Job) -> dict[str, Any]:
    """The result card of a comparison that is over."""
    sparse, full = job.lanes
    agreement = agreement_of(
        (first, second) for first in sparse.store.results() if (second := full.store.result(first.page_index))
    )
    return result_card(sparse.view, full.view, agreement)


def page_line(page: FinishedPage) -> list[Any]:
    """A finished page in the browser's list: index, verdict, reason, confidence, lines set aside."""
    return [page.page_index, page.verdict, page.reason, page.confidence, page.num_lines_set_aside]


def _current(page: CurrentPage, sent: _Sent) -> dict[str, Any]:
    """The page being read: its text so far as HTML, and the characters that are new. `base` counts UTF-16
    units, as JavaScript does.
    """
    if sent.page_index != page.page_index:
        sent.page_index, sent.num_chars, sent.num_copied = page.page_index, 0, 0
    base, tail = page.text[: sent.num_chars], page.text[sent.num_chars :]
    copied = page.copied[sent.num_copied :]
    sent.num_chars, sent.num_copied = len(page.text), len(page.copied)
    return {
        "page": page.page_index,
        "html": markdown_html(page.text),
        "base": len(base.encode("utf-16-le", "surrogatepass")) // 2,
        "tail": tail,
        "copied": copied,
        "lit": page.copied[-MAX_LIT_RUNS:],
    }


def _stats(view: JobView) -> dict[str, Any] | None:
    """Counters as numbers; the browser writes them in the person's language. None is shown as unknown."""
    sample = view.latest
    if sample is None:
        return None
    kv = sample.kv
    return {
        "time_s": sample.time_s,
        "tokens_per_s": sample.tokens_per_s,
        "pages_per_s": sample.pages_per_s,
        "ttft_s": sample.ttft_s,
        "eta_s": [sample.eta_low_s, sample.eta_s, sample.eta_high_s],
        "reuse": [sample.num_reuse_hits, sample.num_reuse_lookups],
        "allocated_bytes": kv.allocated_bytes if kv else None,
        "live_bytes": kv.live_bytes if kv else None,
        "attended_tokens": kv.attended_tokens if kv else None,
        "step_s": kv.step_s if kv else None,
        "peak_kv_bytes": view.peak_kv_bytes,
        "devices": [[device.label, device.used_bytes, device.total_bytes] for device in sample.devices],
        "process_bytes": sample.process_bytes,
    }


def _strip(sample: Telemetry | None) -> list[list[Any]]:
    """Pages whose KV is in memory now: index, state, blocks."""
    if sample is None or sample.kv is None:
        return []
    return [[page.page_index, page.state, page.num_blocks] for page in sample.kv.resident_pages]


def _summary(job: Job) -> dict[str, Any]:
    """A line of the list of this visit's jobs."""
    view = job.lanes[0].view
    return {
        "job": job.token,
        "name": job.name,
        "state": view.state,
        "pages": view.num_pages_read,
        "total": view.num_pages_total,
        "compared": job.comparison is not None,
    }
