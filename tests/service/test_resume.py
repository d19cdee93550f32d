"""A process killed at any moment loses no finished page and reads none twice."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ocr_app.errors import ServiceFolderError
from ocr_app.service.folder import Vault
from ocr_app.service.records import Job, JobState
from ocr_app.service.service import Service
from ocr_app.service.store import JobStore
from ocr_app.service.tables import open_database
from tests.service import scripted
from tests.service.support import config, running, submit, texts

ROOT = Path(__file__).parents[2]
NUM_KILLS = 20
NUM_PAGES = 150
PAGE_S = 0.02


def test_twenty_kills_lose_no_page_and_read_none_twice(tmp_path: Path):
    log = tmp_path / "begun.txt"
    folder = tmp_path / "work"
    store, job = waiting_job(folder, log)
    moments = random.Random(7)
    num_begun, done = 0, set()
    for _ in range(NUM_KILLS):
        process = started(folder)
        time.sleep(moments.uniform(0.0, 0.18))
        process.kill()
        process.wait()
        begun = list(map(int, log.read_text().split())) if log.exists() else []
        assert not done & set(begun[num_begun:]), "a finished page was read again"
        assert not done & set(store.unfinished(job)), "a finished page was lost"
        num_begun, done = len(begun), set(job.page_indices) - set(store.unfinished(job))
        assert store.job(job.id).num_done == len(done)
    assert store.job(job.id).state is JobState.RUNNING, "it was over before the last kill"
    process = started(folder)
    assert process.wait(30) == 0
    finished = store.job(job.id)
    assert (finished.state, finished.num_done) == (JobState.DONE, NUM_PAGES)
    assert [page.markdown for page in store.results(finished)] == [
        scripted.page_text("book", index) for index in range(NUM_PAGES)
    ]
    events = store.events(job.id, limit=10_000)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert sorted(event.page_index for event in events if event.kind == "page") == list(range(NUM_PAGES))
    begun = log.read_text().split()
    assert len(begun) - NUM_PAGES <= NUM_KILLS, "more than the page being read was begun again"


def waiting_job(folder: Path, log: Path) -> tuple[JobStore, Job]:
    """A job in a service that is not running, and the store to look into."""
    with running(folder, parse=never, quick_workers=0) as service:
        job = submit(service, "book", NUM_PAGES, page_s=PAGE_S, log=str(log))
    return JobStore(open_database(None, folder), Vault(None)), job


def never(*_args, should_stop, **_options):
    while not should_stop():
        time.sleep(0.01)
    yield from ()
    raise InterruptedError


def started(folder: Path) -> subprocess.Popen:
    """A process that has begun to work."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.service.kill_me", str(folder)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    process.stdout.close()
    return process


def test_a_clean_end_queues_the_job_and_the_next_life_ends_it(tmp_path: Path):
    with running(tmp_path) as service:
        job = submit(service, "long", 40, page_s=0.01)
        while service.store.job(job.id).num_done < 5:
            time.sleep(0.005)
    store = JobStore(open_database(None, tmp_path), Vault(None))
    assert store.job(job.id).state is JobState.QUEUED
    assert 5 <= store.job(job.id).num_done < 40
    with running(tmp_path) as service:
        while not service.store.job(job.id).state.is_over:
            time.sleep(0.01)
        assert service.store.job(job.id).state is JobState.DONE
        assert texts(service, job) == [scripted.page_text("long", index) for index in range(40)]


def test_a_second_service_is_kept_out_of_the_folder(tmp_path: Path):
    with running(tmp_path), pytest.raises(ServiceFolderError, match="Another service"):
        Service(config(tmp_path), scripted.parse)
