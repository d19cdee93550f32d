"""The HTTP API over real connections: a job from upload to deletion."""

import io
import json
import threading
import zipfile

import httpx
import pytest

from ocr_app.errors import NoSuchJobError, ServerUnreachableError
from ocr_app.service.client import Client, parse_events
from tests.service import scripted
from tests.service.support import wait_until


def send(client: httpx.Client, marker: str, num_pages: int, *, name: str = "a.pdf", told=None, **form):
    data = scripted.document(marker, num_pages, **(told or {}))
    return client.post("/v1/jobs", files={"file": (name, data)}, data=form)


def ended(client: httpx.Client, job: dict) -> dict:
    wait_until(lambda: client.get(f"/v1/jobs/{job['id']}").json()["finished_at"])
    return client.get(f"/v1/jobs/{job['id']}").json()


def test_a_job_from_upload_to_deletion(serve):
    client = serve().client()
    answer = send(client, "letter", 3, name="Brief.pdf", pages="1,3")
    assert answer.status_code == 202
    job = answer.json()
    assert answer.headers["location"] == f"/v1/jobs/{job['id']}"
    job = ended(client, job)
    assert (job["state"], job["num_pages"], job["num_pages_done"]) == ("done", 2, 2)
    assert job["verdict_counts"] == {"ok": 2}
    at = f"/v1/jobs/{job['id']}"
    assert [page["page_number"] for page in client.get(f"{at}/pages").json()["pages"]] == [1, 3]
    assert client.get(f"{at}/pages/3").json()["markdown"] == "letter page 3"
    assert client.get(f"{at}/pages/2").status_code == 404
    assert client.get(f"{at}/result").text == "letter page 1\n\nletter page 3\n"
    told = client.get(f"{at}/result", params={"format": "json"}).json()
    assert (told["source"], told["page_count"]) == ("Brief.pdf", 2)
    html = client.get(f"{at}/result", params={"format": "html"})
    assert "letter page 3" in html.text
    assert "sandbox" in html.headers["content-security-policy"]
    archive = zipfile.ZipFile(io.BytesIO(client.get(f"{at}/result", params={"format": "zip"}).content))
    assert "document.md" in archive.namelist()
    assert [one["id"] for one in client.get("/v1/jobs").json()["jobs"]] == [job["id"]]
    assert client.delete(at).status_code == 204
    assert client.get(at).status_code == 404


def test_a_running_job_shows_what_there_is_and_can_be_cancelled(serve):
    client = serve(quick_workers=0).client()
    job = send(client, "book", 60, told={"page_s": 0.03}).json()
    wait_until(lambda: client.get(f"/v1/jobs/{job['id']}").json()["num_pages_done"] >= 2)
    at = f"/v1/jobs/{job['id']}"
    waiting = send(client, "next", 1).json()
    assert client.get(f"/v1/jobs/{waiting['id']}").json()["place_in_queue"] == 1
    assert client.get(f"/v1/jobs/{waiting['id']}").json()["eta_s"] > 0
    assert client.get(f"{at}/result").status_code == 409
    assert client.get(f"{at}/pages/60").status_code == 409
    assert client.delete(at).status_code == 409
    assert client.get(f"{at}/result?so_far=true").text.startswith("book page 1\n\nbook page 2")
    client.post(f"{at}/cancel")
    assert ended(client, job)["state"] == "cancelled"
    assert client.post(f"{at}/cancel").status_code == 409
    assert ended(client, waiting)["state"] == "done"


def test_events_go_on_where_a_client_broke_off(serve):
    client = serve().client()
    job = send(client, "book", 25, told={"page_s": 0.02}).json()
    first = []
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for event in parse_events(answer.iter_lines()):
            first.append(event)
            if event.kind == "page" and event.values["page_number"] == 3:
                break
    last = max(event.number for event in first if event.number)
    with client.stream("GET", f"/v1/jobs/{job['id']}/events", headers={"Last-Event-ID": str(last)}) as answer:
        rest = list(parse_events(answer.iter_lines()))
    numbers = [event.number for event in first + rest if event.number]
    assert numbers == list(range(1, 29))  # queued, running, 25 pages, done
    pages = [event.values["markdown"] for event in first + rest if event.kind == "page"]
    assert pages == [scripted.page_text("book", index) for index in range(25)]
    assert rest[-1].values == {"state": "done"}


