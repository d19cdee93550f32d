"""Truths are read page by page, with what is known of each and no more."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ocr_app.bench.ground_truth import (
    left_out,
    load_file,
    load_held_out,
    load_middle,
    load_samples,
    pick_pages,
)
from ocr_app.bench.markdown_structure import Heading
from ocr_app.errors import ConfigError

HELD_OUT = Path(__file__).parents[1] / "data" / "held_out"


def test_held_out_pages_have_their_structure_and_no_furniture():
    english, chinese = load_held_out(HELD_OUT)
    assert [page.page_index for page in english.pages] == [0, 1]
    assert [page.structure.headings for page in english.pages] == [
        (Heading(1, "Harbour report"),),
        (Heading(2, "Costs"),),
    ]
    assert english.pages[0].structure.rows[1] == ("March", "14", "6.2")
    assert (english.is_chinese, chinese.is_chinese, english.has_furniture) == (False, True, False)


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    entries = [
        {
            "file": "guide.pdf",
            "pages": 3,
            "ground_truth": "guide.txt",
            "ground_truth_kind": "text layer (reading order)",
        },
        {
            "file": "book.pdf",
            "pages": 1,
            "ground_truth": "book.txt",
            "ground_truth_kind": "OCR layer, not proofread",
        },
        {
            "file": "senate-expenditures.pdf",
            "pages": 1,
            "ground_truth": "book.txt",
            "ground_truth_kind": "text layer",
        },
        {"file": "broken.pdf", "pages": 1, "ground_truth": None},
    ]
    (tmp_path / "index.json").write_text(json.dumps(entries))
    (tmp_path / "guide.txt").write_text("第一页的文字\f\f第三页\f")
    (tmp_path / "book.txt").write_text("one page")
    return tmp_path


def test_samples_tell_what_their_truth_is_good_for(samples: Path):
    guide, book, ledger = load_samples(samples)
    assert [page.text for page in guide.pages] == ["第一页的文字", "", "第三页"]
    assert (guide.is_chinese, guide.has_text_layer, guide.is_exact, guide.is_ordered) == (
        True,
        True,
        True,
        True,
    )
    assert (book.is_chinese, book.has_text_layer, book.is_exact) == (False, False, False)
    assert (ledger.is_exact, ledger.is_ordered) == (True, False)
    assert guide.group == f"{samples.name}, Chinese"


def test_subfolders_are_read_one_after_the_other(samples: Path, tmp_path_factory: pytest.TempPathFactory):
    home = tmp_path_factory.mktemp("samples")
    for name in ("digital", "scanned"):
        (home / name).symlink_to(samples)
    assert [document.group for document in load_samples(home)][::3] == [
        "digital, Chinese",
        "scanned, Chinese",
    ]


def test_what_is_left_out_is_told_with_the_reason(samples: Path):
    assert [(name, part) for name, part, _ in left_out(samples)] == [
        ("book.pdf", "all but time"),
        ("senate-expenditures.pdf", "CER, order"),
        ("broken.pdf", "everything"),
    ]


def test_pages_from_the_middle_are_a_group_of_their_own(samples: Path):
    middle = load_middle(samples, "guide.pdf", 2, 3)
    assert (middle.page_range, middle.is_sample) == ("2,3", False)
    assert middle.group == middle.name == "guide.pdf 2-3"
    for name, first, match in (("guide.pdf", 9, "no pages 9-9"), ("none.pdf", 1, "no sample")):
        with pytest.raises(ConfigError, match=match):
            load_middle(samples, name, first, first)


def test_a_folder_without_a_list_is_named(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"index\.json"):
        load_held_out(tmp_path)


def test_a_file_with_its_text_beside_it(samples: Path):
    document = load_file(samples / "guide.pdf", 1)
    assert (document.page_range, document.pages[0].text) == ("1", "第一页的文字")


@given(st.integers(1, 500), st.integers(1, 60))
def test_picked_pages_are_as_many_as_wanted_and_in_order(num_all: int, num_wanted: int):
    picked = pick_pages(num_all, num_wanted)
    assert picked == sorted(set(picked))
    assert set(picked) <= set(range(num_all))
    assert len(picked) == min(num_all, num_wanted)


def test_picked_pages_come_in_pairs_over_the_whole_document():
    assert pick_pages(100, 6) == [0, 1, 33, 34, 66, 67]
    assert pick_pages(4, None) == [0, 1, 2, 3]
