"""Reads identical line crops once: a least-recently-used store of read lines by the hash of their pixels.

Exact by construction: the key is a hash of every pixel and of the shape, so nothing that merely looks alike
is taken for the same.
"""

import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from functools import cache

import numpy as np

from ocr_app.models.embedded.recogniser import ReadLine

Key = bytes
ReadCrops = Callable[[list[np.ndarray]], list[ReadLine]]


class LineStore:
    """Read lines by key, the least recently used dropped first. Safe to use from several threads."""

    def __init__(self, max_entries: int) -> None:
        self._max_entries = max_entries
        self._lines: OrderedDict[Key, ReadLine] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._lines)

    def find(self, keys: Iterable[Key]) -> dict[Key, ReadLine]:
        """Those of the keys that are stored; they count as used now."""
        with self._lock:
            found = {key: self._lines[key] for key in keys if key in self._lines}
            for key in found:
                self._lines.move_to_end(key)
        return found

    def add(self, lines: dict[Key, ReadLine]) -> None:
        with self._lock:
            self._lines.update(lines)
            while len(self._lines) > self._max_entries:
                self._lines.popitem(last=False)


@cache
def shared_store(quality: str, max_entries: int) -> LineStore:
    """The store that all encoders of this process with the same weights share."""
    return LineStore(max_entries)


def crop_key(crop: np.ndarray) -> Key:
    digest = hashlib.blake2b(repr(crop.shape).encode(), digest_size=16)
    digest.update(np.ascontiguousarray(crop))
    return digest.digest()


def read_reusing(store: LineStore, read: ReadCrops, crops: list[np.ndarray]) -> tuple[list[ReadLine], int]:
    """Read crops, each different one once, and say how many needed no reading."""
    keys = [crop_key(crop) for crop in crops]
    known = store.find(keys)
    missing = {key: crop for key, crop in zip(keys, crops, strict=True) if key not in known}
    fresh = dict(zip(missing, read(list(missing.values())), strict=True))
    store.add(fresh)
    lines = known | fresh
    return [lines[key] for key in keys], len(crops) - len(missing)
