"""Blocks: what links join, and what type, gutters and marks part again."""

from ocr_app.models.embedded.geometry.blocks import find_blocks
from ocr_app.models.embedded.geometry.seen import SeenPage
from ocr_app.types import EncodedPage
from tests.models.conftest import laid_out, typeset


def blocks(page: EncodedPage) -> list[tuple[str, list[int]]]:
    found = find_blocks(SeenPage(page))
    return sorted(
        ((block.kind, sorted(line.index for line in block.lines)) for block in found), key=lambda b: b[1]
    )


def prose(x: float, top: float, num_lines: int) -> list[tuple[float, float, str]]:
    return [(x, top + 18 * row, "words that go on over the line") for row in range(num_lines)]


def test_lines_that_are_linked_are_one_block_and_others_are_not():
    page = laid_out(typeset(*prose(50, 50, 4)), ("text", [0, 1]), ("text", [2]), ("list-item", [3]))
    assert blocks(page) == [("text", [0, 1]), ("text", [2]), ("list-item", [3])]


def test_two_columns_of_one_group_are_parted_at_their_gutter():
    page = typeset(*prose(50, 100, 4), *prose(400, 100, 4))
    assert blocks(laid_out(page, ("text", range(8)))) == [("text", [0, 1, 2, 3]), ("text", [4, 5, 6, 7])]


def test_side_headings_are_parted_from_the_text_beside_them():
    heads = [(50.0, 100.0, "First"), (50.0, 190.0, "Second")]
    page = typeset(*heads, *prose(250, 100, 4), *prose(250, 190, 4), bold=[0, 1])
    found = blocks(laid_out(page, ("text", range(10))))
    assert [kind for kind, _ in found] == ["section-header", "section-header", "text", "text"]
    assert [lines for _, lines in found] == [[0], [1], [2, 3, 4, 5], [6, 7, 8, 9]]
    plain = typeset(*heads, *prose(250, 100, 4), *prose(250, 190, 4))
    assert "section-header" not in [kind for kind, _ in blocks(laid_out(plain, ("text", range(10))))]


def test_a_bold_row_among_others_is_a_heading():
    page = typeset(*prose(50, 50, 5), bold=[2])
    assert ("section-header", [2]) in blocks(laid_out(page, ("text", range(5))))


def test_numbered_lines_of_one_group_are_items_of_their_own():
    lines = [(50.0, 50.0 + 18 * row, f"{row + 1}. item of a list") for row in range(3)]
    page = typeset(*lines, (70.0, 104.0, "that goes on in a second line"))
    assert [found for _, found in blocks(laid_out(page, ("list-item", range(4))))] == [[0], [1], [2, 3]]


def test_lines_called_a_picture_where_none_is_seen_are_what_is_next_most_probable():
    page = typeset((50, 50, "inside"), (50, 500, "outside of it"))
    page = laid_out(page, ("picture", [0, 1]), pictures=((40.0, 40.0, 300.0, 100.0),))
    page.layout.classes[1, 9] = 0.5  # a caption
    assert blocks(page) == [("picture", [0]), ("caption", [1])]
