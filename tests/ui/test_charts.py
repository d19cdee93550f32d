"""Charts stay small however long the job, and say nothing that was not measured."""

import time

from ocr_app.types import DeviceMemory
from ocr_app.ui.charts import ChartWords, Curve, kv_figure, memory_figure
from ocr_app.ui.series import MAX_POINTS, Point, Series
from tests.ui.scripted import telemetry

WORDS = ChartWords("allocated", "live", "attended", "seconds", "not measured")


def series_of(num_samples: int, *, is_full: bool = False) -> Series:
    series = Series()
    for position in range(num_samples):
        series.add(Point.of(telemetry(position // 10, position / 4, 1000, is_full=is_full)))
    return series


def curves(num_samples: int) -> list[Curve]:
    return [
        Curve("SR-SWA", "#0a0", series_of(num_samples)),
        Curve("Full", "#a00", series_of(num_samples, is_full=True)),
    ]


def test_a_long_job_has_no_more_points_than_a_short_one():
    figure = kv_figure(curves(5000), WORDS, over_pages=False)
    assert all(
        len(trace["x"]) <= MAX_POINTS and len(trace["x"]) == len(trace["y"]) for trace in figure["data"]
    )
    assert len(figure.to_json()) < 150_000


def test_full_attention_rises_and_sparse_stays_flat():
    sparse, full = (figure_of_live(curve) for curve in curves(2000))
    assert full[-1] > 10 * full[0]
    assert max(sparse) <= 2 * min(sparse)


def figure_of_live(curve: Curve) -> list[float]:
    figure = kv_figure([curve], WORDS, over_pages=True)
    return next(trace["y"] for trace in figure["data"] if trace["name"] == "live")


def test_a_chart_without_measurements_says_so():
    series = Series()
    series.add(Point(0.0, 1))
    figure = kv_figure([Curve("SR-SWA", "#0a0", series)], WORDS, over_pages=False)
    assert [note["text"] for note in figure.to_dict()["layout"]["annotations"]] == ["not measured"]
    known = kv_figure([Curve("SR-SWA", "#0a0", series_of(3))], WORDS, over_pages=False)
    assert "annotations" not in known.to_dict()["layout"]


def test_each_reading_has_a_curve_under_its_own_label():
    devices = [DeviceMemory(label, 1, 2) for label in ("process memory", "GPU 0, this process")]
    figure = memory_figure(curves(20)[:1], devices, WORDS, over_pages=False)
    assert [trace["name"] for trace in figure["data"]] == ["process memory", "GPU 0, this process"]
    assert all(value is None for value in figure["data"][1]["y"])


def test_a_whole_device_is_a_thin_labelled_line_on_an_axis_of_its_own():
    own, whole = (
        DeviceMemory("process memory", 1, 2),
        DeviceMemory("GPU 0, all processes", 1, 2, is_own=False),
    )
    series = Series()
    for time_s in range(3):
        series.add(Point(float(time_s), 1, device_bytes=(400 * 2**20, 90 * 2**30)))
    figure = memory_figure([Curve("SR-SWA", "#0a0", series)], [own, whole], WORDS, over_pages=False).to_dict()
    ours, theirs = figure["data"]
    assert (ours["yaxis"], theirs["yaxis"]) == ("y", "y2")
    assert theirs["line"]["width"] < ours["line"]["width"]
    assert theirs["showlegend"]
    assert figure["layout"]["yaxis2"]["overlaying"] == "y"
    alone = memory_figure([Curve("SR-SWA", "#0a0", series)], [own], WORDS, over_pages=False).to_dict()
    assert "yaxis2" not in alone["layout"]


def test_a_yield_of_500_points_costs_little_processor_time():
    both = curves(5000)
    kv_figure(both, WORDS, over_pages=False).to_json()  # the first call imports and caches
    began = time.process_time()
    for _ in range(10):
        kv_figure(both, WORDS, over_pages=False).to_json()
    assert (time.process_time() - began) / 10 < 0.05
