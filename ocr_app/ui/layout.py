"""The components of the page and their places. No behaviour: `page.py` wires the events.

The head, the panes and the lists are plain HTML that the script in `static/js` fills; controls, uploads,
charts and downloads are Gradio's.
"""

from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import gradio as gr

from ocr_app.config import ENCODER_QUALITIES, KV_DTYPES, AppConfig
from ocr_app.models.base import READERS
from ocr_app.ui.charts import empty_figure
from ocr_app.ui.compare import Order
from ocr_app.ui.exports import EXPORTS
from ocr_app.ui.settings import PRESETS, Choices
from ocr_app.ui.text import TEXTS, in_language, words

STATIC = Path(__file__).parent / "static"
I18N = gr.I18n(en=words("en"), zh=words("zh"))
THEME = gr.themes.Base(
    primary_hue="teal",
    neutral_hue="slate",
    font=[
        "system-ui",
        "-apple-system",
        "Segoe UI",
        "Noto Sans CJK SC",
        "PingFang SC",
        "Microsoft YaHei",
        "sans-serif",
    ],
    font_mono=["ui-monospace", "Menlo", "Consolas", "monospace"],
    radius_size="lg",
).set(
    body_background_fill="#f4f5f2",
    body_background_fill_dark="#12161c",
    block_background_fill="#ffffff",
    block_background_fill_dark="#1a2028",
    block_border_color="#dfe3e0",
    block_border_color_dark="#2c3541",
    button_primary_background_fill="#0d7f76",
    button_primary_background_fill_dark="#0d7f76",
    button_primary_background_fill_hover="#0b6b63",
    button_primary_background_fill_hover_dark="#129488",
    button_primary_text_color="#ffffff",
)


@dataclass(slots=True)
class Labels:
    """Components whose words change with the language: property to text key, and choices to text keys."""

    entries: list[tuple[Any, dict[str, str]]] = field(default_factory=list)
    choices: dict[int, tuple[str, ...]] = field(
        default_factory=dict
    )  # position in entries → text keys of its choices

    def add(self, component: Any, choice_keys: tuple[str, ...] = (), **keys: str) -> Any:
        if choice_keys:
            self.choices[len(self.entries)] = choice_keys
        self.entries.append((component, keys))
        return component

    @property
    def components(self) -> list[Any]:
        return [component for component, _ in self.entries]

    def updates(self, language: str) -> list[dict[str, Any]]:
        return [self._update(position, language) for position in range(len(self.entries))]

    def _update(self, position: int, language: str) -> dict[str, Any]:
        component, keys = self.entries[position]
        changed: dict[str, Any] = {name: in_language(language, key) for name, key in keys.items()}
        if position in self.choices:
            values = [value for _, value in component.choices]
            changed["choices"] = [
                (in_language(language, key), value)
                for key, value in zip(self.choices[position], values, strict=True)
            ]
        return gr.update(**changed)


@dataclass(slots=True)
class Page:
    """The components that events start from or write to."""

    labels: Labels
    bridge: gr.HTML
    files: gr.File
    task: gr.Radio
    pages: gr.Textbox
    password: gr.Textbox
    read: gr.Button
    example: gr.Button
    preset: gr.Radio
    switches: list[Any]  # in the order of Choices
    complaint: gr.Markdown
    order: gr.Radio
    limit: gr.Number
    axis: gr.Radio
    kv_chart: gr.Plot
    memory_chart: gr.Plot
    downloads: dict[str, gr.DownloadButton]


def build(config: AppConfig, *, limit_gib: float, ask: Any) -> Page:
    """Lay the page out inside the current gr.Blocks."""
    labels = Labels()
    _markup("head")
    with gr.Column(elem_id="ls-start"):
        start = _start(labels)
        switches = _settings(labels, config, limit_gib)
    _markup("status", elem_id="ls-status")
    with gr.Row(elem_id="ls-work"):
        _markup("viewer", elem_id="ls-viewer-box")
        _markup("text", elem_id="ls-text-box")
        with gr.Column(elem_id="ls-right"):
            instruments = _instruments(labels)
    _markup("visit", elem_id="ls-visit-box")
    bridge = gr.HTML(
        value="",
        html_template="",
        js_on_load=script(),
        server_functions=[ask],
        apply_default_css=False,
        elem_id="ls-bridge",
        texts=TEXTS,
    )
    return Page(labels=labels, bridge=bridge, **start, **switches, **instruments)


def head() -> str:
    """The style sheet for the document's head: given as `css`, Gradio would also put its own container before
    every rule.
    """
    return f"<style>{(STATIC / 'app.css').read_text(encoding='utf-8')}</style>"


@cache
def script() -> str:
    """The parts of the script in the order of their names; they share one scope."""
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((STATIC / "js").glob("*.js")))


def _markup(name: str, **kwargs: Any) -> gr.HTML:
    # js_on_load is left out: these parts only lie there
    html = (STATIC / f"{name}.html").read_text(encoding="utf-8")
    return gr.HTML(value="", html_template=html, js_on_load=None, apply_default_css=False, **kwargs)


def _choices(*pairs: tuple[str, str]) -> tuple[list[tuple[str, str]], tuple[str, ...]]:
    """Radio choices in English, and the keys that name them in other languages."""
    return [(in_language("en", key), value) for key, value in pairs], tuple(key for key, _ in pairs)


