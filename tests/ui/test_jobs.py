"""Jobs of the page with a scripted document: messages, questions, stopping, comparison, files."""

import json
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ocr_app.config import AppConfig, ReaderConfig
from ocr_app.document.markdown_writer import page_markdown
from ocr_app.errors import PasswordRequiredError
from ocr_app.types import (
    DocumentFinished,
    Event,
    Outcome,
    PageFinished,
    PageResult,
    Piece,
    Region,
    RegionKind,
    Run,
    Verdict,
)
from ocr_app.ui.answers import answer
from ocr_app.ui.compare import Comparison, Order
from ocr_app.ui.exports import EXPORTS, safe_stem, write_exports
from ocr_app.ui.job_view import JobState, JobView
from ocr_app.ui.jobs import MAX_JOBS_A_VISIT, Job, Lane, Visit, Visits
from ocr_app.ui.messages import Messages
from tests.ui.scripted import PAGE_BYTES, POOL_BYTES, page_events, scripted_parse, words_of_page


def lane_of(num_pages: int, delay_s: float = 0.0, mode: str = "sparse", parse=None) -> Lane:
    config = AppConfig(reader=ReaderConfig(mode=mode))
    parse = parse or scripted_parse(num_pages, delay_s)
    return Lane(
        lambda should_stop: parse(Path("x.pdf"), config, should_stop=should_stop),
        config,
        keeps_pictures=mode == "sparse",
    )


def job_of(*lanes: Lane, comparison: Comparison | None = None, name: str = "scan.pdf") -> Job:
    return Job(name, Path(name), list(lanes), comparison)


def run(job: Job, each_tick=lambda: None, limit_s: float = 20.0) -> None:
    job.start()
    ends = time.monotonic() + limit_s
    while not job.is_over:
        assert time.monotonic() < ends, "the job did not end"
        job.tick()
        each_tick()
        time.sleep(0.005)


@pytest.fixture
def visit():
    visit = Visit()
    yield visit
    visit.close()


def test_messages_announce_every_page_once_and_add_up_to_the_text(visit: Visit):
    job = job_of(lane_of(5, 0.002))
    visit.add(job)
    feed = Messages(job, visit)
    announced: list[int] = []
    tails: dict[int, str] = {}

    def take():
        lane = feed.message()["lanes"][0]
        assert lane["base"] == len(announced)
        announced.extend(page[0] for page in lane["pages"])
        if lane["current"]:
            page = lane["current"]["page"]
            assert lane["current"]["base"] == len(tails.get(page, ""))
            tails[page] = tails.get(page, "") + lane["current"]["tail"]

    run(job, take)
    take()
    assert announced == [0, 1, 2, 3, 4]
    for page, text in tails.items():
        assert " ".join(words_of_page(page)).startswith(text)
    assert job.lanes[0].view.state is JobState.DONE


def test_messages_do_not_grow_with_the_document(visit: Visit):
    job = job_of(lane_of(400))
    visit.add(job)
    feed = Messages(job, visit)
    sizes = []
    for page_index in range(400):
        for event in page_events(page_index, 400):
            job.lanes[0].view.fold(event)
        sizes.append(len(json.dumps(feed.message())))
    assert max(sizes[300:]) < max(sizes[:20]) + 100
    assert max(sizes) < 4000


def test_base_counts_as_javascript_does(visit: Visit):
    from ocr_app.types import TextDelta

    job = job_of(lane_of(1))
    feed = Messages(job, visit)
    job.lanes[0].view.fold(TextDelta(0, "a\U0001f600"))
    assert feed.message()["lanes"][0]["current"]["base"] == 0
    job.lanes[0].view.fold(TextDelta(0, "b"))
    current = feed.message()["lanes"][0]["current"]
    assert (current["base"], current["tail"]) == (3, "b")
    job.close()


def test_stop_keeps_what_is_done_and_gives_every_page_a_record(visit: Visit):
    lane = lane_of(50, 0.004)
    job = job_of(lane)
    visit.add(job)
    run(job, lambda: visit.stop() if len(lane.view.finished) >= 2 else None)
    counts = lane.view.verdict_counts()
    assert lane.view.state is JobState.CANCELLED
    assert counts[Verdict.OK] >= 2
    assert counts[Verdict.OK] + counts[Verdict.CANCELLED] == 50
    assert lane.store.result(0).markdown == " ".join(words_of_page(0))


def test_a_closed_visit_leaves_no_thread_and_no_file():
    visit = Visit()
    job = job_of(lane_of(100, 0.01))
    visit.add(job)
    job.start()
    folder = job.lanes[0].store.folder
    while not any(folder.iterdir()):
        time.sleep(0.01)
    visit.close()
    assert not folder.exists()
    assert not [thread for thread in threading.enumerate() if thread.name == "longscribe-lane"]


