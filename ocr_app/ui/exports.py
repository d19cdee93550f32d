"""The files a person takes away from a job: Markdown, JSON with boxes, HTML, ZIP and the report of the
run.
"""

from collections.abc import Callable
from pathlib import Path, PurePosixPath

from ocr_app.document.output import document_html, document_json, document_markdown, document_zip
from ocr_app.ui.jobs import Job
from ocr_app.ui.report import report_html

MAX_STEM_BYTES = 160


def _markdown(job: Job, path: Path) -> None:
    path.write_text(document_markdown(job.lanes[0].store, furniture=job.has_furniture), encoding="utf-8")


def _json(job: Job, path: Path) -> None:
    path.write_text(document_json(job.lanes[0].store, source=job.name), encoding="utf-8")


def _html(job: Job, path: Path) -> None:
    path.write_text(
        document_html(job.lanes[0].store, title=job.name, furniture=job.has_furniture), encoding="utf-8"
    )


def _zip(job: Job, path: Path) -> None:
    store = job.lanes[0].store
    pages = document_zip(store, source=job.name, figures=store.figures(), furniture=job.has_furniture)
    path.write_bytes(pages)


def _report(job: Job, path: Path) -> None:
    path.write_text(report_html(job), encoding="utf-8")


EXPORTS: dict[str, tuple[str, Callable[[Job, Path], None]]] = {
    "markdown": (".md", _markdown),
    "json": (".json", _json),
    "html": (".html", _html),
    "zip": (".zip", _zip),
    "report": (".report.html", _report),
}


def write_exports(job: Job, *, furniture: bool = False) -> dict[str, Path]:
    """Write all files into the job's folder, once for each choice of running heads."""
    if job.exports and job.has_furniture is furniture:
        return job.exports
    job.has_furniture = furniture
    folder = job.lanes[0].store.folder / "exports"
    folder.mkdir(exist_ok=True)
    written = {}
    for name, (suffix, write) in EXPORTS.items():
        written[name] = folder / f"{safe_stem(job.name)}{suffix}"
        write(job, written[name])
    job.exports = written
    return written


def safe_stem(name: str) -> str:
    """The name of an upload without its ending and without what a file system might take for a path."""
    stem = PurePosixPath(name.replace("\\", "/")).stem
    kept = "".join(char if char.isalnum() or char in " -_." else "_" for char in stem).strip(" .")
    return kept.encode()[:MAX_STEM_BYTES].decode("utf-8", "ignore") or "document"
