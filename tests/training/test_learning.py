"""From truth to tokens, batches and loss: what the reader learns is what the grammar allows and what the page
says.
"""

import random
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.models.embedded.geometry.suggestion import Suggestion
from ocr_app.models.embedded.grammar import NUM_STRUCTURE_TOKENS, Structure
from ocr_app.models.embedded.reader import PointerReader, ReaderShape
from ocr_app.models.embedded.state import PageState
from ocr_app.models.embedded.visual import NUM_GEOMETRY_FEATURES, visual_page
from ocr_app.training.ablation import MAX_PAGES, REFERENCES, count_wrong
from ocr_app.training.batches import collate
from ocr_app.training.dataset import load_documents, save_documents
from ocr_app.training.forward import IGNORED, Sight, forward, loss_of, repeats_of, visible
from ocr_app.training.seen import FRAME_SIZE, FrameBank, PageSample, seen_by_simulation
from ocr_app.training.style_draw import draw_style
from ocr_app.training.targets import SeenRuns, legal_structure, page_tokens
from ocr_app.training.texts import TextSource
from ocr_app.training.train import TrainConfig, Trainer, standardise, start_from
from ocr_app.training.truth import PageTruth, Unit, UnitKind
from tests.models.conftest import page_of

POINTER = NUM_STRUCTURE_TOKENS
SMALL = ReaderShape(
    width=32, num_layers=2, num_heads=2, head_dim=48, hidden_dim=48, geometry_dim=16, pointer_dim=48
)


def seen(texts: list[str], unit_of: list[int], lines: list[int], soft: tuple[int, ...] = ()) -> SeenRuns:
    """Runs side by side within a line, lines below each other."""
    boxes = np.array(
        [[60 * i, 20 * line, 60 * i + 40, 20 * line + 12] for i, line in enumerate(lines)], np.float32
    )
    hyphens = np.isin(np.arange(len(texts)), soft)
    return SeenRuns(
        texts,
        boxes,
        np.array(lines),
        np.array(unit_of),
        np.arange(len(texts), dtype=float),
        hyphens,
        ~hyphens,
    )


def test_a_hyphen_the_typesetter_put_in_is_dropped_and_a_true_one_kept():
    runs = seen(["infor-", "mation", "high-", "level"], [0, 0, 0, 0], [0, 1, 2, 3], soft=(0,))
    tokens = page_tokens([Unit(UnitKind.PARAGRAPH)], False, runs)
    drop = int(Structure.DROP_HYPHEN)
    assert tokens == [
        Structure.PARAGRAPH,
        POINTER,
        drop,
        POINTER + 1,
        POINTER + 2,
        POINTER + 3,
        Structure.END_PAGE,
    ]


def test_a_table_opens_empty_cells_before_text_and_leaves_out_rows_without_any():
    cells = [
        Unit(UnitKind.CELL, row=row, column=column, num_columns=3) for row, column in ((0, 0), (0, 2), (2, 1))
    ]
    tokens = page_tokens(cells, False, seen(["a", "b", "c"], [0, 1, 2], [0, 0, 1]))
    cell, row, table = Structure.CELL, Structure.ROW, Structure.TABLE
    assert tokens == [
        table,
        cell,
        POINTER,
        cell,
        cell,
        POINTER + 1,
        row,
        cell,
        cell,
        POINTER + 2,
        Structure.END_PAGE,
    ]


def test_a_continued_page_says_so_after_its_header():
    units = [Unit(UnitKind.FURNITURE), Unit(UnitKind.PARAGRAPH, region=1)]
    tokens = page_tokens(units, True, seen(["7", "goes on"], [0, 1], [0, 1]))
    assert tokens == [
        Structure.FURNITURE,
        POINTER,
        Structure.CONTINUE,
        Structure.PARAGRAPH,
        POINTER + 1,
        Structure.END_PAGE,
    ]


def test_marks_that_belong_to_no_unit_are_furniture():
    tokens = page_tokens([Unit(UnitKind.PARAGRAPH)], False, seen(["text", "~"], [0, -1], [0, 1]))
    assert tokens[-3:] == [Structure.FURNITURE, POINTER + 1, Structure.END_PAGE]


def test_targets_that_break_the_grammar_are_refused():
    with pytest.raises(AssertionError, match="not allowed"):
        legal_structure([Structure.PARAGRAPH, Structure.END_PAGE], 1, ["a"], may_continue=False)


def drawn_page(page_index: int, rng: random.Random) -> PageTruth:
    """Two paragraphs of random letters set in a grid."""
    chars, boxes, units = [], [], []
    for unit in range(2):
        for line in range(3):
            x, y = 50.0, 60.0 + 60 * unit + 14 * line
            for _ in range(rng.randint(2, 4)):
                for _ in range(rng.randint(1, 11)):
                    chars.append(rng.choice("abcd"))
                    boxes.append((x, y, x + 5, y + 11))
                    units.append(unit)
                    x += 5
                x += 4
    paragraphs = (Unit(UnitKind.PARAGRAPH, region=1), Unit(UnitKind.PARAGRAPH, region=2))
    none, places = np.zeros(len(chars), bool), np.array(boxes, np.float32)
    return PageTruth(
        page_index,
        400,
        600,
        paragraphs,
        False,
        "".join(chars),
        places,
        np.array(units),
        none,
        none,
        none,
        ("", ""),
    )