def test_questions_are_answered_for_the_holder_of_the_token_alone():
    visits = Visits()
    mine, other = visits.of("a"), visits.of("b")
    job = job_of(lane_of(3))
    mine.add(job)
    run(job)
    texts = answer(visits, {"what": "texts", "job": job.token, "pages": [0, 2, 99]})
    assert [text["page"] for text in texts] == [0, 2]
    assert texts[0]["raw"] == " ".join(words_of_page(0))
    assert answer(visits, {"what": "texts", "job": "guess", "pages": [0]}) is None
    assert not other.jobs
    picture = answer(visits, {"what": "picture", "job": job.token, "pages": [1]})
    assert picture["source"].startswith("data:image/jpeg;base64,")
    assert len(picture["boxes"]) == 40
    assert len(answer(visits, {"what": "thumbnails", "job": job.token, "pages": [0, 1, 2]})) == 3
    visits.close("a")
    assert answer(visits, {"what": "texts", "job": job.token, "pages": [0]}) is None


@pytest.mark.parametrize(
    "question",
    [
        None,
        [],
        "texts",
        {},
        {"what": "close"},
        {"what": "texts", "pages": "../../etc"},
        {"what": "picture", "pages": []},
        {"what": "pages", "base": -5},
        {"what": "texts", "pages": ["../0", None, -1, 10**30], "lane": 99},
    ],
)
def test_malformed_questions_get_nothing_and_break_nothing(question: object):
    visits = Visits()
    job = job_of(lane_of(1))
    visits.of("a").add(job)
    run(job)
    if isinstance(question, dict):
        question["job"] = job.token
    reply = answer(visits, question)
    assert reply is None or isinstance(reply, list)
    visits.close_all()


def test_search_finds_words_across_breaks_and_case(visit: Visit):
    visits = Visits()
    job = job_of(lane_of(4))
    visits.of("a").add(job)
    run(job)
    finds = answer(visits, {"what": "search", "job": job.token, "text": "WORD2-3  word2-4"})
    assert [(page, match) for page, _, match, _ in finds] == [(2, "word2-3 word2-4")]
    assert answer(visits, {"what": "search", "job": job.token, "text": " "}) == []
    assert answer(visits, {"what": "search", "job": job.token, "text": "(.*"}) == []
    visits.close_all()


def test_a_password_is_asked_for_and_kept_nowhere(visit: Visit):
    def parse(source, config, *, password=None, pages=None, should_stop=None):
        raise PasswordRequiredError("The document is encrypted; give its password.")
        yield

    lane = lane_of(1, parse=parse)
    job = job_of(lane)
    visit.add(job)
    run(job)
    message = Messages(job, visit).message()["lanes"][0]
    assert message["state"] == "password"
    assert "password" in message["message"]
    assert not any("secret" in str(value) for value in vars(lane).values())


def test_an_unexpected_error_ends_the_job_without_its_words(visit: Visit, caplog: pytest.LogCaptureFixture):
    def parse(source, config, *, should_stop=None):
        raise RuntimeError("/srv/private/path")
        yield

    lane = lane_of(1, parse=parse)
    job = job_of(lane)
    run(job)
    assert lane.view.state is JobState.ERROR
    assert "/srv" not in lane.view.message
    assert "/srv/private/path" in caplog.text  # the log does have it
    job.close()


@pytest.mark.parametrize("order", list(Order))
def test_full_attention_starts_in_its_turn_and_the_card_compares(visit: Visit, order: Order):
    sparse, full = lane_of(6, 0.002), lane_of(6, 0.002, mode="full")
    job = job_of(sparse, full, comparison=Comparison(10 * 2**30, order))
    visit.add(job)
    pages_at_start: list[int] = []

    def look():
        if full.has_started and not pages_at_start:
            pages_at_start.append(len(sparse.view.finished))

    run(job, look)
    assert pages_at_start[0] >= (6 if order is Order.ONE_BY_ONE else 1)
    card = Messages(job, visit).message()["comparison"]["card"]
    assert card["sparse"]["peak_kv_bytes"] == POOL_BYTES
    assert card["full"]["peak_kv_bytes"] == 6 * PAGE_BYTES
    assert card["kv_ratio"] == 2.0
    assert card["agreement"] == 1.0
    assert card["full"]["last_step_s"] > card["full"]["first_step_s"]


def test_full_attention_is_stopped_at_the_limit_and_the_page_is_named(visit: Visit):
    sparse, full = lane_of(40, 0.001), lane_of(40, 0.004, mode="full")
    comparison = Comparison(10 * PAGE_BYTES)
    job = job_of(sparse, full, comparison=comparison)
    visit.add(job)
    run(job, limit_s=40)
    assert comparison.will_not_fit
    assert comparison.estimated_bytes == 40 * PAGE_BYTES
    assert comparison.fits_pages == 10
    assert comparison.stopped_at_page > 10
    assert full.view.state is JobState.CANCELLED
    assert sparse.view.state is JobState.DONE


