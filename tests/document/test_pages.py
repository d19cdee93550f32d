"""Page ranges as people write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.document.pages import parse_page_range
from ocr_app.errors import PageRangeError


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("1-5,9,20-", [1, 2, 3, 4, 5, 9, 20, 21, 22]),
        ("-3", [1, 2, 3]),
        ("3, 1 , 3-4", [3, 1, 4]),
        ("20 - 90", [20, 21, 22]),
        ("22", [22]),
        ("", list(range(1, 23))),
        (None, list(range(1, 23))),
    ],
)
def test_ranges(text: str | None, numbers: list[int]):
    assert [index + 1 for index in parse_page_range(text, 22)] == numbers


@pytest.mark.parametrize(
    "text", ["0", "0-3", "5-2", "23", "23-", "a", "1,,2", "1-2-3", "-", "1 2", "--3", "1;2", "٣", "1" * 30]
)
def test_what_cannot_be_meant_is_refused(text: str):
    with pytest.raises(PageRangeError) as caught:
        parse_page_range(text, 22)
    assert len(str(caught.value)) < 250


parts = st.tuples(
    st.sampled_from(["one", "closed", "open", "from start"]), st.integers(1, 12), st.integers(0, 15)
)


def written(kind: str, first: int, length: int) -> tuple[str, list[int]]:
    """A part as text, and its pages counted out one by one."""
    last = first + length
    match kind:
        case "one":
            return str(first), [first]
        case "closed":
            return f"{first}-{last}", [number for number in range(1, 13) if first <= number <= last]
        case "open":
            return f"{first}-", [number for number in range(1, 13) if number >= first]
    return f"-{first}", [number for number in range(1, 13) if number <= first]


@given(st.lists(parts, min_size=1, max_size=5), st.sampled_from([",", ", ", " ,"]))
def test_any_list_of_parts_reads_as_counted_out(plan: list[tuple[str, int, int]], comma: str):
    texts, lists = zip(*(written(*part) for part in plan), strict=True)
    expected: list[int] = []
    for number in (number for numbers in lists for number in numbers):
        if number not in expected:
            expected.append(number)
    assert [index + 1 for index in parse_page_range(comma.join(texts), 12)] == expected
