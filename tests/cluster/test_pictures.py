"""A service of a vision model answers questions about pictures."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from cactus_actors.client.picture_files import data_url
from cactus_actors.client.submit import make_submit
from cactus_actors.config import GatewaySettings, ServeConfig
from tests.goldens.sample_pictures import sample_picture
from tests.support.models.served_pictures import write_served_model
from tests.support.services.running_service import Running, running_service

BY_TRANSFORMERS = {
    "smolvlm": {
        ("0.png",): [164, 205, 184, 111, 40, 253, 165, 120, 163, 231, 69, 13],
        ("1.png",): [205, 184, 111, 40, 248, 257, 42, 228, 165, 120, 182, 205],
        ("0.png", "1.png"): [205, 48, 52, 198, 12, 79, 21, 213, 165, 120, 66, 55],
        ("1.png", "0.png"): [164, 79, 79, 193, 152, 34, 181, 48, 129, 224, 236, 110],
    },
    "lfm2-vl": {
        ("0.png",): [44, 153, 70, 53, 118, 56, 66, 75, 127, 157, 91, 35],
        ("1.png",): [44, 19, 52, 85, 169, 0, 125, 171, 145, 52, 69, 55],
        ("0.png", "1.png"): [44, 153, 52, 123, 59, 116, 55, 90, 42, 75, 175, 172],
        ("1.png", "0.png"): [44, 153, 70, 53, 118, 56, 137, 107, 41, 146, 141, 85],
    },
    "gemma3": {
        ("0.png",): [21, 145, 165, 21, 145, 82, 135, 135, 135, 135, 135, 135],
        ("1.png",): [21, 145, 165, 124, 50, 12, 162, 73, 145, 165, 145, 153],
        ("0.png", "1.png"): [21, 145, 165, 145, 165, 159, 82, 58, 165, 145, 165, 145],
        ("1.png", "0.png"): [21, 145, 165, 21, 145, 165, 21, 145, 165, 159, 135, 135],
    },
    "gemma4": {
        ("0.png",): [43, 80, 70, 180, 101, 165, 174, 174, 28, 128, 205, 42],
        ("1.png",): [157, 50, 88, 50, 21, 150, 197, 168, 128, 96, 96, 96],
        ("0.png", "1.png"): [43, 80, 145, 145, 183, 172, 5, 128, 96, 96, 96, 96],
        ("1.png", "0.png"): [43, 80, 70, 192, 151, 43, 43, 43, 43, 100, 145, 182],
    },
    "qwen3-vl": {
        ("0.png",): [147, 218, 83, 112, 98, 131, 42, 98, 102, 12, 128, 98],
        ("1.png",): [147, 218, 83, 128, 102, 12, 147, 218, 83, 128, 102, 12],
        ("0.png", "1.png"): [12, 147, 50, 206, 42, 40, 88, 143, 17, 164, 12, 35],
        ("1.png", "0.png"): [12, 147, 98, 122, 98, 128, 102, 12, 127, 218, 98, 42],
    },
}
"""Greedy ids of transformers' processors and models with the same files, by `goldens/picture_answers.py`."""

OPTIONS: dict[str, Any] = {"temperature": 0.0, "max_tokens": 12, "ignore_eos": True}


SLOW = ("lfm2-vl", "gemma3", "gemma4", "qwen3-vl")


