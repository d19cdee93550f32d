"""Who comes next, and when. A job has a rank from the moment it comes; the least rank goes first.

The rank is the time of arrival plus a handicap between 0 and `overtake_s`: all of it for a long document, and
for any document a share for each job its owner has open already. So a short document overtakes long ones, a
person with one document overtakes a person with fifty, and nobody starves: a document can be overtaken only
by documents that came less than `overtake_s` after it, because any later one has a greater rank whatever its
handicap.
"""

import threading
from collections.abc import Iterable

OPEN_JOB_SHARE = 0.05  # of overtake_s, for each job the owner has open
PACE_SHARE = 0.1  # of a new measurement in the mean


def rank(created_s: float, *, is_short: bool, num_open_of_owner: int, overtake_s: float) -> float:
    share = OPEN_JOB_SHARE * num_open_of_owner + (0.0 if is_short else 1.0)
    return created_s + overtake_s * min(1.0, share)


class Pace:
    """Seconds a page takes, measured; None before the first page."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._page_s: float | None = None

    @property
    def page_s(self) -> float | None:
        return self._page_s

    def page_done(self, elapsed_s: float) -> None:
        with self._lock:
            mean = self._page_s
            self._page_s = elapsed_s if mean is None else mean + PACE_SHARE * (elapsed_s - mean)

    def eta_s(self, num_own_pages: int, num_pages_ahead: Iterable[int], num_workers: int) -> float | None:
        """Seconds until a job is over, when the pages ahead of it are shared by the workers."""
        if self._page_s is None:
            return None
        return self._page_s * (sum(num_pages_ahead) / max(1, num_workers) + num_own_pages)
