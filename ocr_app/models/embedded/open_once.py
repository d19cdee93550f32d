"""Weights are opened once a process, however many documents are read at the same time. Knows files, not what
is in them.
"""

import functools
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def open_once(open_file: Callable[Concatenate[Path, P], T]) -> Callable[Concatenate[Path, P], T]:
    """Let a function of a file, and of hashable options, open it once and hand out the same value after that.

    A file that was written anew is opened anew, and what it held before is let go. What is handed out is
    shared between threads: nobody may change it. A failure is not kept.
    """
    lock = threading.Lock()
    opened: dict[tuple[object, ...], tuple[tuple[int, int], T]] = {}

    @functools.wraps(open_file)
    def opened_once(path: Path, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (path.resolve(), *args, *sorted(kwargs.items()))
        with lock:  # held while opening: a second thread waits for the value instead of opening it too
            stat = path.stat()
            version = (stat.st_mtime_ns, stat.st_size)
            if key not in opened or opened[key][0] != version:
                opened[key] = (version, open_file(path, *args, **kwargs))
            return opened[key][1]

    return opened_once
