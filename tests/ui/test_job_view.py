"""The view of a job is its events folded: nothing lost, nothing twice, points thinned without losing a
peak.
"""

from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.types import DocumentFinished, Outcome, PageFinished, PageResult, PageStarted, TextDelta, Verdict
from ocr_app.ui.job_view import JobState, JobView
from ocr_app.ui.series import Point, Series
from tests.ui.scripted import image_of, page_events, runs_of, telemetry, words_of_page

counts = st.none() | st.integers(0, 2**40)
points = st.builds(
    Point,
    time_s=st.floats(0, 1e5),
    page_number=st.integers(1, 500),
    allocated_bytes=counts,
    live_bytes=counts,
    attended_tokens=counts,
    device_bytes=st.lists(counts, max_size=2).map(tuple),
)


@given(
    st.lists(
        st.lists(st.tuples(st.text(max_size=8), st.lists(st.integers(0, 99), max_size=3)), max_size=6),
        max_size=5,
    )
)
@settings(max_examples=60, deadline=None)
def test_text_of_the_current_page_is_its_deltas_joined(pages: list[list[tuple[str, list[int]]]]):
    view = JobView()
    for page_index, deltas in enumerate(pages):
        view.fold(PageStarted(page_index, image_of(page_index), runs_of(words_of_page(page_index))))
        for position, (text, runs) in enumerate(deltas):
            view.fold(TextDelta(page_index, text, tuple(runs)))
            assert view.current.text == "".join(text for text, _ in deltas[: position + 1])
            assert view.current.copied == [run for _, runs in deltas[: position + 1] for run in runs]
        view.fold(PageFinished(PageResult(page_index, Verdict.OK)))
        assert view.current is None
    assert [page.page_index for page in view.finished] == list(range(len(pages)))


@given(st.lists(st.sampled_from(list(Verdict)), min_size=1, max_size=30))
@settings(max_examples=40, deadline=None)
def test_every_verdict_is_kept_with_its_reason(verdicts: list[Verdict]):
    view = JobView()
    for page_index, verdict in enumerate(verdicts):
        view.fold(PageFinished(PageResult(page_index, verdict, reason=f"because {page_index}")))
    assert [(page.verdict, page.reason) for page in view.finished] == [
        (v, f"because {i}") for i, v in enumerate(verdicts)
    ]
    assert sum(view.verdict_counts().values()) == len(verdicts)


def test_outcomes_become_states():
    for outcome, state in [
        (Outcome.DONE, JobState.DONE),
        (Outcome.DONE_WITH_WARNINGS, JobState.WARNINGS),
        (Outcome.CANCELLED, JobState.CANCELLED),
    ]:
        view = JobView()
        assert view.state is JobState.WAITING
        view.fold(DocumentFinished(outcome, 3))
        assert view.state is state
        assert view.state.is_over


def test_step_time_of_first_and_last_page_are_means_of_their_readings():
    view = JobView()
    for page_index in range(5):
        for event in page_events(page_index, 5, is_full=True):
            view.fold(event)
    assert view.step_at_ends() == (0.004, 0.008)
    assert JobView().step_at_ends() == (None, None)


def test_unknown_counters_stay_unknown():
    view = JobView()
    assert view.peak_kv_bytes is None
    sample = telemetry(0, 0.0, 1)
    view.fold(type(sample)(0.0, 0, None, (), None, 0, 1))
    assert view.peak_kv_bytes is None
    assert view.series.points[0].live_bytes is None


@given(st.lists(points, max_size=300), st.integers(2, 20))
@settings(max_examples=80, deadline=None)
def test_thinning_keeps_peaks_order_and_the_last_moment(samples: list[Point], limit: int):
    samples.sort(key=lambda point: point.time_s)
    series = Series(limit=limit)
    for sample in samples:
        series.add(sample)
    assert len(series.points) <= limit
    assert [p.time_s for p in series.points] == sorted(p.time_s for p in series.points)
    for name in ("allocated_bytes", "live_bytes", "attended_tokens"):
        known = [value for sample in samples if (value := getattr(sample, name)) is not None]
        kept = [value for point in series.points if (value := getattr(point, name)) is not None]
        assert max(kept, default=None) == max(known, default=None)
    if samples:
        assert series.points[-1].time_s == samples[-1].time_s


def test_points_over_pages_are_the_largest_of_each_page():
    series = Series()
    for page_number, live in [(1, 5), (1, 9), (2, 4), (3, None), (3, 2)]:
        series.add(Point(0.0, page_number, live_bytes=live))
    assert [(point.page_number, point.live_bytes) for point in series.by_page()] == [(1, 9), (2, 4), (3, 2)]
