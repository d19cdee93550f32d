"""Reading on a Space with ZeroGPU, where a GPU is lent to one decorated function at a time. Elsewhere this
changes nothing.

There the function runs in another process and its arguments are pickled, so that our stop flag cannot travel:
closing the generator ends the work instead.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ocr_app.config import AppConfig
from ocr_app.types import Event
from ocr_app.ui.jobs import Parse

LEASE_S = 120


def with_lent_gpu(parse: Parse) -> Parse:
    """The parse function, on a lent GPU where the Space lends them."""
    if not os.environ.get("SPACES_ZERO_GPU"):
        return parse
    import spaces

    @spaces.GPU(duration=LEASE_S)
    def lent(source: Path, config: AppConfig, password: str | None, pages: str | None) -> Iterator[Event]:
        yield from parse(source, config, password=password, pages=pages)

    def parse_on_gpu(
        source: Path,
        config: AppConfig,
        *,
        should_stop: Callable[[], bool],
        password: str | None = None,
        pages: str | None = None,
    ) -> Iterator[Event]:
        events: Any = lent(source, config, password, pages)
        for event in events:
            yield event
            if should_stop():
                events.close()
                return

    return parse_on_gpu
