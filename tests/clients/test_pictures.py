"""Questions about pictures from clients of other projects, in their own fields and types."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.models.shape_pictures import RED_SQUARE
from tests.support.services.real_service import RealService, real_service

MODEL = "cactus-bloom"
QUESTION = "What colour is the square?"
URL = f"data:image/png;base64,{base64.b64encode(RED_SQUARE).decode()}"


@pytest.fixture(scope="module")
def seeing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RealService]:
    with real_service(tmp_path_factory.mktemp("seeing"), model=MODEL) as service:
        yield service


@pytest.fixture(scope="module")
def expected(seeing: RealService) -> str:
    message = {"role": "user", "content": QUESTION, "images": [RED_SQUARE]}
    answer = seeing.client.complete(messages=[message], temperature=0).text
    assert "red" in answer.lower()
    return answer


def asked(picture: object) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": [{"type": "image_url", "image_url": picture}, {"type": "text", "text": QUESTION}]}
    ]


def test_openai(seeing: RealService, expected: str) -> None:
    openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")
    with openai.OpenAI(base_url=f"{seeing.url}/v1", api_key="no-key", max_retries=0, timeout=60) as client:
        answer = client.chat.completions.create(model=MODEL, messages=asked({"url": URL}), temperature=0)
        assert answer.choices[0].message.content == expected
        with pytest.raises(openai.BadRequestError, match="picture 0: "):
            client.chat.completions.create(model=MODEL, messages=asked({"url": URL[:-200]}))


def test_text_only_models_refuse_pictures(service: RealService) -> None:
    openai = pytest.importorskip("openai", reason="the extra `clients` is not installed")
    with (
        openai.OpenAI(base_url=f"{service.url}/v1", api_key="no-key", max_retries=0, timeout=60) as client,
        pytest.raises(openai.BadRequestError) as refused,
    ):
        client.chat.completions.create(model="cactus-sprout", messages=asked({"url": URL}))
    assert refused.value.type == "not_supported_error"


def test_mistral(seeing: RealService, expected: str) -> None:
    mistral = pytest.importorskip("mistralai.client", reason="the extra `clients` is not installed")
    url = seeing.start_gateway(chat_profile="mistral")
    with mistral.Mistral(server_url=url, api_key="no-key", timeout_ms=60_000) as client:
        answer = client.chat.complete(model=MODEL, messages=asked(URL), temperature=0)
    assert answer.choices[0].message.content == expected


@pytest.mark.filterwarnings("ignore")
def test_litellm(seeing: RealService, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # it would fetch a price list when it is imported
    litellm = pytest.importorskip("litellm", reason="the extra `clients` is not installed")
    answer = litellm.completion(
        model=f"openai/{MODEL}",
        api_base=f"{seeing.url}/v1",
        api_key="no-key",
        messages=asked({"url": URL}),
        temperature=0,
        timeout=60,
    )
    assert answer.choices[0].message.content == expected
