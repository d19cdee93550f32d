"""What becomes of jobs: order, fairness, caps, cancelling, a lack of memory, many at once."""

import gc
import threading
from pathlib import Path

import psutil
import pytest
from cryptography.fernet import Fernet

from ocr_app.errors import TooManyRequestsError
from ocr_app.service.ordering import rank
from ocr_app.service.records import JobOptions, JobState
from tests.service import scripted
from tests.service.support import over, running, submit, texts, wait_until


def test_fifty_jobs_of_three_people_keep_their_texts_apart(tmp_path: Path):
    with running(tmp_path, workers=3, quick_workers=2, max_open_jobs_per_key=60) as service:
        jobs = [
            submit(service, f"job{number}", 1 + number % 7 * 5, owner=f"person{number % 3}")
            for number in range(50)
        ]
        for number, job in enumerate(jobs):
            finished = over(service, job)
            assert finished.state is JobState.DONE
            wanted = [scripted.page_text(f"job{number}", index) for index in range(job.num_pages)]
            assert texts(service, job) == wanted
        # a moment after the job is over, its upload is gone
        wait_until(lambda: not list((tmp_path / "uploads").iterdir()))


def test_a_short_document_overtakes_long_ones_but_not_for_ever():
    long_rank = rank(100.0, is_short=False, num_open_of_owner=0, overtake_s=60.0)
    assert rank(159.0, is_short=True, num_open_of_owner=0, overtake_s=60.0) < long_rank
    assert rank(161.0, is_short=True, num_open_of_owner=0, overtake_s=60.0) > long_rank
    # whoever has much open waits behind who has little, within the same bound
    assert rank(100.0, is_short=True, num_open_of_owner=0, overtake_s=60.0) < rank(
        99.0, is_short=True, num_open_of_owner=5, overtake_s=60.0
    )
    assert rank(100.0, is_short=True, num_open_of_owner=10_000, overtake_s=60.0) <= 160.0


def test_jobs_are_taken_in_the_order_of_their_ranks(tmp_path: Path):
    log = tmp_path / "begun.txt"
    with running(tmp_path / "work", quick_workers=0) as service:
        first = submit(service, "first", 2, page_s=0.2)
        wait_until(lambda: service.store.job(first.id).state is JobState.RUNNING)
        long = submit(service, "long", 30, owner="a", log=str(log))
        short = submit(service, "short", 2, owner="b", log=str(log))
        assert service.place(service.store.job(short.id))[0] == 1
        assert service.place(service.store.job(long.id))[0] == 2
        over(service, long)
        ended = [service.store.job(job.id).finished_s for job in (first, short, long)]
        assert ended == sorted(ended)


def test_a_book_does_not_keep_the_quick_worker_from_a_letter(tmp_path: Path):
    with running(tmp_path) as service:
        book = submit(service, "book", 200, page_s=0.05)
        wait_until(lambda: service.store.job(book.id).state is JobState.RUNNING)
        over(service, submit(service, "letter", 1), timeout_s=2.0)
        assert service.store.job(book.id).state is JobState.RUNNING
        service.cancel(book.id)
        over(service, book, timeout_s=2.0)


def test_one_owner_does_not_take_every_worker(tmp_path: Path):
    with running(tmp_path, workers=2, quick_workers=0, max_running_jobs_per_key=1) as service:
        mine = [submit(service, f"mine{number}", 50, page_s=0.05, owner="me") for number in range(2)]
        wait_until(lambda: service.store.job(mine[0].id).num_done > 0)
        over(service, submit(service, "yours", 1, owner="you"), timeout_s=2.0)
        assert service.store.job(mine[1].id).state is JobState.QUEUED
        for job in mine:
            service.cancel(job.id)


def test_limits_of_the_queue_and_of_an_owner_are_told_and_leave_no_upload(tmp_path: Path):
    with running(tmp_path, quick_workers=0, max_open_jobs_per_key=2, max_queued=2) as service:
        running_job = submit(service, "a", 100, page_s=0.05, owner="me")
        wait_until(lambda: service.store.job(running_job.id).state is JobState.RUNNING)
        submit(service, "b", 1, owner="me")
        with pytest.raises(TooManyRequestsError, match="limit is 2"):
            submit(service, "c", 1, owner="me")
        submit(service, "d", 1, owner="you")
        with pytest.raises(TooManyRequestsError, match="wait already"):
            submit(service, "e", 1, owner="they")
        assert len(list((tmp_path / "uploads").iterdir())) == 3


def test_the_quota_of_pages_holds(tmp_path: Path):
    with running(tmp_path, page_quota="10/day") as service:
        submit(service, "a", 8)
        with pytest.raises(TooManyRequestsError, match="quota of 10 per 1 day"):
            submit(service, "b", 3)


def test_cancelling_keeps_what_is_read_and_frees_the_worker(tmp_path: Path):
    with running(tmp_path, quick_workers=0) as service:
        job = submit(service, "long", 100, page_s=0.02)
        waiting = submit(service, "next", 3)
        unwanted = submit(service, "unwanted", 3)
        assert service.cancel(unwanted.id).state is JobState.CANCELLED
        wait_until(lambda: service.store.job(job.id).num_done >= 3)
        service.cancel(job.id)
        cancelled = over(service, job, timeout_s=2.0)
        assert cancelled.state is JobState.CANCELLED
        assert cancelled.num_done == 100, "every page asked for has a record"
        assert cancelled.verdict_counts["ok"] >= 3
        assert over(service, waiting).state is JobState.DONE
        assert service.store.job(unwanted.id).num_done == 0


