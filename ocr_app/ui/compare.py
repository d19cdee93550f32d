"""SR-SWA and full attention on one document: when the second lane starts, where it must stop, and what the
result card says.

Knows lanes by what they show (view, state), not how they run.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol

from ocr_app.types import PageResult
from ocr_app.ui.diffing import page_diff
from ocr_app.ui.job_view import JobState, JobView


class Order(StrEnum):
    TOGETHER = "together"
    ONE_BY_ONE = "one_by_one"


class ComparedLane(Protocol):
    """What a comparison asks of a lane."""

    view: JobView

    @property
    def has_started(self) -> bool: ...

    @property
    def is_over(self) -> bool: ...

    def start(self) -> None: ...

    def stop(self) -> None: ...


@dataclass(slots=True)
class Comparison:
    """Watches both lanes. `limit_bytes` is the most KV that full attention may take before it is stopped."""

    limit_bytes: int
    order: Order = Order.TOGETHER
    estimated_bytes: int | None = None  # what full attention would need for the whole document
    fits_pages: int | None = None  # pages that fit under the limit
    stopped_at_page: int | None = None  # page_number at which full attention hit the limit
    needed_bytes: int | None = None  # what it held then

    def tick(self, sparse: ComparedLane, full: ComparedLane) -> None:
        """Start full attention when its turn has come; stop it when it is over the limit."""
        if self.estimated_bytes is None:
            self._estimate(sparse.view)
        if not full.has_started and not full.is_over:
            self._start(sparse, full)
        elif not full.is_over:
            self._hold_limit(full)

    @property
    def will_not_fit(self) -> bool:
        return self.estimated_bytes is not None and self.estimated_bytes > self.limit_bytes

    def _start(self, sparse: ComparedLane, full: ComparedLane) -> None:
        if sparse.view.state in (JobState.CANCELLED, JobState.ERROR, JobState.PASSWORD):
            full.stop()
        # together still means after the first page: that page is what the estimate is measured on
        elif sparse.is_over or (self.order is Order.TOGETHER and sparse.view.finished):
            full.start()

    def _estimate(self, view: JobView) -> None:
        """Full attention keeps every page as the first page was kept, so the first page tells what all
        need.
        """
        first = min(view.live_after_page, default=None)
        if first is None or not view.finished or view.num_pages_total is None:
            return
        bytes_a_page = max(1, view.live_after_page[first])
        self.estimated_bytes = bytes_a_page * view.num_pages_total
        self.fits_pages = self.limit_bytes // bytes_a_page

    def _hold_limit(self, full: ComparedLane) -> None:
        kv = full.view.latest.kv if full.view.latest else None
        if (
            self.stopped_at_page is None
            and kv
            and kv.allocated_bytes is not None
            and kv.allocated_bytes > self.limit_bytes
        ):
            self.stopped_at_page = full.view.latest.page_index + 1
            self.needed_bytes = kv.allocated_bytes
            full.stop()


def result_card(sparse: JobView, full: JobView, agreement: float | None) -> dict[str, Any]:
    """The figures of both lanes side by side; None where something was not measured."""
    first, second = _figures(sparse), _figures(full)
    peaks = first["peak_kv_bytes"], second["peak_kv_bytes"]
    ratio = peaks[1] / peaks[0] if peaks[0] and peaks[1] else None
    both = _read_well(sparse) & _read_well(full)
    return {
        "sparse": first,
        "full": second,
        "kv_ratio": ratio,
        "agreement": agreement,
        "agreed_pages": len(both),  # the pages that the share of words is of
        "total_pages": sparse.num_pages_total,
    }


def _read_well(view: JobView) -> set[int]:
    return {page.page_index for page in view.finished if page.verdict.is_good}


def _figures(view: JobView) -> dict[str, float | int | None]:
    first_step_s, last_step_s = view.step_at_ends()
    return {
        "peak_kv_bytes": view.peak_kv_bytes,
        "first_step_s": first_step_s,
        "last_step_s": last_step_s,
        "tokens_per_s": view.latest.tokens_per_s if view.latest else None,
        "pages": len([page for page in view.finished if page.verdict.is_good]),
        "elapsed_s": view.end.elapsed_s if view.end else None,
    }


def agreement_of(pairs: Iterable[tuple[PageResult, PageResult]]) -> float | None:
    """Share of words both readings have in common over all pages that both finished; None without such a
    page.
    """
    same = total = 0.0
    for first, second in pairs:
        if first.verdict.is_good and second.verdict.is_good:
            diff = page_diff(first.markdown, second.markdown)
            same += diff.agreement * diff.num_words
            total += diff.num_words
    return same / total if total else None
