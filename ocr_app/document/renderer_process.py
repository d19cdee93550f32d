"""The app's side of the renderer: starts the process, asks for pages within a time limit, and ends it. Parses
no document.

A fresh interpreter is started, not a fork and not multiprocessing's spawn, which would import the app's own
main module in the child.
"""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Lock, RLock

import ocr_app
from ocr_app import errors
from ocr_app.document.frames import Channel, Header
from ocr_app.errors import DamagedFileError, OCRError, PageRenderError

_START_TIMEOUT_S = 60.0  # interpreter and libraries on a busy machine
_ALARM_SLACK_S = 5.0  # the child's own clock strikes after ours
_GRACE_S = 0.2
_ERRORS: dict[str, type[OCRError]] = {
    name: value
    for name, value in vars(errors).items()
    if isinstance(value, type) and issubclass(value, OCRError)
}


class RendererClosedError(Exception):
    """The document was closed, from this or another thread, while a page was being drawn."""


class RendererProcess:
    """One renderer for one document, started again when it was lost. `close` may be called from any thread,
    also in mid-page.
    """

    def __init__(
        self, order: Header, document_bytes: bytes, page_timeout_s: float, max_payload_bytes: int
    ) -> None:
        self._order = order | {"alarm_s": page_timeout_s + _ALARM_SLACK_S}
        self._document_bytes = document_bytes
        self._page_timeout_s = page_timeout_s
        self._max_payload_bytes = max_payload_bytes
        self._in_use = RLock()  # held while the pipes are used, so that nobody closes them meanwhile
        self._guard = Lock()  # held while the process is started or killed
        self._is_closed = False
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> Header:
        """Start the process and open the document in it. Returns what the renderer tells about it; raises the
        OCRError it reports.
        """
        timeout_s = _START_TIMEOUT_S + self._page_timeout_s
        with self._in_use:
            try:
                header, _ = self._ask(self._launch(), self._order, self._document_bytes, timeout_s)
            except (EOFError, TimeoutError) as error:
                raise DamagedFileError(
                    f"The file cannot be opened: the renderer {self._end_of(error, timeout_s)}."
                ) from error
            if "error" in header:
                self._discard()
                raise _ERRORS.get(header["error"], DamagedFileError)(header["message"])
            return header

    def draw(self, page_index: int) -> tuple[Header, bytearray]:
        """Header and RGB bytes of a page. Raises PageRenderError with the reason; a lost process is started
        again for the next page.
        """
        with self._in_use:
            process = self._process or self._restart()
            try:
                header, pixels = self._ask(process, {"page_index": page_index}, b"", self._page_timeout_s)
            except (EOFError, TimeoutError) as error:
                reason = self._end_of(error, self._page_timeout_s)
                raise PageRenderError(f"the page could not be drawn: the renderer {reason}") from error
            if header.get("is_last"):
                self._discard()
            if "failure" in header:
                raise PageRenderError(header["failure"])
            return header, pixels

    def stop(self) -> None:
        """End the process; drawing another page starts a new one."""
        with self._in_use:
            self._discard()

    def close(self) -> None:
        """End the process for good. A page being drawn in another thread ends there with
        RendererClosedError.
        """
        with self._guard:
            self._is_closed = True
            if self._process is not None:
                self._process.kill()
        self.stop()

    def _launch(self) -> "subprocess.Popen[bytes]":
        with self._guard:
            if self._is_closed:
                raise RendererClosedError
            self._process = subprocess.Popen(
                [sys.executable, "-B", "-m", "ocr_app.document.renderer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=_environment(),
                bufsize=0,
            )
            return self._process

    def _restart(self) -> "subprocess.Popen[bytes]":
        try:
            self.start()
        except OCRError as error:
            raise PageRenderError(f"the document could not be opened again: {error}") from error
        assert self._process is not None
        return self._process

    def _ask(
        self, process: "subprocess.Popen[bytes]", request: Header, data: bytes, timeout_s: float
    ) -> tuple[Header, bytearray]:
        channel = Channel(process.stdout.fileno(), process.stdin.fileno())
        channel.send(request, data)
        return channel.receive(timeout_s=timeout_s, max_payload_bytes=self._max_payload_bytes)

    def _end_of(self, error: EOFError | TimeoutError, timeout_s: float) -> str:
        """Discard the lost process and tell how it was lost. Raises RendererClosedError when that was our own
        doing.
        """
        if isinstance(error, TimeoutError):
            self._discard()
            return f"took longer than {timeout_s:g} s and was stopped"
        code = self._discard()
        if self._is_closed:
            raise RendererClosedError
        is_signal = code is not None and code < 0
        cause = signal.Signals(-code).name if is_signal else f"exit code {code}"
        return f"ended unexpectedly ({cause})"

    def _discard(self) -> int | None:
        """Kill and reap the process and close its pipes. Returns its exit status, one of its own where it had
        already ended.
        """
        with self._guard:
            process, self._process = self._process, None
        if process is None:
            return None
        process.stdin.close()  # a sound renderer ends by itself now; a hanging one is killed
        with suppress(subprocess.TimeoutExpired):
            process.wait(_GRACE_S)
        process.kill()
        process.stdout.close()
        return process.wait()


def _environment() -> dict[str, str]:
    """One thread for numpy's libraries: their stacks would count against the memory limit. The package is
    found as it was found here.
    """
    package_root = str(Path(ocr_app.__file__).parent.parent)
    inherited = os.environ.get("PYTHONPATH")
    path = package_root if not inherited else os.pathsep.join((package_root, inherited))
    return os.environ | {"PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
