"""Messages between the app and its renderer: a JSON header, and raw bytes behind it.

The renderer reads hostile files, so nothing that it sends is unpickled, and what it may send is bounded by
the reader.
"""

import json
import os
import select
import struct
import time
from typing import Any

_PREFIX = struct.Struct("<IQ")  # length of the header, length of the payload
_MAX_HEADER_BYTES = 1 << 20
_PIECE_BYTES = 1 << 20

Header = dict[str, Any]


class Channel:
    """Two pipe ends. Raises EOFError when the other side is gone and TimeoutError when the deadline
    passes.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd

    def send(self, header: Header, payload: Any = b"") -> None:
        """Send one message; the payload is any buffer of bytes."""
        body = memoryview(payload).cast("B")
        text = json.dumps(header).encode()
        try:
            self._write(memoryview(_PREFIX.pack(len(text), len(body)) + text))
            self._write(body)
        except (BrokenPipeError, OSError) as error:
            raise EOFError("the other side is gone") from error

    def receive(
        self, *, timeout_s: float | None = None, max_payload_bytes: int | None = None
    ) -> tuple[Header, bytearray]:
        """Receive one message; the time limit covers all of it."""
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        header_bytes, payload_bytes = _PREFIX.unpack(self._read(_PREFIX.size, deadline))
        if header_bytes > _MAX_HEADER_BYTES or (
            max_payload_bytes is not None and payload_bytes > max_payload_bytes
        ):
            raise EOFError("the other side sends more than it may")
        try:
            header = json.loads(self._read(header_bytes, deadline))
        except ValueError as error:
            raise EOFError("the other side sends no JSON") from error
        return header, self._read(payload_bytes, deadline)

    def _write(self, data: memoryview) -> None:
        while data:
            data = data[os.write(self._write_fd, data[:_PIECE_BYTES]) :]

    def _read(self, size: int, deadline: float | None) -> bytearray:
        data = bytearray(size)
        rest = memoryview(data)
        while rest:
            self._wait(deadline)
            count = os.readv(self._read_fd, [rest])
            if not count:
                raise EOFError("the other side is gone")
            rest = rest[count:]
        return data

    def _wait(self, deadline: float | None) -> None:
        if deadline is None:
            return
        poll = select.poll()
        poll.register(self._read_fd, select.POLLIN)
        if not poll.poll(max(0.0, deadline - time.monotonic()) * 1000):
            raise TimeoutError("the other side does not answer in time")
