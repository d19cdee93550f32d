"""The reader through the engine: the same scores as in training, drafts that change nothing, pages that do
not see each other.
"""

from dataclasses import replace

import numpy as np
import pytest
import torch

from ocr_app.config import AppConfig, SparsityConfig
from ocr_app.models.embedded import reader as reader_module
from ocr_app.models.embedded.checkpoint import load_reader
from ocr_app.models.embedded.geometry.suggestion import suggest
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.reader import PointerReader, ReaderShape
from ocr_app.models.embedded.session import EmbeddedSession, _Written
from ocr_app.models.embedded.visual import visual_page
from ocr_app.training.batches import collate
from ocr_app.training.forward import Sight, forward
from ocr_app.training.seen import PageSample
from ocr_app.training.targets import legal_structure
from ocr_app.types import EncodedPage, KVSample, PageReading, Rule, TextDelta, Verdict
from tests.models.conftest import laid_out, typeset

ROWS = [
    ["Title"],
    ["1. ", "some ", "words ", "of ", "a ", "para-"],
    ["graph ", "that ", "ends."],
    ["left ", "right"],
    ["7"],
]
SMALL = ReaderShape(
    width=32, num_layers=2, num_heads=2, head_dim=48, hidden_dim=48, geometry_dim=16, pointer_dim=48
)


@pytest.fixture
def model() -> PointerReader:
    reader = PointerReader(SMALL).eval().requires_grad_(False)
    for parameter in reader.parameters():
        if parameter.dim() > 1:
            torch.nn.init.normal_(parameter, std=0.3)
    torch.nn.init.normal_(reader.router_heads, std=0.5)
    return reader


def open_session(
    model: PointerReader, *, drafts: bool = True, mode: str = "sparse", **sparsity
) -> EmbeddedSession:
    config = AppConfig(sparsity=SparsityConfig(**sparsity))
    return EmbeddedSession(
        replace(config, reader=replace(config.reader, mode=mode)), None, model, drafts=drafts
    )


def read(session: EmbeddedSession, page: EncodedPage) -> tuple[PageReading, str]:
    items = list(session.read(page, lambda: False))
    return items[-1], "".join(item.text for item in items if isinstance(item, TextDelta))


def test_every_run_is_placed_once_even_by_an_untrained_reader(model, make_page):
    session = open_session(model)
    for index in range(3):
        page = make_page(ROWS, page_index=index, seed=index)
        reading, text = read(session, page)
        placed = sorted(run for region in reading.regions for run in region.run_indices)
        assert placed == list(range(len(page.runs)))
        assert reading.verdict is Verdict.OK
        assert text == reading.markdown


def test_drafts_change_the_number_of_steps_and_nothing_else(model, make_page):
    pages = [make_page(ROWS * 3, page_index=index, seed=index) for index in range(2)]
    plain, drafted = open_session(model, drafts=False), open_session(model, drafts=True)
    for page in pages:
        assert read(plain, page)[0].regions == read(drafted, page)[0].regions
    assert drafted._engine.num_steps <= plain._engine.num_steps


def test_sparse_with_unlimited_budgets_reads_as_full_attention(model, make_page):
    sparse = open_session(
        model,
        text_window=10_000,
        sparsity_ratio=1.0,
        block_budget=500,
        candidate_blocks=500,
        max_resident_blocks=500,
    )
    full = open_session(model, mode="full")
    for index in range(3):
        page = make_page(ROWS * 2, page_index=index, seed=index)
        assert read(sparse, page)[0].regions == read(full, page)[0].regions


def test_closing_a_session_in_the_middle_of_a_page_frees_its_blocks(model, make_page):
    session = open_session(model)
    events = session.read(make_page(ROWS), lambda: False)
    next(events)
    events.close()
    session.close()
    assert (
        session._engine.pool.num_free_blocks == session._engine.pool.num_blocks - 1
    )  # all but the null block


def test_a_stopped_page_keeps_what_is_written(model, make_page):
    session = open_session(model, drafts=False)
    asked = iter(range(1000))
    items = list(session.read(make_page(ROWS), lambda: next(asked) >= 4))
    assert items[-1].verdict is Verdict.INCOMPLETE
    assert "".join(item.text for item in items if isinstance(item, TextDelta)) == items[-1].markdown


def test_the_token_cap_ends_a_page_and_marks_what_is_left(model, make_page):
    session = open_session(model, drafts=False)
    session._max_page_tokens = 3
    page = make_page(ROWS)
    reading, _ = read(session, page)
    assert reading.verdict is Verdict.TOKEN_CAP
    assert sorted(run for region in reading.regions for run in region.run_indices) == list(
        range(len(page.runs))
    )


def sample_of(page: EncodedPage) -> PageSample:
    """A page with what geometry suggests as its targets."""
    visual, suggestion = visual_page(page), suggest(page)
    tokens = [
        int(token)
        for before, run in zip(suggestion.before, suggestion.order, strict=True)
        for token in (*before, NUM_STRUCTURE_TOKENS + run)
    ]
    tokens.append(int(Structure.END_PAGE))
    legal = legal_structure(
        tokens, len(page.runs), [run.text for run in page.runs], may_continue=page.page_index > 0
    )
    return PageSample(visual.features, visual.geometry, visual.positions, np.array(tokens), legal)


