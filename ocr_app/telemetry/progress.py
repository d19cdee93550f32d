"""How fast a document goes: when a reading is due, rates, and the time left."""

import math
from collections import deque
from dataclasses import dataclass

MAX_SAMPLES_PER_S = 4
WINDOW_PAGES = 32  # pages behind a rate: enough for a spread, few enough to follow a change of pace
WINDOW_S = 5.0  # seconds behind tokens per second
Z_80_PCT = 1.2816  # four of five times the truth lies between the low and the high estimate


class Throttle:
    """Says at most `per_s` times a second that a reading is due."""

    def __init__(self, per_s: float = MAX_SAMPLES_PER_S) -> None:
        self._interval_s = 1 / per_s
        self._next_s = -math.inf

    def is_due(self, now_s: float) -> bool:
        return now_s >= self._next_s

    def mark(self, now_s: float) -> None:
        self._next_s = now_s + self._interval_s


@dataclass(frozen=True, slots=True)
class TimeLeft:
    """Seconds until the last page is done. Low and high are None until two pages show a spread."""

    expected_s: float
    low_s: float | None = None
    high_s: float | None = None


class Progress:
    """Rates and time left, from what was measured: seconds per page over the latest pages, tokens over the
    latest seconds.
    """

    def __init__(self, num_pages_total: int, begin_s: float = 0.0) -> None:
        """`begin_s`: when reading began; opening the file and loading the model before it say nothing about
        the pages to come.
        """
        self.num_pages_total = num_pages_total
        self.num_pages_done = 0
        self._last_page_s = begin_s
        self._page_durations: deque[float] = deque(maxlen=WINDOW_PAGES)
        self._token_counts: deque[tuple[float, int]] = deque()

    def page_done(self, time_s: float) -> None:
        """Count a page as finished at `time_s` since the job began."""
        self._page_durations.append(time_s - self._last_page_s)
        self._last_page_s = time_s
        self.num_pages_done += 1

    def tokens_written(self, time_s: float, num_tokens: int) -> None:
        """Note how many tokens the document has at `time_s`."""
        self._token_counts.append((time_s, num_tokens))
        while len(self._token_counts) > 2 and time_s - self._token_counts[1][0] > WINDOW_S:
            self._token_counts.popleft()

    @property
    def pages_per_s(self) -> float | None:
        total_s = sum(self._page_durations)
        return len(self._page_durations) / total_s if total_s > 0 else None

    @property
    def tokens_per_s(self) -> float | None:
        if len(self._token_counts) < 2:
            return None
        (first_s, first), (last_s, last) = self._token_counts[0], self._token_counts[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None

    def time_left(self) -> TimeLeft | None:
        """Time for the pages still to come, as long as the latest ones took, with the range that holds four
        times of five.
        """
        num_seen = len(self._page_durations)
        if not num_seen:
            return None
        num_left = self.num_pages_total - self.num_pages_done
        mean_s = sum(self._page_durations) / num_seen
        expected_s = num_left * mean_s
        if num_seen < 2:
            return TimeLeft(expected_s)
        variance = sum((duration - mean_s) ** 2 for duration in self._page_durations) / (num_seen - 1)
        # two doubts add up: each page to come differs from the mean, and the mean itself is known from
        # num_seen pages only
        spread_s = Z_80_PCT * math.sqrt(variance * (num_left + num_left**2 / num_seen))
        return TimeLeft(expected_s, max(0.0, expected_s - spread_s), expected_s + spread_s)
