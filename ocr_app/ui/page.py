"""The page: what happens when a person presses something. Built once; everything that belongs to a person is
in their Visit.

The reading event is a generator that sends a message at most four times a second. When the tab is closed,
Gradio closes the generator and its `finally` stops the job; the Cancel button sets the same flag from an
event outside the queue.
"""

import json
import logging
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gradio as gr
import psutil

from ocr_app.config import AppConfig
from ocr_app.errors import ConfigError
from ocr_app.ui import layout, settings
from ocr_app.ui.answers import answer
from ocr_app.ui.charts import FULL_COLOUR, SPARSE_COLOUR, ChartWords, Curve, kv_figure, memory_figure
from ocr_app.ui.compare import Comparison, Order
from ocr_app.ui.exports import EXPORTS, write_exports
from ocr_app.ui.jobs import Job, Lane, Parse, Visit, Visits
from ocr_app.ui.messages import Messages
from ocr_app.ui.settings import GIB, Choices
from ocr_app.ui.text import LANGUAGES, in_language

logger = logging.getLogger(__name__)

TICK_S = 0.25  # between messages
CHART_EVERY = 2  # charts go with every second message
DELETE_CACHE_S = (
    600,
    6 * 3600,
)  # how often Gradio's own copies of files are looked through, and the age at which they go
MAX_WAITING = 16

Outputs = tuple[Any, ...]