@pytest.mark.parametrize("references", ["all", "routed"])
def test_the_engine_scores_as_training_does(model, make_page, references, monkeypatch):
    pages = [make_page(ROWS * 4, page_index=index, seed=index) for index in range(3)]
    assert_scores_agree(model, pages, references, monkeypatch)


def test_the_engine_scores_a_table_of_three_columns_as_training_does(model, monkeypatch):
    assert_scores_agree(model, [table_page(), table_page(page_index=1)], "all", monkeypatch)


def table_page(page_index: int = 0) -> EncodedPage:
    """Three columns, four rows, a cell left empty and one of two words; ruled all over."""
    rows = ["Item Made Sold", "Kettle 120 98", "Spoon 75 -", "Old,anvil 8 7"]
    lines = [
        (100.0 + 200 * column, 100.0 + 30 * row, word.replace(",", " "))
        for row, text in enumerate(rows)
        for column, word in enumerate(text.split())
        if word != "-"
    ]
    page = typeset(*lines)
    level = tuple(Rule(92.0 + 30 * row, 90, 540) for row in range(5))
    upright = tuple(Rule(place, 92, 212) for place in (90.0, 290.0, 490.0, 540.0))
    page = laid_out(page, ("table", range(len(lines))), level_rules=level, upright_rules=upright)
    features = np.random.default_rng(page_index).standard_normal(page.features.shape).astype(np.float32)
    return replace(page, image=replace(page.image, page_index=page_index), features=features)


TABLE = """\
| Item | Made | Sold |
| --- | --- | --- |
| Kettle | 120 | 98 |
| Spoon | 75 |  |
| Old anvil | 8 | 7 |"""


def test_the_shipped_reader_writes_a_table_of_three_columns():
    shipped = load_reader(None, "cpu")
    reading, text = read(open_session(shipped), table_page())
    assert reading.verdict is Verdict.OK
    assert text.strip() == TABLE


def assert_scores_agree(model, pages: list[EncodedPage], references: str, monkeypatch) -> None:
    """Training knows no suggestion: without its lean, the engine scores every token as training does."""
    monkeypatch.setattr(reader_module, "SUGGESTION_LEAN", 0.0)
    samples = [sample_of(page) for page in pages]
    batch = collate([samples], FixedAxis())
    sight = Sight(text_window=24, references=references, block_budget=2, overlap_pages=1)
    trained = forward(model, batch, sight)[0]
    limits = {"max_resident_blocks": 500, "sparsity_ratio": 1.0, "text_window": 24}
    budget = 2 if references == "routed" else 500
    session = open_session(model, block_budget=budget, candidate_blocks=max(16, budget), **limits)
    start = 0
    for page, sample in zip(pages, samples, strict=True):
        state = session._enter_page(page, visual_page(page))
        for token, expected in zip(
            [int(Structure.PAGE), *sample.tokens[:-1].tolist()], trained[start:], strict=False
        ):
            logits = session._engine.decode_step([session._sequence], [[token]])[0][0]
            state.advance(token)
            same_width = torch.cat([expected, torch.full((len(logits),), float("-inf"))])[: len(logits)]
            torch.testing.assert_close(logits, same_width, atol=2e-4, rtol=2e-4)
            assert logits.isfinite().any()
        session._engine.end_page(session._sequence)
        session._has_pages = True
        start += len(sample.tokens)


class FixedAxis:
    """Stands in for the random page distances of training: pages 0, 1, 2."""

    def randint(self, low: int, high: int) -> int:
        return 0

    def random(self) -> float:
        return 0.0


def test_a_strong_lean_makes_any_reader_write_the_suggestion(model, make_page, monkeypatch):
    monkeypatch.setattr(reader_module, "SUGGESTION_LEAN", 1e4)
    for page in (make_page(ROWS * 2), table_page()):
        session = open_session(model)
        state = session._enter_page(page, visual_page(page))
        steps = session._tokens(None, state, _Written())
        assert [token for step in steps for token in step][1:] == sample_of(page).tokens.tolist()[:-1]


def test_without_a_lean_an_untrained_reader_goes_its_own_way(model, make_page, monkeypatch):
    """Otherwise the test above could not fail."""
    monkeypatch.setattr(reader_module, "SUGGESTION_LEAN", 0.0)
    session, page = open_session(model), make_page(ROWS * 2)
    steps = session._tokens(None, session._enter_page(page, visual_page(page)), _Written())
    assert [token for step in steps for token in step][1:] != sample_of(page).tokens.tolist()[:-1]


def test_kv_readings_carry_the_time_of_the_last_step(model, make_page):
    samples = [
        item
        for item in open_session(model).read(make_page(ROWS), lambda: False)
        if isinstance(item, KVSample)
    ]
    assert all(sample.step_s > 0 for sample in samples)
    assert samples[-1].num_tokens > 0
