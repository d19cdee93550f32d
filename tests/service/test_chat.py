"""The OpenAI-compatible way in, asked by the official client."""

import base64

import openai
import pytest

from ocr_app.service.keys import Role
from tests.service import scripted
from tests.service.support import wait_until


def file_part(marker: str, num_pages: int, **told) -> dict:
    data = base64.b64encode(scripted.document(marker, num_pages, **told)).decode()
    return {
        "type": "file",
        "file": {"filename": "a.pdf", "file_data": f"data:application/pdf;base64,{data}"},
    }


def image_part(marker: str) -> dict:
    data = base64.b64encode(scripted.document(marker, 1)).decode()
    return {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}


def message(*parts: dict) -> list[dict]:
    return [{"role": "user", "content": [{"type": "text", "text": "Read this."}, *parts]}]


@pytest.fixture
def asked(serve):
    running = serve(auth="on")
    _key, secret = running.service.keys.add("chat", Role.USER)
    with openai.OpenAI(base_url=f"{running.url}/v1", api_key=secret, max_retries=0) as client:
        yield running, client


def test_a_pdf_and_an_image_are_read(asked):
    _running, client = asked
    answer = client.chat.completions.create(
        model="longscribe", messages=message(file_part("letter", 2), image_part("photo"))
    )
    assert answer.choices[0].message.content == "letter page 1\n\nletter page 2\n\nphoto page 1"
    assert answer.choices[0].finish_reason == "stop"


def test_a_stream_says_the_same_page_by_page(asked):
    _running, client = asked
    stream = client.chat.completions.create(
        model="longscribe", messages=message(file_part("letter", 5, page_s=0.05)), stream=True
    )
    pieces = [chunk.choices[0].delta.content for chunk in stream if chunk.choices[0].delta.content]
    assert "".join(pieces) == "\n\n".join(scripted.page_text("letter", index) for index in range(5))
    assert len(pieces) == 5


def test_hanging_up_cancels_the_job(asked):
    running, client = asked
    stream = client.chat.completions.create(
        model="longscribe", messages=message(file_part("book", 200, page_s=0.05)), stream=True
    )
    next(iter(stream))
    stream.close()
    wait_until(lambda: running.service.store.jobs()[0].state == "cancelled")


def test_models_and_errors_come_as_the_client_expects_them(asked):
    running, client = asked
    assert "longscribe" in [model.id for model in client.models.list()]
    with pytest.raises(openai.UnprocessableEntityError, match="No message has"):
        client.chat.completions.create(model="longscribe", messages=[{"role": "user", "content": "Hello"}])
    with pytest.raises(openai.APIStatusError, match="must be one of"):
        client.chat.completions.create(model="gpt-x", messages=message(image_part("photo")))
    bad = {"type": "image_url", "image_url": {"url": "data:image/png;base64,###"}}
    with pytest.raises(openai.UnprocessableEntityError, match="data URL"):
        client.chat.completions.create(model="longscribe", messages=message(bad))
    with (
        openai.OpenAI(base_url=f"{running.url}/v1", api_key="wrong", max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError),
    ):
        stranger.models.list()
