"""Reads documents with the embedded reader: encoder, engine and pointer decoder behind the seam that every
model stands behind.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import torch

from ocr_app.config import AppConfig
from ocr_app.decoder.engine import Engine, KVCounters, Sequence
from ocr_app.models.embedded.checkpoint import load_reader
from ocr_app.models.embedded.drafts import Drafts
from ocr_app.models.embedded.encoder import VisualEncoder
from ocr_app.models.embedded.geometry.suggestion import suggest
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.reader import PointerReader
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import VisualPage, visual_page
from ocr_app.models.embedded.writer import TokenWriter
from ocr_app.types import EncodedPage, KVSample, PageImage, PageReading, RegionKind, TextDelta, Verdict

SAMPLE_EVERY_STEPS = 8


def open_embedded(config: AppConfig) -> "EmbeddedSession":
    """Open the embedded reader for one document. Raises ModelMissingError when weights are absent or not the
    ones expected.
    """
    torch.set_num_threads(config.reader.threads)
    model = load_reader(config.reader.weight_path, config.reader.device)
    return EmbeddedSession(config, VisualEncoder(config.encoder), model)


@dataclass(slots=True)
class _Written:
    """Tokens of the page being read, and how sure the reader was of each."""

    num_tokens: int = 0
    confidences: list[float] = field(default_factory=list)

    @property
    def confidence(self) -> float | None:
        return sum(self.confidences) / len(self.confidences) if self.confidences else None


class EmbeddedSession:
    """One document. `prepare` runs in the encoder's thread, `read` in the caller's; the engine's blocks are
    freed by `close`.
    """

    def __init__(
        self, config: AppConfig, encoder: VisualEncoder, model: PointerReader, *, drafts: bool = True
    ):
        reader = config.reader
        self._max_page_tokens = reader.max_page_tokens
        self._encoder, self._model, self._uses_drafts = encoder, model, drafts
        self._engine = Engine(
            model,
            config.sparsity,
            mode=reader.mode,
            backend=reader.backend,
            dtype=reader.kv_dtype,
            device=reader.device,
        )
        self._sequence: Sequence = self._engine.add_sequence(None)
        self._num_tokens = 0
        self._step_s: float | None = None
        self._has_pages = False
        self._text_before = ""

    def prepare(self, image: PageImage) -> EncodedPage:
        return self._encoder.encode(image)

    def close(self) -> None:
        self._engine.close()

    def read(
        self, page: EncodedPage, should_stop: Callable[[], bool]
    ) -> Iterator[TextDelta | KVSample | PageReading]:
        """Write one page. Ends early, keeping what is written, when asked to stop or at the token cap."""
        if not page.runs:
            yield PageReading(Verdict.BLANK, (), "", reason="no text was found on this page")
            return
        visual = visual_page(page)
        state = self._enter_page(page, visual)
        drafts = Drafts() if self._uses_drafts else None
        writer, written = TokenWriter(page, self._text_before), _Written()
        verdict, reason = Verdict.OK, None
        for step, tokens in enumerate(self._tokens(drafts, state, written)):
            text = "".join(map(writer.add, tokens))
            yield TextDelta(page.page_index, text, _runs_of(tokens))
            if step % SAMPLE_EVERY_STEPS == 0:
                yield self._sample()
            if should_stop():
                verdict, reason = Verdict.INCOMPLETE, "stopped while this page was being read"
                break
            if written.num_tokens > self._max_page_tokens:
                verdict, reason = (
                    Verdict.TOKEN_CAP,
                    f"more than {self._max_page_tokens} tokens; raise reader.max_page_tokens",
                )
                break
        yield from self._leave_page(page, state, writer, written, verdict, reason)

    def _enter_page(self, page: EncodedPage, visual: VisualPage) -> PageState:
        """Prefill the page's visual tokens into the KV cache."""
        texts = [run.text for run in page.runs]
        state = PageState(visual, suggest(page), texts, float(page.page_index), may_continue=self._has_pages)
        self._sequence.state = state
        hidden = self._engine.prefill(self._sequence, page.page_index, visual)
        self._model.finish_reference(state, hidden)
        return state

    def _leave_page(
        self,
        page: EncodedPage,
        state: PageState,
        writer: TokenWriter,
        written: _Written,
        verdict: Verdict,
        reason: str | None,
    ) -> Iterator[TextDelta | KVSample | PageReading]:
        self._engine.end_page(self._sequence)
        left = [run for run in range(state.num_runs) if not state.is_copied[run]]
        is_stopped = verdict is Verdict.INCOMPLETE
        text = writer.finish() if is_stopped else writer.add_unplaced(left) + writer.finish()
        if text:
            yield TextDelta(page.page_index, text)
        yield self._sample()
        self._has_pages = True
        body = [region for region in writer.regions if region.kind is not RegionKind.FURNITURE]
        self._text_before = body[-1].text if body else self._text_before
        yield PageReading(
            verdict,
            writer.regions,
            writer.markdown,
            writer.joint,
            reason,
            num_tokens=written.num_tokens,
            confidence=written.confidence,
        )

    def _tokens(self, drafts: Drafts | None, state: PageState, written: _Written) -> Iterator[list[int]]:
        """Greedy decoding, as many tokens a step as the draft gets right. Each yield is what one step made
        certain, END_PAGE left out.
        """
        token = int(Structure.PAGE)
        while token != Structure.END_PAGE:
            draft = drafts.propose(token, state) if drafts else []
            accepted, token = self._step(state, [token, *draft], written)
            if drafts:
                drafts.learn(len(draft), len(accepted) - 1)
            yield accepted

    def _step(self, state: PageState, proposed: list[int], written: _Written) -> tuple[list[int], int]:
        """Verify a draft: the first token is certain, the rest hold as far as the reader agrees. Returns them
        and the token after.
        """
        started = time.perf_counter()
        with torch.inference_mode():
            logits = self._engine.decode_step([self._sequence], [proposed])[0]
            chosen = logits.argmax(-1).tolist()
            probabilities = torch.exp(logits.amax(-1) - logits.logsumexp(-1)).tolist()
        self._step_s = time.perf_counter() - started
        num_accepted = 1
        while num_accepted < len(proposed) and proposed[num_accepted] == chosen[num_accepted - 1]:
            num_accepted += 1
        for token in proposed[:num_accepted]:
            state.advance(token)
        self._engine.rollback(self._sequence, len(proposed) - num_accepted)
        written.num_tokens += num_accepted
        written.confidences += probabilities[:num_accepted]
        self._num_tokens += num_accepted
        return proposed[:num_accepted], chosen[num_accepted - 1]

    def _sample(self) -> KVSample:
        counters: KVCounters = self._engine.counters(self._sequence)
        return KVSample(
            self._engine.counters().allocated_bytes,
            counters.live_bytes,
            counters.attended_tokens,
            counters.resident_pages,
            num_tokens=self._num_tokens,
            step_s=self._step_s,
        )


def _runs_of(tokens: list[int]) -> tuple[int, ...]:
    return tuple(token - NUM_STRUCTURE_TOKENS for token in tokens if token >= NUM_STRUCTURE_TOKENS)
