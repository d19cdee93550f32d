"""Every hard file over HTTP: refused with the status of its error, or taken; the workers stay alive."""

from pathlib import Path

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


@pytest.mark.parametrize("name", sorted(READ.keys() | REFUSED.keys()))
def test_hard_files_over_http(running, name):
    client = running.client()
    for password in {None, READ[name].password if name in READ else None}:
        form = {"model": "line", **({"password": password} if password else {})}
        answer = client.post("/v1/jobs", files={"file": (name, (NASTY / name).read_bytes())}, data=form)
        if name in REFUSED and password is None:
            assert answer.status_code == REFUSED[name].http_status, answer.text
            assert answer.json()["error"]["type"] == REFUSED[name].__name__
            assert str(NASTY) not in answer.text
        else:
            assert answer.status_code == 202, answer.text
            expected = READ[name]
            job = over(running.service, running.service.store.job(answer.json()["id"]), timeout_s=30)
            assert job.num_done == expected.num_pages
            failed = {r.page_number for r in running.service.store.results(job) if r.verdict == "failed"}
            assert failed == expected.failed
            assert job.state == ("done_with_warnings" if failed else "done")
    assert client.get("/readyz").status_code == 200


def test_a_wrong_password_is_told_and_never_stored(running):
    file = ("enc.pdf", (NASTY / "enc-user-password-aes128.pdf").read_bytes())
    answer = running.client().post("/v1/jobs", files={"file": file}, data={"password": PASSWORD + "no"})
    assert (answer.status_code, answer.json()["error"]["type"]) == (403, "WrongPasswordError")
    folder = Path(running.service.folder.path)
    stored = b"".join(path.read_bytes() for path in folder.glob("jobs.sqlite*"))
    assert PASSWORD.encode() not in stored
