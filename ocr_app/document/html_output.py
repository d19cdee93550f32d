"""Finished pages as one HTML file that stands alone: no script, nothing loaded, nothing of the document taken
for markup.

It is rendered from each page's Markdown, which a reader without regions has too. Raw HTML in it is shown as
text, pictures are not loaded and only links to the web are links.
"""

from collections.abc import Iterable
from html import escape

from ocr_app.document.furniture import num_lines_set_aside, result_markdown, set_aside_note, settled
from ocr_app.types import PageResult

_STYLE = """
:root { color-scheme: light dark; }
body { font: 1rem/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
section { border-top: 1px solid #8885; padding: .5rem 0 1.5rem; }
.page { color: #777; font-size: .8rem; }
.warning { color: #b35900; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
th, td { border: 1px solid #8888; padding: .25rem .5rem; text-align: left; }
pre { overflow-x: auto; background: #8881; padding: .75rem; }
"""

_HEAD = """<!doctype html>
<html>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="referrer" content="no-referrer">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
"""


def document_html(results: Iterable[PageResult], *, title: str = "Document", furniture: bool = False) -> str:
    """The document as HTML, a section for every page; a page that was not read well says so and why."""
    from markdown_it import MarkdownIt

    renderer = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("image")
    sections = (
        _section(result, renderer.render(result_markdown(result, furniture=furniture)))
        for result in settled(results)
    )
    return _HEAD.format(title=escape(title), style=_STYLE) + "".join(sections) + "</body>\n</html>\n"


def _section(result: PageResult, body: str) -> str:
    number = result.page_number
    head = f'<p class="page" dir="ltr">Page {number}{_warning(result)}{_aside(result)}</p>'
    return f'<section id="page-{number}" dir="auto">\n{head}\n{body}</section>\n'


def _aside(result: PageResult) -> str:
    note = set_aside_note(num_lines_set_aside(result))
    return f" · {escape(note.partition(';')[0])}" if note else ""


def _warning(result: PageResult) -> str:
    if result.verdict.is_good:
        return ""
    text = ": ".join(filter(None, (result.verdict.value.replace("_", " "), result.reason)))
    return f' · <strong class="warning">{escape(text)}</strong>'
