"""Whatever the logits say, a page ends, copies every run once and stays well-formed."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ocr_app.models.embedded.grammar import (
    CONTINUABLE,
    MAX_TABLE_COLUMNS,
    NUM_STRUCTURE_TOKENS,
    REGIONS,
    Grammar,
    Structure,
    max_page_tokens,
)


def random_page(draw, num_runs: int, *, may_continue: bool) -> list[int]:
    grammar, tokens, left = Grammar(num_runs, may_continue), [], list(range(num_runs))
    while not grammar.is_ended:
        mask, pointer = grammar.allowed(ends_with_hyphen=draw(st.booleans()))
        options = [token for token in range(NUM_STRUCTURE_TOKENS) if mask[token]]
        options += [NUM_STRUCTURE_TOKENS + run for run in left] if pointer else []
        token = draw(st.sampled_from(options))
        if token >= NUM_STRUCTURE_TOKENS:
            left.remove(token - NUM_STRUCTURE_TOKENS)
        grammar.advance(token)
        tokens.append(token)
        assert len(tokens) <= max_page_tokens(num_runs)
    return tokens


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(0, 6), st.booleans())
def test_any_choice_of_allowed_tokens_ends_the_page_and_copies_every_run_once(data, num_runs, may_continue):
    tokens = random_page(data.draw, num_runs, may_continue=may_continue)
    pointers = sorted(token - NUM_STRUCTURE_TOKENS for token in tokens if token >= NUM_STRUCTURE_TOKENS)
    assert pointers == list(range(num_runs))
    assert tokens[-1] == Structure.END_PAGE


@settings(max_examples=60, deadline=None)
@given(st.data(), st.integers(1, 6))
def test_every_row_of_a_table_holds_text_and_few_cells(data, num_runs):
    tokens = random_page(data.draw, num_runs, may_continue=False)
    for table in split_tables(tokens):
        assert all(any(token >= NUM_STRUCTURE_TOKENS for token in row) for row in table)
        assert all(1 <= row.count(Structure.CELL) <= MAX_TABLE_COLUMNS for row in table)


def split_tables(tokens: list[int]) -> list[list[list[int]]]:
    tables, row = [], None
    for token in tokens:
        if token == Structure.TABLE:
            tables.append([[]])
            row = tables[-1][-1]
        elif token == Structure.ROW:
            tables[-1].append([])
            row = tables[-1][-1]
        elif token in REGIONS or token == Structure.END_PAGE:
            row = None
        elif row is not None:
            row.append(token)
    return tables


def test_only_a_region_that_can_go_on_follows_continue():
    grammar = Grammar(2, may_continue=True)
    grammar.advance(Structure.CONTINUE)
    mask, pointer = grammar.allowed()
    assert {token for token in range(NUM_STRUCTURE_TOKENS) if mask[token]} == set(CONTINUABLE)
    assert not pointer


def test_a_first_page_continues_nothing():
    assert not Grammar(2, may_continue=False).allowed()[0][Structure.CONTINUE]


def test_a_hyphen_is_dropped_only_where_one_was_copied():
    grammar = Grammar(2)
    grammar.advance(Structure.PARAGRAPH)
    grammar.advance(NUM_STRUCTURE_TOKENS)
    assert grammar.allowed(ends_with_hyphen=True)[0][Structure.DROP_HYPHEN]
    assert not grammar.allowed(ends_with_hyphen=False)[0][Structure.DROP_HYPHEN]
