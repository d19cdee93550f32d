"""The points of the charts: counters over time, thinned so that a day-long job has as many points as a short
one.

Thinning merges neighbours and keeps the larger value, so that no peak is lost. Knows nothing of Plotly.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from ocr_app.types import Telemetry

MAX_POINTS = 500


@dataclass(frozen=True, slots=True)
class Point:
    """Counters at one moment. None means not measured."""

    time_s: float
    page_number: int
    allocated_bytes: int | None = None
    live_bytes: int | None = None
    attended_tokens: int | None = None
    device_bytes: tuple[int | None, ...] = ()

    @classmethod
    def of(cls, sample: Telemetry) -> "Point":
        kv = sample.kv
        return cls(
            time_s=sample.time_s,
            page_number=sample.page_index + 1,
            allocated_bytes=kv.allocated_bytes if kv else None,
            live_bytes=kv.live_bytes if kv else None,
            attended_tokens=kv.attended_tokens if kv else None,
            device_bytes=tuple(device.used_bytes for device in sample.devices),
        )

    def merged(self, later: "Point") -> "Point":
        """One point in place of two: the later moment, the larger of each counter."""
        width = max(len(self.device_bytes), len(later.device_bytes))
        return Point(
            time_s=later.time_s,
            page_number=later.page_number,
            allocated_bytes=larger(self.allocated_bytes, later.allocated_bytes),
            live_bytes=larger(self.live_bytes, later.live_bytes),
            attended_tokens=larger(self.attended_tokens, later.attended_tokens),
            device_bytes=tuple(
                larger(_at(self.device_bytes, i), _at(later.device_bytes, i)) for i in range(width)
            ),
        )


@dataclass(slots=True)
class Series:
    """At most `limit` points; each stands for `stride` samples, the last one for those since."""

    limit: int = MAX_POINTS
    stride: int = 1
    points: list[Point] = field(default_factory=list)
    _in_last: int = 0  # samples merged into the last point so far

    def add(self, point: Point) -> None:
        if self.points and self._in_last < self.stride:
            self.points[-1] = self.points[-1].merged(point)
            self._in_last += 1
            return
        if len(self.points) >= self.limit:
            self._halve()
        self.points.append(point)
        self._in_last = 1

    def copy(self) -> "Series":
        """The same points, safe from those still to come."""
        return Series(self.limit, self.stride, list(self.points), self._in_last)

    def _halve(self) -> None:
        pairs = [self.points[i : i + 2] for i in range(0, len(self.points), 2)]
        self.points = [pair[0].merged(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
        self.stride *= 2

    def by_page(self) -> list[Point]:
        """One point a page: its largest values. What was merged over several pages counts for the last of
        them.
        """
        pages: dict[int, Point] = {}
        for point in self.points:
            known = pages.get(point.page_number)
            pages[point.page_number] = known.merged(point) if known else point
        return [pages[number] for number in sorted(pages)]


def peak(values: Iterable[int | None]) -> int | None:
    """The largest measured value, None if none was measured."""
    return max((value for value in values if value is not None), default=None)


def larger(first: int | None, second: int | None) -> int | None:
    return peak((first, second))


def _at(values: tuple[int | None, ...], index: int) -> int | None:
    return values[index] if index < len(values) else None
