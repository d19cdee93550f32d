"""The two charts as Plotly figures: KV cache and memory, over pages or over time. Knows points, not jobs.

Colours are readable on light and on dark ground, because the figure is not told which one it lies on.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import plotly.graph_objects as go

from ocr_app.types import DeviceMemory
from ocr_app.ui.series import Point, Series

INK = "#7b8494"
GRID = "rgba(123, 132, 148, 0.22)"
SPARSE_COLOUR = "#0d9488"
FULL_COLOUR = "#ea6a2a"
MIB = 2**20
OWN_DASHES = ("solid", "dash", "dot", "dashdot")


@dataclass(frozen=True, slots=True)
class Curve:
    """The series of one lane."""

    name: str  # shown in the legend, in the person's language
    colour: str
    series: Series


@dataclass(frozen=True, slots=True)
class ChartWords:
    """Labels of the charts in the person's language."""

    allocated: str
    live: str
    attended: str
    x_axis: str
    unknown: str  # in place of a chart nothing was measured for


def kv_figure(curves: Sequence[Curve], words: ChartWords, *, over_pages: bool) -> go.Figure:
    """KV allocated and live in MiB above, tokens attended by the last step below."""
    traces: list[dict[str, Any]] = []
    for curve in curves:
        points = curve.series.by_page() if over_pages else curve.series.points
        x = _x_values(points, over_pages)
        prefix = f"{curve.name} · " if len(curves) > 1 else ""
        traces += [
            _line(
                f"{prefix}{words.allocated}",
                x,
                _mib(points, lambda p: p.allocated_bytes),
                curve.colour,
                dash="dot",
            ),
            _line(f"{prefix}{words.live}", x, _mib(points, lambda p: p.live_bytes), curve.colour),
            _line(
                f"{prefix}{words.attended}", x, [p.attended_tokens for p in points], curve.colour, axis="y2"
            ),
        ]
    layout = _layout(words.x_axis, height=280)
    layout["yaxis"] |= {"domain": [0.42, 1], "title": {"text": "MiB"}}
    layout["yaxis2"] = _axis() | {
        "domain": [0, 0.3],
        "title": {"text": words.attended, "font": {"size": 10}},
        "anchor": "x",
    }
    layout["xaxis"]["anchor"] = "y2"
    return _figure(traces, layout, words)


def memory_figure(
    curves: Sequence[Curve], devices: Sequence[DeviceMemory], words: ChartWords, *, over_pages: bool
) -> go.Figure:
    """Memory of this process, and thin and on an axis of its own that of the whole of each GPU it uses: other
    programs' memory must not hide what this one does.
    """
    traces = []
    for curve in curves:
        points = curve.series.by_page() if over_pages else curve.series.points
        x = _x_values(points, over_pages)
        prefix = f"{curve.name} · " if len(curves) > 1 else ""
        for index, device in enumerate(devices):
            used = _mib(points, lambda p, i=index: p.device_bytes[i] if i < len(p.device_bytes) else None)
            name = f"{prefix}{device.label}"
            if device.is_own:
                traces.append(_line(name, x, used, curve.colour, dash=OWN_DASHES[index % len(OWN_DASHES)]))
            else:
                traces.append(_line(name, x, used, INK, axis="y2", width=1) | {"showlegend": True})
    layout = _layout(words.x_axis, height=170)
    layout["yaxis"]["title"] = {"text": "MiB"}
    if any(not device.is_own for device in devices):
        layout["yaxis2"] = _axis() | {"overlaying": "y", "side": "right", "showgrid": False}
        layout["margin"]["r"] = 48
    return _figure(traces, layout, words)


def empty_figure() -> go.Figure:
    return go.Figure({"data": [], "layout": _layout("", height=170)}, _validate=False)


def _figure(traces: list[dict[str, Any]], layout: dict[str, Any], words: ChartWords) -> go.Figure:
    if traces and all(value is None for trace in traces for value in trace["y"]):
        place = {"xref": "paper", "yref": "paper", "x": 0.5, "y": 0.5, "showarrow": False}
        layout = layout | {"annotations": [place | {"text": words.unknown, "font": {"size": 12}}]}
    # validation costs more than the rest together, and these dicts are ours
    return go.Figure({"data": traces, "layout": layout}, _validate=False)


def _line(
    name: str,
    x: list[float],
    y: Sequence[float | None],
    colour: str,
    *,
    dash: str = "solid",
    axis: str = "y",
    width: int = 2,
) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers" if len(x) < 3 else "lines",
        "name": name,
        "x": x,
        "y": list(y),
        "yaxis": axis,
        "showlegend": axis == "y",  # the lower chart says on its axis what it shows
        "line": {"color": colour, "width": width, "dash": dash},
        "marker": {"size": 5},
    }


def _x_values(points: Sequence[Point], over_pages: bool) -> list[float]:
    return [point.page_number if over_pages else round(point.time_s, 2) for point in points]


def _mib(points: Sequence[Point], value: Callable[[Point], int | None]) -> list[float | None]:
    return [None if (number := value(point)) is None else round(number / MIB, 3) for point in points]


def _axis() -> dict[str, Any]:
    return {
        "gridcolor": GRID,
        "zeroline": False,
        "linecolor": GRID,
        "rangemode": "tozero",
        "tickfont": {"size": 10},
        "automargin": True,
    }


def _layout(x_label: str, height: int) -> dict[str, Any]:
    return {
        "height": height,
        "margin": {"l": 48, "r": 8, "t": 8, "b": 34},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"color": INK, "family": "system-ui, sans-serif", "size": 11},
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0, "font": {"size": 10}},
        "xaxis": _axis() | {"title": {"text": x_label, "standoff": 4}, "rangemode": "normal"},
        "yaxis": _axis(),
        "hovermode": "x unified",
        "uirevision": "keep",  # keeps the person's zoom while points arrive
    }