def test_cancelling_at_the_moment_a_job_starts_is_not_lost(tmp_path: Path):
    with running(tmp_path, max_running_jobs_per_key=2) as service:
        for number in range(40):
            job = submit(service, f"job{number}", 10, page_s=1.0)
            service.cancel(job.id)
            assert over(service, job, timeout_s=5.0).state is JobState.CANCELLED


def test_the_time_cap_ends_a_job_with_a_verdict_on_every_page(tmp_path: Path):
    with running(tmp_path, job_timeout_s=0.2) as service:
        job = over(service, submit(service, "long", 50, page_s=0.05))
        assert job.state is JobState.DONE_WITH_WARNINGS
        assert job.verdict_counts["timeout"] + job.verdict_counts["ok"] == 50
        assert "service.job_timeout_s" in job.error_message


def test_a_lack_of_memory_is_tried_once_more_with_less(tmp_path: Path):
    with running(tmp_path) as service:
        saved = over(service, submit(service, "large", 4, oom_page=3))
        assert (saved.state, saved.num_memory_retries) == (JobState.DONE, 1)
        lost = over(service, submit(service, "too-large", 4, oom_page=3, least_window=0))
        assert (lost.state, lost.error_type) == (JobState.FAILED, "OutOfMemoryError")
        assert "sparsity.page_window" in lost.error_message
        assert lost.num_done == 2, "what was read before stays"
        assert over(service, submit(service, "small", 2)).state is JobState.DONE
        assert b"longscribe_out_of_memory_total 3.0" in service.metrics.text()


def test_a_document_that_ends_its_process_is_given_up(tmp_path: Path):
    with running(tmp_path) as service:
        job = submit(service, "fine", 1)
        over(service, job)
    with running(tmp_path, workers=1, quick_workers=0) as service:
        job = submit(service, "deadly", 60, page_s=0.5)
        wait_until(lambda: service.store.job(job.id).state is JobState.RUNNING)
        claims = service.store
        for _ in range(5):  # as if the process had been killed each time
            service.workers._running[job.id].is_cancelled = False
            assert claims.recover() == [job.id]
            claims.claim()
        assert claims.job(job.id).num_idle_starts == 6
        claims.recover()
        wait_until(lambda: service.store.job(job.id).state is JobState.FAILED)
        assert claims.job(job.id).error_type == "CrashingFileError"


def test_a_password_is_kept_in_memory_only(tmp_path: Path):
    with running(tmp_path, quick_workers=0) as service:
        busy = submit(service, "busy", 40, page_s=0.05)
        wait_until(lambda: service.store.job(busy.id).state is JobState.RUNNING)
        job = submit(service, "locked", 2, password="correct horse")
        assert service.workers.passwords == {job.id: "correct horse"}
        stored = b"".join(path.read_bytes() for path in tmp_path.glob("jobs.sqlite*"))
        assert b"correct horse" not in stored
        service.cancel(job.id)
        assert service.workers.passwords == {}


def test_masked_jobs_show_no_private_data_anywhere(tmp_path: Path):
    with running(tmp_path) as service:
        job = submit(service, "jo@example.org", 2, options=JobOptions(mask=True))
        assert texts(service, over(service, job)) == ["██████████████ page 1", "██████████████ page 2"]


def test_encrypted_at_rest(tmp_path: Path):
    with running(tmp_path, encryption_key=Fernet.generate_key().decode(), quick_workers=0) as service:
        first = submit(service, "swordfish", 100, page_s=0.02)
        wait_until(lambda: service.store.job(first.id).num_done >= 2)
        upload = service.folder.file(first.upload).read_bytes()
        service.cancel(first.id)
        over(service, first)
        assert texts(service, first)[0] == "swordfish page 1"
    stored = b"".join(path.read_bytes() for path in tmp_path.glob("jobs.sqlite*"))
    assert b"swordfish page" not in stored + upload


def test_results_go_at_their_time(tmp_path: Path):
    with running(tmp_path, keep_s=0.01) as service:
        job = over(service, submit(service, "brief", 3))
        wait_until(lambda: service.clean() == 1)
        assert service.store.events(job.id) == []
        assert service.store.jobs() == []


def test_five_hundred_jobs_leave_memory_flat(tmp_path: Path):
    with running(tmp_path, workers=2, quick_workers=0, max_running_jobs_per_key=2) as service:
        before = num_threads = None
        for number in range(500):
            job = submit(service, f"job{number}", 2)
            if number % 50 == 49:
                over(service, job)
                wait_until(lambda: service.store.counts()[JobState.QUEUED] == 0)
            if number == 99:
                before, num_threads = resident_bytes(), threading.active_count()
        wait_until(lambda: service.store.counts()[JobState.DONE] == 500)
        assert resident_bytes() < before * 1.02
        assert threading.active_count() == num_threads
        assert service.live._open == {}


def resident_bytes() -> int:
    gc.collect()
    return psutil.Process().memory_info().rss