def test_text_comes_before_its_page_is_finished(serve):
    running = serve()
    running.service.live.begin_page("x", 0)  # another job's text must not be seen
    running.service.live.add("x", "secret")
    client = running.client()
    job = send(client, "book", 3, told={"page_s": 0.1}).json()
    running.service.live.begin_page(job["id"], 0)
    running.service.live.add(job["id"], "half a line")
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as answer:
        events = list(parse_events(answer.iter_lines()))
    texts = [event for event in events if event.kind == "text"]
    assert "half a line" in "".join(event.values["text"] for event in texts)
    assert all(event.number is None for event in texts)
    assert "secret" not in json.dumps([event.values for event in events])


def test_watching_ends_when_the_job_is_deleted_under_the_watcher(serve):
    running = serve()
    client = running.client()
    job = ended(client, send(client, "a", 400).json())
    with client.stream("GET", f"/v1/jobs/{job['id']}/events") as answer:
        lines = answer.iter_lines()
        next(lines)
        running.service.delete(job["id"])
        assert sum(line.startswith("event: page") for line in lines) <= 400
    assert client.get("/livez").status_code == 200


def test_twenty_clients_at_once_get_their_own_texts(serve):
    running = serve(workers=3, max_running_jobs_per_key=5)
    wrong = []

    def one(number: int) -> None:
        with Client(running.url) as client:
            import tempfile
            from pathlib import Path

            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "x.pdf"
                file.write_bytes(scripted.document(f"client{number}", 5, page_s=0.002))
                job = client.submit(file)
            pages = [e.values["markdown"] for e in client.watch(job["id"]) if e.kind == "page"]
            if pages != [scripted.page_text(f"client{number}", index) for index in range(5)]:
                wrong.append(pages)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_the_client_raises_the_errors_of_the_service(serve):
    with Client(serve().url) as client, pytest.raises(NoSuchJobError, match="no such job"):
        client.job("nothing")
    with Client("http://127.0.0.1:9") as client, pytest.raises(ServerUnreachableError):
        client.jobs()


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({"pages": "9-"}, 422),
        ({"pages": "x"}, 422),
        ({"model": "no-such-model"}, 422),
        ({"url": "http://example.org/a.pdf"}, 422),
        ({"furniture": "perhaps"}, 422),
    ],
)
def test_wrong_requests_are_refused_with_a_reason(serve, form, status):
    answer = send(serve().client(), "letter", 3, **form)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


@pytest.mark.parametrize(
    "name",
    [
        *("../../etc/passwd", "..\\..\\x.pdf", "C:\\x.pdf", "a\x00b.pdf", "CON.pdf", "-rf.pdf", "x" * 300),
        *("\u202efdp.exe", "报告’🚀.pdf", "<img src=x>.pdf", ".", "a\nb.pdf"),
    ],
)
def test_hostile_names_stay_names(serve, name, tmp_path):
    from ocr_app.service.intake import shown_name

    shown = shown_name(name)
    assert shown
    assert not set(shown) & set('<>:"/\\|?*\x00\n\u202e')
    assert len(shown) <= 120
    assert shown not in (".", "..")


def test_ready_says_why_not_and_metrics_count(serve):
    running = serve(max_queued=1, workers=1, quick_workers=0)
    client = running.client()
    assert client.get("/livez").text == "ok\n"
    assert client.get("/readyz").status_code == 200
    job = send(client, "a", 100, told={"page_s": 0.05}).json()
    wait_until(lambda: client.get(f"/v1/jobs/{job['id']}").json()["state"] == "running")
    wait_until(lambda: client.get(f"/v1/jobs/{job['id']}").json()["num_pages_done"] > 0)
    send(client, "b", 1)
    answer = client.get("/readyz")
    assert (answer.status_code, answer.json()["ready"]) == (503, False)
    assert "queue is full" in answer.json()["reason"]
    assert send(client, "c", 1).status_code == 429
    text = client.get("/metrics").text
    assert 'longscribe_jobs{state="running"} 1.0' in text
    assert 'longscribe_pages_total{verdict="ok"}' in text
    assert 'longscribe_kv_bytes{kind="allocated"} 4096.0' in text
    assert 'longscribe_errors_total{type="TooManyRequestsError"} 1.0' in text
    client.post(f"/v1/jobs/{job['id']}/cancel")
    running.service.workers.fatal = "The device reported an error."
    assert client.get("/readyz").json()["reason"] == "The device reported an error."