def test_exports_are_written_once_and_hold_the_text(visit: Visit):
    job = job_of(lane_of(2), name="../we?ird <name>.pdf")
    visit.add(job)
    run(job)
    written = write_exports(job)
    assert set(written) == set(EXPORTS)
    assert all(path.parent == job.lanes[0].store.folder / "exports" for path in written.values())
    assert words_of_page(1)[5] in written["markdown"].read_text()
    assert json.loads(written["json"].read_text())
    with zipfile.ZipFile(written["zip"]) as archive:
        assert [name for name in archive.namelist() if name.startswith("figures/")] == [
            "figures/page-0002-1.jpg"
        ]
        assert archive.read("figures/page-0002-1.jpg")[:2] == b"\xff\xd8", "a JPEG"
    report = written["report"].read_text()
    assert "<polyline" in report
    assert "<name>" not in report
    assert write_exports(job) is written


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("../../etc/passwd", "passwd"),
        ("..\\..\\x.pdf", "x"),
        ("résumé 📄.pdf", "résumé"),
        ("...", "document"),
        ("a\x00b.pdf", "a_b"),
    ],
)
def test_names_of_exports_are_names_only(name: str, stem: str):
    assert safe_stem(name).rstrip("_ ") == stem
    assert "/" not in safe_stem(name)


def test_old_jobs_make_room(visit: Visit):
    for position in range(MAX_JOBS_A_VISIT + 3):
        job = job_of(lane_of(1), name=f"{position}.pdf")
        visit.add(job)
        run(job)
    assert next(iter(visit.jobs.values())).name == "3.pdf"
    assert len(visit.jobs) == MAX_JOBS_A_VISIT


def test_a_second_read_takes_the_place_of_the_first(visit: Visit):
    first, second = job_of(lane_of(100, 0.005)), job_of(lane_of(1))
    visit.add(first)
    first.start()
    visit.add(second)
    run(second)
    ends = time.monotonic() + 5
    while not first.is_over and time.monotonic() < ends:
        time.sleep(0.01)
    assert first.lanes[0].view.state is JobState.CANCELLED


def furnished_events() -> Iterator[Event]:
    """Two pages under the same head, which the pages together show to be one."""
    for index in range(2):
        lines = (
            ("The Ferry Book", (100.0, 60.0, 500.0, 80.0), RegionKind.FURNITURE),
            (f"Body {index}.", (100.0, 300.0, 900.0, 320.0), RegionKind.PARAGRAPH),
        )
        regions = tuple(Region(kind, (Piece(text, place),)) for place, (text, _, kind) in enumerate(lines))
        runs = tuple(Run(text, box, 0.9, False, place, 0) for place, (text, box, _) in enumerate(lines))
        result = PageResult(index, Verdict.OK, page_markdown(regions), regions=regions, runs=runs)
        yield PageFinished(replace(result, width_px=1000, height_px=1400))
    yield DocumentFinished(Outcome.DONE, 2, {Verdict.OK: 2})


def furnished_job() -> Job:
    lane = Lane(lambda should_stop: furnished_events(), AppConfig())
    job = Job("a.pdf", Path("a.pdf"), [lane])
    run(job)
    return job


def test_running_heads_are_in_view_copy_and_downloads_alike(visit: Visit):
    job = furnished_job()
    visit.add(job)
    for wanted, count in ((False, 0), (True, 2), (False, 0)):
        files = write_exports(job, furniture=wanted)
        for name in ("markdown", "html"):
            assert files[name].read_text().count("The Ferry Book") == count
        visits = Visits()
        visits.of("s").jobs[job.token] = job
        copied = answer(visits, {"job": job.token, "what": "markdown", "furniture": wanted})
        assert copied.count("The Ferry Book") == count
    (text, _) = answer(visits, {"job": job.token, "what": "texts", "pages": [0, 1]})
    assert (text["raw"], text["furnished"]) == ("Body 0.", "The Ferry Book\n\nBody 0.")


def test_the_number_of_lines_set_aside_is_told(visit: Visit):
    job = furnished_job()
    visit.add(job)
    (lane,) = Messages(job, visit).message()["lanes"]
    assert [page[4] for page in lane["pages"]] == [1, 1]


def test_pages_of_a_stopped_job_that_were_not_read_are_not_counted():
    view = JobView()
    for index, verdict in enumerate((Verdict.OK, Verdict.FAILED, Verdict.CANCELLED, Verdict.CANCELLED)):
        view.fold(PageFinished(PageResult(index, verdict, reason="why")))
    assert view.num_pages_read == 2
