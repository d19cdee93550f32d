"""A real server on loopback over scripted documents."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from ocr_app.config import LoaderConfig
from ocr_app.document.pages import parse_page_range
from ocr_app.service.api import build_api
from ocr_app.service.intake import Inspection, inspect_document
from ocr_app.service.keys import Role
from ocr_app.service.listening import open_socket, server
from ocr_app.service.reading import read_document
from ocr_app.service.service import Service
from tests.service import scripted
from tests.service.support import config as service_config


@dataclass(frozen=True)
class Running:
    url: str
    service: Service
    clients: ExitStack = field(default_factory=ExitStack)

    def client(self, role: Role | None = None, name: str = "someone", **options: Any) -> httpx.Client:
        headers = dict(options.pop("headers", {}))
        if role is not None:
            headers["Authorization"] = f"Bearer {self.service.keys.add(name, role)[1]}"
        client = httpx.Client(base_url=self.url, headers=headers, timeout=20.0, **options)
        return self.clients.enter_context(client)


def inspect_script(source: Any, config: LoaderConfig, *, password: str | None, pages: str | None):
    data = source if isinstance(source, bytes) else source.read_bytes()
    num_pages = json.loads(data.removeprefix(b"%PDF-"))["num_pages"]
    return Inspection(tuple(parse_page_range(pages, num_pages)))


@contextmanager
def serving(folder: Path, *, is_scripted: bool = True, loader: LoaderConfig | None = None, **settings: Any):
    config = service_config(folder, **settings)
    config = replace(config, loader=loader or config.loader)
    parse = scripted.parse if is_scripted else read_document
    inspect = inspect_script if is_scripted else inspect_document
    with Service(config, parse) as service, open_socket("127.0.0.1", free_port()) as listener:
        one = server(build_api(service, inspect), config)
        thread = threading.Thread(target=one.run, kwargs={"sockets": [listener]})
        thread.start()
        while not one.started:
            time.sleep(0.005)
        running = Running(f"http://127.0.0.1:{listener.getsockname()[1]}", service)
        try:
            with running.clients:
                yield running
        finally:
            one.should_exit = True
            thread.join()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts a server with settings of the service; it ends with the test."""
    with ExitStack() as stack:
        yield lambda **settings: stack.enter_context(serving(tmp_path / "work", **settings))
