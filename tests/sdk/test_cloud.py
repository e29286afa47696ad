"""Unsure answers from a cloud that the process itself calls."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cactus_actors.config import HandoffSettings
from cactus_actors.models.catalog import resolve_model
from cactus_actors.models.fingerprint import model_fingerprint
from cactus_actors.protocol.prompt_probe import PromptProbe
from cactus_actors.sdk import CactusModel, cactus_complete, cactus_destroy, cactus_init
from tests.support.http.serving import Request, http_serving

QUESTION = [{"role": "user", "content": "What is 2+2?"}]
UNSURE = {"temperature": 0, "cloud_handoff_threshold": 1.0}  # above every confidence


class Cloud:
    """An OpenAI-compatible endpoint that streams two words, or fails."""

    def __init__(self) -> None:
        self.base_url = ""
        self.num_requests = 0
        self.status = 200
        self.delay_s = 0.0

    def answer(self, request: Request) -> None:
        self.num_requests += 1
        request.rfile.read(int(request.headers["content-length"]))
        time.sleep(self.delay_s)
        request.send_response(self.status)
        request.send_header("content-type", "text/event-stream")
        request.end_headers()
        if self.status != 200:
            return
        for content, reason in (("from the", None), (" cloud", None), ("", "stop")):
            choice = {"index": 0, "delta": {"content": content}, "finish_reason": reason}
            request.wfile.write(b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n")
        request.wfile.write(b"data: [DONE]\n\n")


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    cloud = Cloud()
    with http_serving(cloud.answer) as url:
        cloud.base_url = f"{url}/v1"
        yield cloud


@pytest.fixture
def model(cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Iterator[CactusModel]:
    monkeypatch.setenv("HOME", str(tmp_path))  # no key of this machine's user
    handoff = HandoffSettings(base_url=cloud.base_url, max_retries=0)
    model = cactus_init("cactus-sprout", threads=1, handoff=handoff)
    yield model
    cactus_destroy(model)


def answer(model: CactusModel, options: dict[str, Any], callback: Any = None) -> dict[str, Any]:
    return json.loads(cactus_complete(model, QUESTION, options, None, callback))


def test_an_answer_of_low_confidence_comes_from_the_cloud(model: CactusModel, cloud: Cloud) -> None:
    tokens: list[tuple[str, int]] = []
    result = answer(model, UNSURE, lambda text, token_id: tokens.append((text, token_id)))
    assert result["cloud_handoff"] is True
    assert result["handoff"]["status"] == "completed"
    assert result["response"] == "from the cloud"
    assert (result["model"], result["confidence"], result["measures"]) == ("gpt-4o-mini", None, None)
    assert result["handoff"]["local_confidence"] == pytest.approx(result["handoff"]["confidence"], abs=0.5)
    assert result["handoff"]["local_usage"]["completion_tokens"] > 0
    assert "".join(text for text, _ in tokens) == "from the cloud"
    assert {token_id for _, token_id in tokens} == {0}
    assert answer(model, UNSURE)["response"] == "from the cloud"
    assert cloud.num_requests == 2


def test_confident_and_private_answers_are_local(model: CactusModel, cloud: Cloud) -> None:
    for options in ({"temperature": 0}, {**UNSURE, "allow_cloud": False}):
        result = answer(model, options)
        assert result["cloud_handoff"] is False
        assert result["success"] is True
    assert cloud.num_requests == 0


def test_a_failing_cloud_gives_the_local_answer(model: CactusModel, cloud: Cloud) -> None:
    local = answer(model, {"temperature": 0})
    cloud.status = 500
    result = answer(model, UNSURE)
    assert result["success"] is True
    assert result["cloud_handoff"] is False
    assert result["handoff"]["status"] == "failed"
    assert result["response"] == local["response"]


def test_without_a_key_the_handoff_is_only_recommended(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    handoff = HandoffSettings(base_url=cloud.base_url, require_key=True)
    model = cactus_init("cactus-sprout", threads=1, handoff=handoff)
    result = answer(model, UNSURE)
    cactus_destroy(model)
    assert result["handoff"]["status"] == "recommended"
    assert result["cloud_handoff"] is False
    assert cloud.num_requests == 0


def test_a_cloud_that_takes_too_long_gives_the_local_answer(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    cloud.delay_s = 4.0
    handoff = HandoffSettings(base_url=cloud.base_url, max_retries=0, max_wait_s=0.5)
    model = cactus_init("cactus-sprout", threads=1, handoff=handoff)
    try:
        result = answer(model, UNSURE)
    finally:
        cactus_destroy(model)
    assert (result["success"], result["cloud_handoff"]) == (True, False)
    assert result["handoff"]["reason"] == "no answer of the cloud within 0.5 s"
    assert result["response"]


def test_a_prompt_is_handed_off_before_its_answer_and_answered_here_if_the_cloud_fails(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    fingerprint = model_fingerprint(resolve_model("cactus-sprout"))
    probe = PromptProbe(fingerprint=fingerprint, layer=4, has_second=False, bias=-2.0, weights=[0.0] * 256)
    file = tmp_path / "probe.json"
    file.write_bytes(msgspec.json.encode(probe))
    handoff = HandoffSettings(base_url=cloud.base_url, max_retries=0, gate="prompt", prompt_probe_file=str(file))
    model = cactus_init("cactus-sprout", threads=1, handoff=handoff)
    try:
        local = answer(model, {"temperature": 0})
        result = answer(model, {"temperature": 0, "cloud_handoff_threshold": 0.01})
        cloud.status = 503
        fallback = answer(model, {"temperature": 0, "cloud_handoff_threshold": 0.01})
    finally:
        cactus_destroy(model)
    assert local["handoff"]["status"] == "none"
    assert (result["response"], result["cloud_handoff"]) == ("from the cloud", True)
    fields = {"status": "completed", "reason": "prompt", "signal": "prompt", "threshold": 0.5}
    assert {name: result["handoff"][name] for name in fields} == fields
    assert result["handoff"]["confidence"] == pytest.approx(0.1192, abs=1e-4)
    assert result["handoff"]["local_usage"]["completion_tokens"] == 1
    assert (fallback["handoff"]["status"], fallback["response"]) == ("failed", local["response"])
