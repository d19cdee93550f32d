"""Continuous batching: many documents over one engine, each joining, leaving or cancelled at any step.

A step is at most one page prefilled, then one token for every document that is reading: running documents
wait for one page at most. Pages are drawn from each document's own iterator, one at a time, when it is ready
for the next. Knows token ids and pages as opaque objects; what the ids mean is the caller's business.
"""

import logging
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol

import torch
from torch import Tensor

from ocr_app.decoder.engine import Engine
from ocr_app.decoder.sampling import PageGuard, SamplingConfig, pick_token, repeating_tokens
from ocr_app.decoder.sequence import Sequence
from ocr_app.errors import OCRError, OutOfMemoryError

log = logging.getLogger(__name__)


class DocumentState(Protocol):
    """What the scheduler tells a model's per-document state; the rest of it is the model's own."""

    def begin_page(self, page_index: int) -> None:
        """The page is about to be prefilled."""
        ...

    def accept(self, token: int) -> None:
        """The token has been appended to the KV cache."""
        ...


class RequestStatus(StrEnum):
    WAITING = "waiting"  # for its next page to be prefilled
    DECODING = "decoding"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


@dataclass(slots=True, eq=False)
class Request:
    """One document on its way. `output` has a list of token ids per page begun, without the border tokens."""

    state: Any
    pages: Iterator[Any]
    num_pages: int
    sampling: SamplingConfig
    random: torch.Generator
    status: RequestStatus = RequestStatus.WAITING
    next_page: Any = None  # drawn from pages, not yet prefilled
    sequence: Sequence | None = None  # from its first prefill to its end
    output: list[list[int]] = field(default_factory=list)
    cut_pages: set[int] = field(default_factory=set)  # pages broken off at the token cap
    error: OCRError | None = None  # why it failed
    history: list[int] = field(default_factory=list)  # every id fed to the model

    @property
    def is_over(self) -> bool:
        return self.status in (RequestStatus.DONE, RequestStatus.CANCELLED, RequestStatus.FAILED)

    @property
    def has_more_pages(self) -> bool:
        return len(self.output) < self.num_pages


@dataclass(frozen=True, slots=True)
class PickedToken:
    """One token of one document, border tokens included."""

    request: Request
    page_index: int
    token: int


class Scheduler:
    """Runs requests over an engine, at most `max_running` at once; the others wait their turn in the order
    they came.
    """

    def __init__(self, engine: Engine, guard: PageGuard, *, max_running: int = 16) -> None:
        self.engine, self.guard, self.max_running = engine, guard, max_running
        self.requests: list[Request] = []  # not over yet, oldest first

    def submit(
        self,
        state: DocumentState,
        pages: Iterable[Any],
        num_pages: int,
        *,
        sampling: SamplingConfig | None = None,
        seed: int = 0,
    ) -> Request:
        """Let a document join. `pages` is read as the document advances and must hold `num_pages`, at least
        one.
        """
        assert num_pages >= 1, "a document has at least one page"
        random = torch.Generator().manual_seed(seed)
        request = Request(state, iter(pages), num_pages, sampling or SamplingConfig(), random)
        self.requests.append(request)
        return request

    def cancel(self, request: Request) -> None:
        """Let a document leave now; its blocks are free when this returns."""
        if not request.is_over:
            self._leave(request, RequestStatus.CANCELLED)

    def step(self) -> list[PickedToken]:
        """Prefill at most one page, then advance every reading document by a token."""
        self._prefill_one()
        reading = [request for request in self.requests if request.status is RequestStatus.DECODING]
        return [
            self._advance(request, logits) for request, logits in self._decode(reading) if not request.is_over
        ]

    def run(self) -> Iterator[PickedToken]:
        """Step until every request is over."""
        while self.requests:
            yield from self.step()

    def _prefill_one(self) -> None:
        """Give the longest waiting document its next page; a new one joins when none waits and a place is
        free.
        """
        running = [request for request in self.requests if request.sequence is not None]
        waiting = [request for request in running if request.status is RequestStatus.WAITING]
        if not waiting and len(running) < self.max_running:
            waiting = [request for request in self.requests if request.sequence is None]
        if waiting:
            self._prefill(waiting[0])

    def _prefill(self, request: Request) -> None:
        """Prefill the next page of a document, its first or a later one."""
        if request.sequence is None:
            request.sequence = self.engine.add_sequence(request.state)
        page_index = len(request.output)
        if request.next_page is None:
            request.state.begin_page(page_index)
            request.next_page = next(request.pages)
        try:
            self.engine.prefill(request.sequence, page_index, request.next_page)
        except OutOfMemoryError as error:
            self._wait_for_room(request, error)
            return
        request.next_page = None
        request.output.append([])
        request.history.append(self.guard.page_token)
        request.status = RequestStatus.DECODING

    def _wait_for_room(self, request: Request, error: OutOfMemoryError) -> None:
        """A page found no room: wait while others read and may free some. When all wait for room, the newest
        must go.
        """
        if not request.output:  # not begun: back into the queue
            self.engine.remove(request.sequence)
            request.sequence = None
        running = [each for each in self.requests if each.sequence is not None]
        if not running:
            self._fail(request, error)
        elif all(each.status is RequestStatus.WAITING for each in running):
            self._fail(running[-1], error)

    def _decode(self, reading: list[Request]) -> list[tuple[Request, Tensor]]:
        """Logits after the latest token of each; when the batch fails, each alone, so that only the culprits
        fail.
        """
        if not reading:
            return []
        try:
            logits = self.engine.decode_step(
                [request.sequence for request in reading], [request.history[-1:] for request in reading]
            )
        except OCRError as error:
            if len(reading) == 1:
                self._fail(reading[0], error)
                return []
            return [pair for request in reading for pair in self._decode([request])]
        for request in reading:
            request.state.accept(request.history[-1])
        return [(request, row[-1]) for request, row in zip(reading, logits, strict=True)]

    def _advance(self, request: Request, logits: Tensor) -> PickedToken:
        """Pick the next token and act on it: text, the next page, or the end."""
        page_index = len(request.output) - 1
        token = self.guard.forced(len(request.output[-1]), has_more_pages=request.has_more_pages)
        if token is not None:
            request.cut_pages.add(page_index)
        else:
            forbidden = repeating_tokens(request.history, request.sampling) | {
                self.guard.forbidden(has_more_pages=request.has_more_pages)
            }
            token = pick_token(logits, forbidden, request.sampling, request.random)
        if token == self.guard.end_token:
            self._leave(request, RequestStatus.DONE)
        elif token == self.guard.page_token:
            self.engine.end_page(request.sequence)
            request.status = RequestStatus.WAITING
        else:
            request.output[-1].append(token)
            request.history.append(token)
        return PickedToken(request, page_index, token)

    def _fail(self, request: Request, error: OCRError) -> None:
        log.warning("a document failed on page %d: %s", len(request.output), error)
        request.error = error
        self._leave(request, RequestStatus.FAILED)

    def _leave(self, request: Request, status: RequestStatus) -> None:
        request.status = status
        self.requests.remove(request)
        if request.sequence is not None:
            self.engine.remove(request.sequence)