class App:
    """Handlers of the page's events."""

    def __init__(self, config: AppConfig, parse: Parse, example: Path | None) -> None:
        self.config = config
        self.visits = Visits()
        self._parse = parse
        self._example = example

    # reading

    def read(
        self,
        request: gr.Request,
        files: list[str] | None,
        task: str,
        pages: str,
        password: str,
        order: str,
        limit: float,
        *switches: Any,
    ) -> Iterator[Outputs]:
        """Read the files one after another, or compare two readings of each."""
        visit = self.visits.of(request.session_hash)
        paths = [Path(file) for file in files or []]
        if not paths:
            yield self._notice(in_language(visit.language, "choose_file"))
            return
        try:
            configs = self._configs(task, Choices(*switches))
        except ConfigError as error:
            yield self._notice(str(error))
            return
        for path in paths:
            if not path.is_file():
                yield self._notice(in_language(visit.language, "no_upload"))
                return
            comparison = Comparison(round(limit * GIB), Order(order)) if task == "compare" else None
            job = self._job(path, configs, pages, password, comparison)
            yield from self._stream(job, visit)
            if visit.running is not job:  # stopped by the person, or the visit is over
                return

    def read_example(self, request: gr.Request, *values: Any) -> Iterator[Outputs]:
        yield from self.read(request, [str(self._example)], *values)

    def _configs(self, task: str, choices: Choices) -> list[AppConfig]:
        modes = ("sparse", "full") if task == "compare" else (self.config.reader.mode,)
        return [choices.to_config(self.config, mode) for mode in modes]

    def _job(
        self, path: Path, configs: list[AppConfig], pages: str, password: str, comparison: Comparison | None
    ) -> Job:
        def lane(config: AppConfig, is_first: bool) -> Lane:
            def parse(should_stop: Any) -> Any:
                return self._parse(
                    path,
                    config,
                    password=password or None,
                    pages=pages.strip() or None,
                    should_stop=should_stop,
                )

            return Lane(parse, config, keeps_pictures=is_first)

        return Job(
            path.name,
            path,
            [lane(config, position == 0) for position, config in enumerate(configs)],
            comparison,
        )

    def _stream(self, job: Job, visit: Visit) -> Iterator[Outputs]:
        """Messages of one job until it is over; closing the generator stops it."""
        visit.add(job)
        feed = Messages(job, visit)
        job.start()
        try:
            count = 0
            while not job.is_over:
                job.tick()
                yield self._outputs(
                    feed.message(), self._charts(job, visit) if count % CHART_EVERY == 0 else None
                )
                count += 1
                time.sleep(TICK_S)
            yield self._outputs(feed.message(), self._charts(job, visit), downloads=_no_downloads())
            if job.lanes[0].view.finished:
                yield self._outputs(None, None, downloads=self._downloads(job, visit))
        finally:
            job.stop()

    # outputs: message, two charts, downloads, password

    def _outputs(
        self,
        message: dict[str, Any] | None,
        charts: tuple[Any, Any] | None,
        downloads: list[Any] | None = None,
    ) -> Outputs:
        shown = _message(message) if message else gr.skip()
        drawn = charts or (gr.skip(), gr.skip())
        return (shown, *drawn, *(downloads or [gr.skip()] * len(EXPORTS)))

    def _notice(self, text: str) -> Outputs:
        return self._outputs({"notice": text, "at": time.monotonic()}, None)

    def _charts(self, job: Job, visit: Visit) -> tuple[Any, Any]:
        words = _chart_words(visit, job)
        colours = {"full": FULL_COLOUR}
        curves = []
        for lane in job.lanes:
            with lane.lock:
                name = in_language(visit.language, "lane_full" if lane.mode == "full" else "lane_sparse")
                curves.append(Curve(name, colours.get(lane.mode, SPARSE_COLOUR), lane.view.series.copy()))
        latest = next((lane.view.latest for lane in job.lanes if lane.view.latest), None)
        devices = latest.devices if latest else ()
        # lanes of one process share its memory, so the memory chart has one curve
        return kv_figure(curves, words, over_pages=visit.over_pages), memory_figure(
            curves[:1], devices, words, over_pages=visit.over_pages
        )

    def _downloads(self, job: Job, visit: Visit) -> list[Any]:
        try:
            written = write_exports(job, furniture=visit.furniture)
        except OSError:
            logger.exception("the files of a job could not be written")
            return _no_downloads()
        return [gr.update(value=str(written[name]), interactive=True) for name in EXPORTS]

    # looking around

    def cancel(self, request: gr.Request) -> None:
        visit = self.visits.of(request.session_hash)
        visit.stop()
        visit.running = None

    def open_job(self, event: gr.EventData, request: gr.Request) -> Outputs:
        """Show a job of this visit again."""
        visit = self.visits.of(request.session_hash)
        job = visit.jobs.get(str(event.job))
        if job is None:
            return self._notice(in_language(visit.language, "forgotten"))
        downloads = (
            self._downloads(job, visit) if job.is_over and job.lanes[0].view.finished else _no_downloads()
        )
        return self._outputs(Messages(job, visit).message(), self._charts(job, visit), downloads=downloads)

    def forget_job(self, event: gr.EventData, request: gr.Request) -> Outputs:
        """Remove a job and its files; the newest of the others takes its place."""
        visit = self.visits.of(request.session_hash)
        visit.forget(str(event.job))
        remaining = next(reversed(visit.jobs.values()), None)
        if remaining is None:
            return self._outputs(
                {"job": None, "is_closed": True, "jobs": []}, None, downloads=_no_downloads()
            )
        downloads = self._downloads(remaining, visit) if remaining.exports else _no_downloads()
        return self._outputs(
            Messages(remaining, visit).message(), self._charts(remaining, visit), downloads=downloads
        )

    def set_axis(self, axis: str, request: gr.Request) -> tuple[Any, Any]:
        visit = self.visits.of(request.session_hash)
        visit.over_pages = axis == "pages"
        job = next(reversed(visit.jobs.values()), None)
        return self._charts(job, visit) if job else (gr.skip(), gr.skip())

    def set_furniture(self, event: gr.EventData, request: gr.Request) -> list[Any]:
        """Running heads are wanted, or are not: the files of the job that is shown are written anew."""
        visit = self.visits.of(request.session_hash)
        visit.furniture = event.furniture is True
        job = visit.jobs.get(str(event.job))
        if job is None or not job.exports:
            return [gr.skip()] * len(EXPORTS)
        return self._downloads(job, visit)

    def set_language(self, labels: layout.Labels, event: gr.EventData, request: gr.Request) -> list[Any]:
        language = event.language if event.language in LANGUAGES else "en"
        self.visits.of(request.session_hash).language = language
        return labels.updates(language)

    def apply_preset(self, name: str) -> list[Any]:
        choices = settings.preset(name, self.config)
        return [getattr(choices, field) for field in Choices.__slots__]

    def check(self, *values: Any) -> str:
        """Why the switches cannot run together; empty when they can."""
        return settings.complaint(Choices(*values), self.config) or ""

    def close_visit(self, request: gr.Request) -> None:
        self.visits.close(request.session_hash)


