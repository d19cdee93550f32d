"""What the browser asks for while a person looks around: texts, pictures, thumbnails, search. One function a
question.

A question names its job by the job's token and gets nothing without it. Answers are plain JSON values.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from typing import Any

from ocr_app.document.output import document_markdown, result_markdown
from ocr_app.types import PageResult
from ocr_app.ui.diffing import page_diff
from ocr_app.ui.jobs import Job, Lane, Visits
from ocr_app.ui.messages import page_line
from ocr_app.ui.rendering import page_html

MAX_PAGES_AN_ANSWER = 12
MAX_FINDS = 200
CONTEXT_CHARS = 40


def answer(visits: Visits, question: Any) -> Any:
    """Answer one question of a browser; None for a job that is gone or a question that is not understood."""
    if not isinstance(question, Mapping):
        return None
    job = visits.job(str(question.get("job", "")))
    reply = ANSWERS.get(str(question.get("what", "")))
    return reply(job, question) if job and reply else None


def _texts(job: Job, question: Mapping[str, Any]) -> list[dict[str, Any]]:
    """HTML and Markdown of finished pages of one lane; with `diff`, the differences to the other lane
    instead.
    """
    lane = _lane(job, question)
    other = next((known for known in job.lanes if known is not lane), None) if question.get("diff") else None
    results = (lane.store.result(index) for index in _indices(question))
    return [_text(result, lane, other) for result in results if result]


def _text(result: PageResult, lane: Lane, other: Lane | None) -> dict[str, Any]:
    text = {"page": result.page_index, "html": page_html(result), "raw": result.markdown}
    text["furnished"] = result_markdown(result, furniture=True)
    if other is not None:
        text["html"] = _diff_html(result, lane, other)
    return text


def _diff_html(result: PageResult, lane: Lane, other: Lane) -> str:
    theirs = other.store.result(result.page_index)
    if theirs is None:
        return f"<pre>{escape(result.markdown)}</pre>"
    if lane.mode == "full":
        return f"<pre>{page_diff(theirs.markdown, result.markdown).second_html}</pre>"
    return f"<pre>{page_diff(result.markdown, theirs.markdown).first_html}</pre>"


def _picture(job: Job, question: Mapping[str, Any]) -> dict[str, Any] | None:
    """The image of one page with the boxes of its runs and what the page is about to say."""
    indices = _indices(question)
    picture = job.lanes[0].store.picture(indices[0]) if indices else None
    if picture is None:
        return None
    source, size, boxes = picture
    return {"page": indices[0], "source": source, "size": size, "boxes": boxes}


def _thumbnails(job: Job, question: Mapping[str, Any]) -> list[list[Any]]:
    thumbs = [[index, job.lanes[0].store.thumbnail(index)] for index in _indices(question)]
    return [[index, source] for index, source in thumbs if source]


def _pages(job: Job, question: Mapping[str, Any]) -> list[list[Any]]:
    """The list of finished pages from `base` on, for a browser that missed a message."""
    lane = _lane(job, question)
    with lane.lock:
        return [page_line(page) for page in lane.view.finished[_number(question.get("base")) :]]


def _current(job: Job, question: Mapping[str, Any]) -> dict[str, Any] | None:
    """The whole text of the page being read."""
    lane = _lane(job, question)
    with lane.lock:
        current = lane.view.current
        return {"page": current.page_index, "raw": current.text} if current else None


def _search(job: Job, question: Mapping[str, Any]) -> list[list[Any]]:
    """Where a text occurs: page index and the words around it, without regard to case."""
    wanted = str(question.get("text", "")).strip()
    return list(_finds(_lane(job, question), wanted)) if wanted else []


def _finds(lane: Lane, wanted: str) -> Iterator[list[Any]]:
    pattern = re.compile(r"\s+".join(map(re.escape, wanted.split())), re.IGNORECASE)
    num_left = MAX_FINDS
    for result in lane.store.results():
        text = "\n".join(region.text for region in result.regions) or result.markdown
        for match in pattern.finditer(text):
            if num_left == 0:
                return
            num_left -= 1
            start, end = max(0, match.start() - CONTEXT_CHARS), match.end() + CONTEXT_CHARS
            yield [result.page_index, text[start : match.start()], match.group(), text[match.end() : end]]


def _markdown(job: Job, question: Mapping[str, Any]) -> str:
    """The whole document, to be copied, with running heads where they are shown."""
    return document_markdown(_lane(job, question).store, furniture=question.get("furniture") is True)


ANSWERS: dict[str, Callable[[Job, Mapping[str, Any]], Any]] = {
    "texts": _texts,
    "picture": _picture,
    "thumbnails": _thumbnails,
    "pages": _pages,
    "current": _current,
    "search": _search,
    "markdown": _markdown,
}


def _lane(job: Job, question: Mapping[str, Any]) -> Lane:
    return job.lanes[min(_number(question.get("lane")), len(job.lanes) - 1)]


def _indices(question: Mapping[str, Any]) -> list[int]:
    asked = question.get("pages")
    return [_number(index) for index in asked[:MAX_PAGES_AN_ANSWER]] if isinstance(asked, list) else []


def _number(value: Any) -> int:
    """A whole number from 0 up; whatever else a browser sends counts as 0."""
    return max(0, value) if isinstance(value, int) else 0
