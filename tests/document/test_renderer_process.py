"""The renderer as a process: what kills it costs one page, and nothing is left behind."""

import io
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import psutil
import pytest
from PIL import Image

from ocr_app.config import LoaderConfig
from ocr_app.document.frames import Channel
from ocr_app.document.loader import Document, open_document
from ocr_app.types import PageFailure, PageImage

MakePdf = Callable[..., bytes]
LOW = LoaderConfig(dpi=36)
ROOT = Path(__file__).parent.parent.parent


def renderers() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "ocr_app.document.renderer" in child.cmdline()]


def never_ending(document) -> None:
    """Make page 2 draw forms that draw forms, ten times each, ten levels deep."""
    form = None
    for _ in range(10):
        xref = document.get_new_xref()
        resources = f"/Resources<</XObject<</F {form} 0 R>>>>" if form else ""
        document.update_object(xref, f"<</Type/XObject/Subtype/Form/BBox[0 0 500 500]{resources}>>")
        document.update_stream(xref, b"/F Do " * 10 if form else b"0 0 m 500 500 l S")
        form = xref
    replace_page_two(document, form, b"/F Do")


def huge_image(document) -> None:
    """Let page 2 be a scan in JPEG 2000 whose decoder needs some 70 MB for 273 bytes."""
    buffer = io.BytesIO()
    Image.new("L", (4000, 4000)).save(buffer, "JPEG2000")
    image = document.get_new_xref()
    document.update_object(
        image,
        "<</Type/XObject/Subtype/Image/Width 4000/Height 4000/BitsPerComponent 8/ColorSpace/DeviceGray>>",
    )
    document.update_stream(image, buffer.getvalue(), compress=False)
    document.xref_set_key(image, "Filter", "/JPXDecode")
    replace_page_two(document, image, b"500 0 0 500 0 0 cm /F Do")


def replace_page_two(document, xref: int, content: bytes) -> None:
    page, stream = document[1], document.get_new_xref()
    document.update_object(stream, "<<>>")
    document.update_stream(stream, content)
    document.xref_set_key(page.xref, "Resources", f"<</XObject<</F {xref} 0 R>>>>")
    document.xref_set_key(page.xref, "Contents", f"{stream} 0 R")


def kinds(pages: list[PageImage | PageFailure]) -> list[type]:
    return [type(page) for page in pages]


def test_a_page_that_takes_too_long_is_stopped_and_the_rest_goes_on(make_pdf: MakePdf):
    with open_document(make_pdf(3, edit=never_ending), LoaderConfig(dpi=36, page_timeout_s=4)) as document:
        pages = list(document.pages())
    assert kinds(pages) == [PageImage, PageFailure, PageImage]
    assert "longer than 4 s" in pages[1].reason


def test_a_renderer_killed_in_mid_page_costs_that_page_only(make_pdf: MakePdf):
    with open_document(make_pdf(3, edit=never_ending), LOW) as document:
        pages = document.pages()
        collected = [next(pages)]
        killer = Thread(target=kill_when_busy, args=(renderers()[0],))
        killer.start()
        collected += list(pages)
        killer.join()
    assert kinds(collected) == [PageImage, PageFailure, PageImage]
    assert "SIGSEGV" in collected[1].reason


def kill_when_busy(process: psutil.Process) -> None:
    """Wait until the process is computing, then end it as a crash would."""
    start = process.cpu_times().user
    while process.cpu_times().user < start + 0.1:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGSEGV)


def test_a_page_beyond_the_memory_limit_fails_alone_and_is_not_called_blank(make_pdf: MakePdf):
    data = make_pdf(3, edit=huge_image)
    with open_document(data, LoaderConfig(dpi=36, renderer_memory_bytes=40 * 2**20)) as document:
        pages = list(document.pages())
    assert kinds(pages) == [PageImage, PageFailure, PageImage]
    assert "memory" in pages[1].reason
    with open_document(data, LoaderConfig(dpi=36, renderer_memory_bytes=512 * 2**20), pages="2") as document:
        assert kinds(list(document.pages())) == [PageImage]


