"""Counters for Prometheus, in a registry of the service's own. A counter that was not measured is absent."""

from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from ocr_app.errors import OutOfMemoryError
from ocr_app.service.records import JobState
from ocr_app.types import PageResult, Telemetry

PAGE_BUCKETS_S = (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 300)
STEP_BUCKETS_S = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1)
REQUEST_BUCKETS_S = (0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30)


class Metrics:
    """What happened since the process began, and how things stand."""

    def __init__(self, job_counts: Callable[[], dict[JobState, int]]) -> None:
        registry = self.registry = CollectorRegistry()
        registry.register(_JobStates(job_counts))
        self._pages = Counter("longscribe_pages", "Pages finished", ["verdict"], registry=registry)
        self._tokens = Counter("longscribe_tokens", "Output tokens of finished pages", registry=registry)
        self._over = Counter("longscribe_jobs_over", "Jobs ended", ["state"], registry=registry)
        self._errors = Counter(
            "longscribe_errors", "Errors of jobs and requests", ["type"], registry=registry
        )
        self._oom = Counter("longscribe_out_of_memory", "Times memory was used up", registry=registry)
        self._page_s = Histogram(
            "longscribe_page_seconds",
            "Encoding and decoding a page",
            buckets=PAGE_BUCKETS_S,
            registry=registry,
        )
        self._step_s = Histogram(
            "longscribe_step_seconds",
            "A decode step, as sampled",
            buckets=STEP_BUCKETS_S,
            registry=registry,
        )
        self._request_s = Histogram(
            "longscribe_request_seconds",
            "Answering a request, without watching a job",
            ["method", "status"],
            buckets=REQUEST_BUCKETS_S,
            registry=registry,
        )
        self._kv = Gauge("longscribe_kv_bytes", "KV cache", ["kind"], registry=registry)
        self._attended = Gauge("longscribe_kv_attended_tokens", "Read by the last step", registry=registry)
        self._memory = Gauge("longscribe_device_memory_bytes", "Memory in use", ["device"], registry=registry)
        self._total = Gauge("longscribe_device_memory_total_bytes", "Its size", ["device"], registry=registry)
        self._process = Gauge("longscribe_process_bytes", "Memory of this process", registry=registry)
        self._hits = Gauge("longscribe_reuse_hits", "Repeated lines, job read last", registry=registry)
        self._lookups = Gauge("longscribe_reuse_lookups", "Lines looked up, same job", registry=registry)

    def page(self, result: PageResult) -> None:
        self._pages.labels(result.verdict.value).inc()
        self._tokens.inc(result.num_tokens)
        self._page_s.observe(result.encode_s + result.decode_s)

    def job_over(self, state: JobState) -> None:
        self._over.labels(state.value).inc()

    def error(self, error: BaseException) -> None:
        self._errors.labels(type(error).__name__).inc()
        if isinstance(error, OutOfMemoryError):
            self._oom.inc()

    def request(self, method: str, status: int, elapsed_s: float) -> None:
        self._request_s.labels(method, str(status)).observe(elapsed_s)

    def telemetry(self, sample: Telemetry) -> None:
        if sample.kv is not None:
            for kind in ("allocated", "live"):
                value = getattr(sample.kv, f"{kind}_bytes")
                if value is not None:
                    self._kv.labels(kind).set(value)
            if sample.kv.attended_tokens is not None:
                self._attended.set(sample.kv.attended_tokens)
            if sample.kv.step_s is not None:
                self._step_s.observe(sample.kv.step_s)
        for device in sample.devices:
            if device.used_bytes is not None:
                self._memory.labels(device.label).set(device.used_bytes)
            if device.total_bytes is not None:
                self._total.labels(device.label).set(device.total_bytes)
        if sample.process_bytes is not None:
            self._process.set(sample.process_bytes)
        self._hits.set(sample.num_reuse_hits)
        self._lookups.set(sample.num_reuse_lookups)

    def text(self) -> bytes:
        return generate_latest(self.registry)


class _JobStates(Collector):
    """Jobs by state, counted when somebody asks."""

    def __init__(self, job_counts: Callable[[], dict[JobState, int]]) -> None:
        self._job_counts = job_counts

    def describe(self) -> list[Metric]:
        return []

    def collect(self) -> Iterator[Metric]:
        family = GaugeMetricFamily("longscribe_jobs", "Jobs in the store", labels=["state"])
        for state, number in self._job_counts().items():
            family.add_metric([state.value], number)
        yield family
