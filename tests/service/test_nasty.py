"""Every hard file over HTTP: refused with the status of its error, or taken; the workers stay alive."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from ocr_app.config import LoaderConfig
from ocr_app.models.base import READERS
from ocr_app.types import PageReading, TextDelta, Verdict
from tests.document.test_nasty import NASTY, PASSWORD, READ, REFUSED
from tests.service.conftest import serving
from tests.service.support import over


class LineReader:
    """A reader that writes one line for each page and knows nothing of what is on it."""

    def prepare(self, image):
        return Prepared(image)

    def read(self, page, should_stop):
        text = f"page {page.image.page_number}"
        yield TextDelta(page.image.page_index, text)
        yield PageReading(Verdict.OK, (), text, num_tokens=2)

    def close(self):
        pass


class Prepared:
    runs = ()
    figures = ()
    num_reuse_hits = num_reuse_lookups = 0

    def __init__(self, image):
        self.image = image


def open_line_reader(_config):
    return LineReader()


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory):
    READERS["line"] = "tests.service.test_nasty:open_line_reader"
    folder = tmp_path_factory.mktemp("nasty")
    loader = LoaderConfig(dpi=50, max_pixels=300_000)
    try:
        with serving(folder, is_scripted=False, loader=loader, workers=2, quick_workers=0) as one:
            yield one
    finally:
        del READERS["line"]


def test_every_hard_file_is_taken_or_refused_with_its_status(running):
    names = sorted(READ.keys() | REFUSED.keys())
    with ThreadPoolExecutor(2) as pool:  # opening a file is a process of its own: two cores, two at a time
        answers = dict(zip(names, pool.map(lambda name: sent(running, name), names), strict=True))
    for name, error in REFUSED.items():
        answer = answers[name] if name not in READ else sent(running, name, with_password=False)
        assert answer.status_code == error.http_status, (name, answer.text)
        assert answer.json()["error"]["type"] == error.__name__
        assert str(NASTY) not in answer.text
    for name, expected in READ.items():
        assert answers[name].status_code == 202, (name, answers[name].text)
        job = over(running.service, running.service.store.job(answers[name].json()["id"]), timeout_s=60)
        assert job.num_done == expected.num_pages
        failed = {page.page_number for page in running.service.store.results(job) if page.verdict == "failed"}
        assert failed == expected.failed
        assert job.state == ("done_with_warnings" if failed else "done")
    assert running.client().get("/readyz").status_code == 200


def sent(running, name: str, *, with_password: bool = True) -> httpx.Response:
    password = READ[name].password if with_password and name in READ else None
    form = {"model": "line", **({"password": password} if password else {})}
    with httpx.Client(base_url=running.url, timeout=60) as client:
        return client.post("/v1/jobs", files={"file": (name, (NASTY / name).read_bytes())}, data=form)


def test_a_wrong_password_is_told_and_never_stored(running):
    file = ("enc.pdf", (NASTY / "enc-user-password-aes128.pdf").read_bytes())
    answer = running.client().post("/v1/jobs", files={"file": file}, data={"password": PASSWORD + "no"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "WrongPasswordError")
    folder = Path(running.service.folder.path)
    stored = b"".join(path.read_bytes() for path in folder.glob("jobs.sqlite*"))
    assert PASSWORD.encode() not in stored