@pytest.fixture
def documents() -> list[list[PageSample]]:
    rng, bank = random.Random(3), FrameBank()
    for character in "abcd":
        bank._frames[character] = [np.full(FRAME_SIZE, ord(character) / 100, np.float16)]
    return [[seen_by_simulation(drawn_page(index, rng), bank, rng) for index in range(2)] for _ in range(3)]


def test_simulated_runs_are_short_and_all_are_copied_once(documents):
    for page in (page for document in documents for page in document):
        pointers = sorted(int(token) - POINTER for token in page.tokens if token >= POINTER)
        assert pointers == list(range(len(page.positions)))


def test_documents_come_back_from_disk(documents, tmp_path):
    save_documents(documents, tmp_path / "data.npz")
    for before, after in zip(documents, load_documents(tmp_path / "data.npz"), strict=True):
        for old, new in zip(before, after, strict=True):
            assert old.tokens.tolist() == new.tokens.tolist()
            assert np.array_equal(old.legal, new.legal)
            assert np.allclose(old.features, new.features, atol=0.02)
            assert np.allclose(old.positions, new.positions, atol=0.05)


def test_every_target_is_legal_and_has_a_finite_loss(documents):
    batch = collate(documents, random.Random(0))
    logits = forward(PointerReader(SMALL), batch, Sight())
    is_target = batch.targets != IGNORED
    assert logits.gather(-1, batch.targets.clamp_min(0)[..., None])[is_target].isfinite().all()
    assert loss_of(logits, batch).isfinite()


@given(
    st.lists(
        st.sampled_from([int(Structure.CELL), int(Structure.ROW), POINTER, POINTER + 1]),
        min_size=1,
        max_size=30,
    )
)
@settings(max_examples=30, deadline=None)
def test_repeats_are_counted_in_training_as_in_reading(tokens: list[int]):
    page = visual_page(page_of((0, 0, ["a", "b"])))
    state = PageState(page, Suggestion(), ["a", "b"], 0.0, may_continue=False)
    assert repeats_of(torch.tensor([tokens]))[0].tolist() == state.repeats_after(tokens)


def test_a_run_takes_over_what_a_smaller_one_learned(documents, tmp_path):
    first, second = (Trainer(PointerReader(SMALL), TrainConfig(), "cpu") for _ in range(2))
    standardise(first.model, [document for document in documents])
    first.average = {name: value.clone() for name, value in first.model.state_dict().items()}
    known = NUM_GEOMETRY_FEATURES - 3
    first.average["geometry_in.0.weight"] = first.average["geometry_in.0.weight"][:, :known]
    for name in ("geometry_mean", "geometry_scale"):
        first.average[name] = first.average[name][:known]
    del first.average["repeat_embedding.weight"]
    first.save(tmp_path / "checkpoint.pt")
    start_from(second, tmp_path / "checkpoint.pt")
    batch = collate(documents, random.Random(0))
    with torch.no_grad():
        first.model.geometry_in[0].weight[:, known:] = 0
        torch.testing.assert_close(
            forward(second.model, batch, Sight()), forward(first.model, batch, Sight())
        )
    assert torch.equal(second.average["copied"], first.average["copied"])


def test_a_page_does_not_see_the_pages_after_it(documents):
    batch = collate(documents, random.Random(0))
    num_visual = batch.is_visual.shape[2]
    see = visible(batch, Sight())[:, 0, :, num_visual : 2 * num_visual]
    assert not see[batch.page_of == 0].any()
    assert see[(batch.page_of == 1) & (batch.targets != IGNORED)].any()


def test_a_few_steps_learn_a_tiny_set(documents):
    torch.manual_seed(0)
    model, batch = PointerReader(SMALL), collate(documents, random.Random(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    losses = []
    for _ in range(15):
        loss = loss_of(forward(model, batch, Sight(references="routed", overlap_pages=0)), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.6 * losses[0]


def test_the_ablation_counts_every_token_behind_the_first_page(documents):
    model = PointerReader(SMALL)
    standardise(model, documents)
    expected = sum(len(page.tokens) for document in documents for page in document[1:MAX_PAGES])
    counts = {references: count_wrong(model.eval(), documents, references) for references in REFERENCES}
    assert {total.total() for total, _ in counts.values()} == {expected}
    assert all(0 < wrong.total() <= expected for _, wrong in counts.values()), (
        "a network that has learned nothing is wrong somewhere"
    )


def test_loud_running_heads_change_nothing_else_in_a_style():
    texts = [TextSource("en", "train", random.Random(4)) for _ in range(2)]
    quiet, loud = (
        draw_style(random.Random(5), split="train", language="en", texts=source, loud_heads=share)
        for source, share in zip(texts, (0.0, 1.0), strict=True)
    )
    assert loud.header.bold
    assert loud.header.scale > 1.05 >= quiet.header.scale
    assert replace(loud, family=quiet.family, header=quiet.header, footer=quiet.footer) == quiet