def build_blocks(config: AppConfig, parse: Parse, example: Path | None) -> gr.Blocks:
    """The whole page, ready to be launched or mounted."""
    app = App(config, parse, example)

    def ask(question: Any) -> Any:
        return answer(app.visits, question)

    with gr.Blocks(
        title="Longscribe", analytics_enabled=False, delete_cache=DELETE_CACHE_S, fill_width=True
    ) as blocks:
        page = layout.build(config, limit_gib=default_limit_gib(), ask=ask)
        _wire(app, page)
        blocks.unload(app.close_visit)
    blocks.queue(max_size=MAX_WAITING, default_concurrency_limit=4)
    return blocks


def launch_options(config: AppConfig) -> dict[str, Any]:
    """What `launch` or `mount_gradio_app` must be told for this page."""
    return {
        "theme": layout.THEME,
        "head": layout.head(),
        "i18n": layout.I18N,
        "max_file_size": config.loader.max_file_bytes,
        "ssr_mode": False,
        "enable_monitoring": False,
        "footer_links": [],
    }


def default_limit_gib() -> float:
    """Half of the memory that is free now, in GiB: what a comparison may take without hurting its
    neighbours.
    """
    return round(max(0.1, psutil.virtual_memory().available / 2 / GIB), 1)


def _wire(app: App, page: layout.Page) -> None:
    outputs = [page.bridge, page.kv_chart, page.memory_chart, *page.downloads.values()]
    asked = [page.task, page.pages, page.password, page.order, page.limit, *page.switches]
    work = {
        "outputs": outputs,
        "show_progress": "hidden",
        "api_visibility": "private",
        "concurrency_id": "reading",
        "concurrency_limit": 2,
    }
    quick = {"show_progress": "hidden", "queue": False, "api_visibility": "private"}

    def set_language(event: gr.EventData, request: gr.Request) -> list[Any]:
        return app.set_language(page.labels, event, request)

    started = page.read.click(app.read, [page.files, *asked], **work)
    page.example.click(app.read_example, asked, **work)
    started.then(lambda: "", None, page.password, **quick)
    page.bridge.cancel(app.cancel, None, None, **quick)
    page.bridge.open(app.open_job, None, outputs, **quick)
    page.bridge.forget(app.forget_job, None, outputs, **quick)
    page.bridge.language(set_language, None, page.labels.components, **quick)
    page.bridge.furniture(app.set_furniture, None, list(page.downloads.values()), **quick)
    page.axis.change(app.set_axis, page.axis, [page.kv_chart, page.memory_chart], **quick)
    page.preset.input(app.apply_preset, page.preset, page.switches, **quick)
    gr.on(
        [switch.change for switch in page.switches],
        app.check,
        page.switches,
        page.complaint,
        trigger_mode="always_last",
        **quick,
    )


def _message(message: dict[str, Any]) -> str:
    # "<" as an escape: the text travels inside a component that warns of tags
    return json.dumps(message, ensure_ascii=False).replace("<", "\\u003c")


def _no_downloads() -> list[Any]:
    return [gr.update(value=None, interactive=False) for _ in EXPORTS]


def _chart_words(visit: Visit, job: Job) -> ChartWords:
    def say(key: str) -> str:
        return in_language(visit.language, key)

    return ChartWords(
        allocated=say("chart_allocated"),
        live=say("chart_live"),
        attended=say("chart_attended"),
        x_axis=say("x_pages" if visit.over_pages else "x_time"),
        # before the first page is done nothing is known of what a model measures
        unknown=say("chart_unknown") if any(lane.view.finished for lane in job.lanes) else "",
    )
