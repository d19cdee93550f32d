"""What opens a list item, in Latin script and in Chinese, where no space follows the number."""

import pytest

from ocr_app.models.embedded.letters import opens_item


@pytest.mark.parametrize(
    "text",
    [
        "• word",
        "- word",
        "1. word",
        "(a) word",
        "iv) word",
        "一、获取用于",
        "（二）主机名",
        "①命令可",
        "3.如果",
    ],
)
def test_an_item_opens_with_its_mark(text: str):
    assert opens_item(text)


@pytest.mark.parametrize(
    "text",
    ["word", "1.5 metres", "1.2 Scope", "-5", "e.g. this", "①", "1.", "一切都是", "十分重要", "2024. A year"],
)
def test_what_looks_like_a_mark_opens_none(text: str):
    assert not opens_item(text)