@pytest.fixture(scope="module", params=["smolvlm", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def service(name: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    directory = tmp_path_factory.mktemp("vision")
    (directory / "pictures").mkdir()
    for seed in range(2):
        (directory / f"pictures/{seed}.png").write_bytes(png(seed))
    config = ServeConfig(
        model=str(write_served_model(directory / "model", name)),
        weights="float32",
        state_dir=directory / "state",
        jobs_endpoint="tcp://127.0.0.1:*",
        stream_endpoint="tcp://127.0.0.1:*",
        http="127.0.0.1:0",
        image_root=directory / "pictures",
        gateway=GatewaySettings(max_body_bytes=1 << 20),
    )
    with running_service(config) as running:
        yield running


def png(seed: int) -> bytes:
    content = io.BytesIO()
    sample_picture(40, 30, seed).save(content, "PNG")
    return content.getvalue()


def url(seed: int) -> str:
    return f"data:image/png;base64,{base64.b64encode(png(seed)).decode()}"


def tokens_of(service: Running, *images: Any, question: str = "What is it?", **options: Any) -> list[int]:
    message = {"role": "user", "content": question, **({"images": list(images)} if images else {})}
    return service.client.complete(messages=[message], **(OPTIONS | options)).token_ids


def test_answers_are_those_of_transformers(service: Running, name: str) -> None:
    for images, expected in BY_TRANSFORMERS[name].items():
        assert tokens_of(service, *images) == expected


def test_answers_depend_on_the_picture_and_not_on_how_it_is_sent(service: Running, tmp_path: Path) -> None:
    first, second, none = tokens_of(service, url(0)), tokens_of(service, url(1)), tokens_of(service)
    assert len({tuple(first), tuple(second), tuple(none)}) == 3
    assert tokens_of(service, "0.png") == first
    assert tokens_of(service, url(1)) == second
    (tmp_path / "of the client.png").write_bytes(png(0))
    assert tokens_of(service, tmp_path / "of the client.png") == tokens_of(service, png(0)) == first
    assert tokens_of(service, "0.png", "1.png") != tokens_of(service, "1.png", "0.png")


def test_a_second_question_computes_no_picture_again(service: Running) -> None:
    long = "What is it, and what is beside it?"
    [worker] = service.client.status().workers
    tokens_of(service, "0.png", question=long)
    tokens_of(service, "0.png", question=f"{long} And where?")
    [after] = service.client.status().workers
    assert after.cached_prompt_tokens - worker.cached_prompt_tokens >= 16
    assert after.encoded_pictures - worker.encoded_pictures <= 1
    assert after.cached_pictures - worker.cached_pictures >= 1


def test_parts_of_openai_are_answered_over_http(service: Running) -> None:
    def ask(part: dict[str, Any]) -> dict[str, Any]:
        content = [part, {"type": "text", "text": "What is it?"}]
        body = {"model": "x", "messages": [{"role": "user", "content": content}], "return_raw_tokens": True, **OPTIONS}
        answer: dict[str, Any] = httpx.post(f"http://{service.http}/v1/chat/completions", json=body, timeout=60).json()
        return answer

    expected = tokens_of(service, url(0))
    for part in (
        {"type": "image_url", "image_url": {"url": url(0), "detail": "low"}},
        {"type": "input_image", "image_url": url(0)},
        {"type": "image_url", "image_url": {"url": data_url(png(0).ljust(100_000, b"\0"))}},
    ):
        assert ask(part)["choices"][0]["tokens"] == expected
    error = ask({"type": "image_url", "image_url": {"url": "/etc/passwd"}})["error"]
    assert (error["type"], error["param"]) == ("media_not_allowed", "messages[0].content[0]")
    assert error["message"].startswith("picture 0: ")


def test_media_of_llama_cpp_are_answered_at_its_markers(service: Running) -> None:
    def ask(path: str, *media: str) -> dict[str, Any]:
        prompt = {"prompt_string": "<|turn|><__media__>What is it?<|turn|>", "multimodal_data": list(media)}
        body = {"prompt": prompt, "return_tokens": True, "return_raw_tokens": True, "repeat_penalty": 1.0, **OPTIONS}
        answer: dict[str, Any] = httpx.post(f"http://{service.http}{path}", json=body, timeout=60).json()
        return answer

    content = base64.b64encode(png(0)).decode()
    expected = tokens_of(service, url(0), repeat_penalty=1.0)
    submit = make_submit("<|turn|><__media__>What is it?<|turn|>", options=OPTIONS | {"repeat_penalty": 1.0})
    assert service.client.run(msgspec.structs.replace(submit, images=[url(0)])).token_ids == expected
    assert ask("/completion", content)["tokens"] == expected
    assert ask("/v1/completions", content)["choices"][0]["tokens"] == expected
    for path in ("/completion", "/v1/completions"):
        error = ask(path, "AAAA")["error"]
        assert (error["type"], error["param"]) == ("media_invalid", "prompt.multimodal_data[0]")
        assert error["message"].startswith("picture 0: ")
    [model] = httpx.get(f"http://{service.http}/v1/models").json()["data"]
    assert model["capabilities"]["vision"]