def test_the_memory_limit_is_set_on_the_process(make_pdf: MakePdf):
    with open_document(make_pdf(1), LoaderConfig(renderer_memory_bytes=300 * 2**20)):
        (renderer,) = renderers()
        assert 300 * 2**20 < renderer.rlimit(psutil.RLIMIT_AS)[0] < 300 * 2**20 + 2**30


def test_the_renderer_may_write_no_file_and_loads_no_torch(make_pdf: MakePdf):
    with open_document(make_pdf(2), LOW) as document:
        pages = document.pages()
        next(pages)
        (renderer,) = renderers()
        assert renderer.rlimit(psutil.RLIMIT_FSIZE) == (0, 0)
        assert not any("torch" in mapped.path for mapped in renderer.memory_maps())


def test_a_document_has_one_renderer_and_leaves_none(make_pdf: MakePdf):
    with open_document(make_pdf(4), LOW) as document:
        for _ in document.pages():
            assert len(renderers()) == 1
        assert renderers() == []  # the pages are all drawn
        assert kinds(list(document.pages())) == [PageImage] * 4  # it starts again when asked
    assert renderers() == []


def test_closing_the_iterator_ends_the_renderer(make_pdf: MakePdf):
    with open_document(make_pdf(4), LOW) as document:
        pages = document.pages()
        next(pages)
        pages.close()
        assert renderers() == []


def test_closing_the_document_in_mid_page_from_another_thread_ends_the_iterator(make_pdf: MakePdf):
    document = open_document(make_pdf(3, edit=never_ending), LOW)
    collected: list[PageImage | PageFailure] = []
    reader = Thread(target=lambda: collected.extend(document.pages()))
    reader.start()
    close_when_on_page_two(document, renderers()[0])
    reader.join(10)
    assert not reader.is_alive()
    assert kinds(collected) == [PageImage]
    assert renderers() == []


def close_when_on_page_two(document: Document, process: psutil.Process) -> None:
    start = process.cpu_times().user
    while process.cpu_times().user < start + 0.5:
        time.sleep(0.02)
    document.close()


def test_a_refused_document_leaves_no_renderer(make_pdf: MakePdf):
    with pytest.raises(Exception, match="page range"):
        open_document(make_pdf(2), LOW, pages="x")
    assert renderers() == []


def test_the_renderer_ends_when_the_app_is_killed(make_pdf: MakePdf, tmp_path: Path):
    path = tmp_path / "document.pdf"
    path.write_bytes(make_pdf(3))
    code = (
        "import sys, time; from pathlib import Path; from ocr_app.config import LoaderConfig\n"
        "from ocr_app.document.loader import open_document\n"
        "document = open_document(Path(sys.argv[1]), LoaderConfig(dpi=36)); pages = document.pages(); "
        "next(pages)\n"
        "print('ready', flush=True); time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, cwd=ROOT) as app:
        assert app.stdout.readline() == b"ready\n"
        (renderer,) = psutil.Process(app.pid).children()
        app.kill()
    renderer.wait(10)  # raises TimeoutExpired when it lives on


def test_ctrl_c_reaches_the_app_and_not_the_renderer(make_pdf: MakePdf):
    with open_document(make_pdf(3), LOW) as document:
        pages = document.pages()
        next(pages)
        renderers()[0].send_signal(signal.SIGINT)
        assert kinds(list(pages)) == [PageImage, PageImage]


def test_frames_refuse_what_is_larger_than_allowed_and_what_is_no_frame():
    read_fd, write_fd = os.pipe()
    channel = Channel(read_fd, write_fd)
    try:
        channel.send({"a": 1}, b"payload")
        assert channel.receive(timeout_s=1, max_payload_bytes=7) == ({"a": 1}, bytearray(b"payload"))
        with pytest.raises(TimeoutError):
            channel.receive(timeout_s=0.01)
        channel.send({}, b"payload")
        with pytest.raises(EOFError, match="more than it may"):
            channel.receive(timeout_s=1, max_payload_bytes=6)
        os.read(read_fd, 100)
        os.write(write_fd, b"\xff" * 12)
        with pytest.raises(EOFError, match="more than it may"):
            channel.receive(timeout_s=1)
    finally:
        os.close(read_fd)
        os.close(write_fd)
