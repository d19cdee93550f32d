"""The report of a run as one HTML file: settings, figures, charts, verdicts. Complete in itself, opens
without a network.
"""

from collections.abc import Callable, Sequence
from dataclasses import fields
from html import escape

from ocr_app import __version__
from ocr_app.ui.charts import FULL_COLOUR, MIB, SPARSE_COLOUR
from ocr_app.ui.job_view import JobView
from ocr_app.ui.jobs import Job, Lane
from ocr_app.ui.messages import job_card
from ocr_app.ui.series import Point

WIDTH, HEIGHT, MARGIN = 760, 220, 46
LANE_NAMES = {"sparse": "SR-SWA", "full": "Full attention", "rswa": "R-SWA"}
STYLE = """
body{font:15px/1.55 system-ui,sans-serif;max-width:840px;margin:40px auto;padding:0 20px;
color:#1d2530;background:#fff}
h1{font-size:24px}h2{font-size:17px;margin:32px 0 8px}table{border-collapse:collapse;font-size:14px}
td,th{border:1px solid #dfe3e0;padding:3px 10px;text-align:left}
svg{width:100%;height:auto}small{color:#5b6675}
"""


def report_html(job: Job) -> str:
    """Everything about one run that was measured; what was not is written as unknown."""
    parts = [
        f"<h1>{escape(job.name)}</h1><p><small>Longscribe {escape(__version__)}</small></p>",
        _section("Figures", _figures(job)),
        _section("KV cache, live", _chart(job.lanes, lambda point: point.live_bytes)),
        _section("KV cache, allocated", _chart(job.lanes, lambda point: point.allocated_bytes)),
        _section(
            "Memory of the device or process",
            _chart(job.lanes, lambda point: point.device_bytes[0] if point.device_bytes else None),
        ),
        _section("Pages", _pages(job.lanes[0].view)),
        _section("Settings", _settings(job.lanes[0])),
    ]
    head = f'<meta charset="utf-8"><title>{escape(job.name)}</title><style>{STYLE}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{"".join(parts)}</body></html>'


def _section(title: str, body: str) -> str:
    return f"<h2>{title}</h2>{body}"


def _figures(job: Job) -> str:
    rows = [_figure_row(lane) for lane in job.lanes]
    head = ["", "Outcome", "Pages", "Peak KV", "Step, first page", "Step, last page", "Tokens/s", "Time"]
    text = _table(head, rows)
    if job.comparison:
        card = job_card(job)
        ratio, share = _number(card["kv_ratio"], " times", 1), _number(card["agreement"], "", 3)
        text += f"<p>Full attention takes {ratio} the KV memory. Share of words that agree: {share}, "
        text += f"on {card['agreed_pages']} pages that both have read.</p>"
    return text


def _figure_row(lane: Lane) -> list[str]:
    view = lane.view
    first_s, last_s = view.step_at_ends()
    peak = view.peak_kv_bytes
    return [
        LANE_NAMES.get(lane.mode, lane.mode),
        view.state.value,
        str(len(view.finished)),
        _number(peak and peak / MIB, " MiB", 2),
        _number(first_s and 1000 * first_s, " ms", 1),
        _number(last_s and 1000 * last_s, " ms", 1),
        _number(view.latest.tokens_per_s if view.latest else None, "", 1),
        _number(view.end.elapsed_s if view.end else None, " s", 1),
    ]


def _pages(view: JobView) -> str:
    rows = [
        [
            str(page.page_index + 1),
            page.verdict.value,
            page.reason or "",
            str(page.num_tokens),
            _number(page.decode_s, " s", 2),
        ]
        for page in sorted(view.finished, key=lambda page: page.page_index)
    ]
    return _table(["Page", "Verdict", "Reason", "Tokens", "Decoding"], rows)


def _settings(lane: Lane) -> str:
    sections = ("sparsity", "encoder", "reader")
    rows = [
        [f"{section}.{entry.name}", str(getattr(getattr(lane.config, section), entry.name))]
        for section in sections
        for entry in fields(getattr(lane.config, section))
        if "path" not in entry.name  # a path of the server is nobody's business
    ]
    return _table(["Setting", "Value"], [*rows, ["loader.dpi", str(lane.config.loader.dpi)]])


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in rows]
    return f"<table>{''.join(lines)}</table>"


def _number(value: float | None, unit: str, digits: int) -> str:
    return "unknown" if value is None else f"{value:.{digits}f}{unit}"


def _chart(lanes: Sequence[Lane], value: Callable[[Point], int | None]) -> str:
    """One line a lane over time, as SVG."""
    curves = [
        [
            (point.time_s, number / MIB)
            for point in lane.view.series.points
            if (number := value(point)) is not None
        ]
        for lane in lanes
    ]
    seen = [pair for curve in curves for pair in curve]
    if not seen:
        return "<p>unknown: nothing was measured.</p>"
    right, top = max(x for x, _ in seen) or 1.0, max(y for _, y in seen) or 1.0
    colours = (SPARSE_COLOUR, FULL_COLOUR)
    lines = "".join(
        _polyline(curve, right, top, colour) for curve, colour in zip(curves, colours, strict=False)
    )
    labels = [
        _label(MARGIN - 6, 18, f"{top:.4g}", "end"),
        _label(MARGIN - 6, HEIGHT - 24, "0", "end"),
        _label(WIDTH - 8, HEIGHT - 6, f"{right:.4g} s", "end"),
        _label(MARGIN + 4, HEIGHT - 6, "MiB over time", "start"),
    ]
    axes = f'<path d="M{MARGIN} 8V{HEIGHT - 24}H{WIDTH - 8}" fill="none" stroke="#9aa5b3"/>' + "".join(labels)
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12" fill="#5b6675" role="img">{axes}{lines}</svg>'


def _label(x: int, y: int, text: str, anchor: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'


def _polyline(curve: Sequence[tuple[float, float]], right: float, top: float, colour: str) -> str:
    across, down = WIDTH - MARGIN - 8, HEIGHT - 32
    points = " ".join(f"{MARGIN + across * x / right:.1f},{8 + down * (1 - y / top):.1f}" for x, y in curve)
    return f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>'