def _start(labels: Labels) -> dict[str, Any]:
    task_choices, task_keys = _choices(("task_read", "read"), ("task_compare", "compare"))
    with gr.Row():
        with gr.Column(scale=3, min_width=300):
            _markup("hero")
            files = gr.File(
                label=I18N("files"), file_count="multiple", type="filepath", elem_id="ls-files", height=190
            )
        with gr.Column(scale=2, min_width=280):
            task = gr.Radio(task_choices, value="read", label=I18N("task"), elem_id="ls-task")
            pages = gr.Textbox(label=I18N("pages"), info=I18N("pages_info"), max_lines=1, elem_id="ls-pages")
            password = gr.Textbox(
                label=I18N("password"),
                info=I18N("password_info"),
                type="password",
                max_lines=1,
                elem_id="ls-password",
                autofocus=False,
            )
            with gr.Row():
                read = gr.Button(I18N("read"), variant="primary", elem_id="ls-read", min_width=120)
                example = gr.Button(I18N("example"), elem_id="ls-example", min_width=120)
    labels.add(files, label="files")
    labels.add(task, task_keys, label="task")
    labels.add(pages, label="pages", info="pages_info")
    labels.add(password, label="password", info="password_info")
    labels.add(read, value="read")
    labels.add(example, value="example")
    return {
        "files": files,
        "task": task,
        "pages": pages,
        "password": password,
        "read": read,
        "example": example,
    }


def _settings(labels: Labels, config: AppConfig, limit_gib: float) -> dict[str, Any]:
    """Presets and switches, folded away."""
    choices = Choices.of(config)
    preset_choices, preset_keys = _choices(*((f"preset_{name}", name) for name in PRESETS))
    order_choices, order_keys = _choices(*((f"order_{order.value}", order.value) for order in Order))
    with gr.Accordion(I18N("settings"), open=False, elem_id="ls-settings") as accordion:
        preset = gr.Radio(preset_choices, value="balanced", label=I18N("preset"), elem_id="ls-preset")
        complaint = gr.Markdown("", elem_id="ls-complaint")
        switches = _switches(labels, choices)
        with gr.Row():
            order = gr.Radio(
                order_choices, value=Order.TOGETHER.value, label=I18N("order"), info=I18N("order_info")
            )
            limit = gr.Number(
                limit_gib, minimum=0.001, label=I18N("limit"), info=I18N("limit_info"), elem_id="ls-limit"
            )
    labels.add(accordion, label="settings")
    labels.add(preset, preset_keys, label="preset")
    labels.add(order, order_keys, label="order", info="order_info")
    labels.add(limit, label="limit", info="limit_info")
    return {"preset": preset, "complaint": complaint, "switches": switches, "order": order, "limit": limit}


def _switches(labels: Labels, choices: Choices) -> list[Any]:
    """One control for each field of Choices, in its order."""

    def slider(name: str, low: float, high: float, step: float = 1) -> gr.Slider:
        value = getattr(choices, name)
        return gr.Slider(low, max(high, value), value=value, step=step, elem_id=f"ls-{name}", **_said(name))

    def one_of(name: str, values: tuple[str, ...]) -> gr.Dropdown:
        return gr.Dropdown(list(values), value=getattr(choices, name), elem_id=f"ls-{name}", **_said(name))

    with gr.Row():
        first = [
            one_of("model", tuple(sorted(READERS))),
            one_of("quality", ENCODER_QUALITIES),
            slider("dpi", 72, 300),
        ]
    with gr.Row():
        second = [
            slider("text_window", 16, 1024, 16),
            slider("page_window", 0, 1024),
            slider("sparsity_ratio", 0, 1, 0.01),
        ]
    with gr.Row():
        third = [slider("chunk_pages", 1, 8), slider("overlap_pages", 0, 4), slider("block_budget", 0, 128)]
    with gr.Row():
        fourth = [
            one_of("kv_dtype", KV_DTYPES),
            gr.Checkbox(choices.reuse, elem_id="ls-reuse", **_said("reuse")),
        ]
    switches = [*first, *second, *third, *fourth]
    for switch, name in zip(switches, Choices.__slots__, strict=True):
        labels.add(switch, label=name, info=f"{name}_info")
    return switches


def _said(name: str) -> dict[str, Any]:
    return {"label": I18N(name), "info": I18N(f"{name}_info")}


def _instruments(labels: Labels) -> dict[str, Any]:
    axis_choices, axis_keys = _choices(("x_time", "time"), ("x_pages", "pages"))
    _markup("instruments")
    # an empty chart makes the browser load the chart library while the person chooses a file
    kv_chart = gr.Plot(empty_figure(), show_label=False, elem_id="ls-kv-chart", elem_classes="ls-plot")
    _markup("tiles")
    memory_chart = gr.Plot(
        empty_figure(), show_label=False, elem_id="ls-memory-chart", elem_classes="ls-plot"
    )
    axis = gr.Radio(axis_choices, value="time", label=I18N("x_axis"), elem_id="ls-axis")
    with gr.Row(elem_id="ls-downloads"):
        downloads = {
            name: gr.DownloadButton(
                I18N(f"download_{name}"), interactive=False, size="sm", elem_id=f"ls-download-{name}"
            )
            for name in EXPORTS
        }
    labels.add(axis, axis_keys, label="x_axis")
    for name, button in downloads.items():
        labels.add(button, label=f"download_{name}")
    return {"kv_chart": kv_chart, "memory_chart": memory_chart, "axis": axis, "downloads": downloads}
