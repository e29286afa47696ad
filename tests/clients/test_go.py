"""The specification's Go client, its structs over net/http, from the program in tests/clients/go."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.support.services.real_service import KEY, RealService
from tests.support.text.client_questions import MODEL, check_weather

FOLDER = Path(__file__).parent / "go"
PARIS = "The capital of France is Paris."
OFFLINE = {"GOFLAGS": "-mod=mod -buildvcs=false", "GOPROXY": "off", "GOTOOLCHAIN": "local", "CGO_ENABLED": "0"}

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="there is no go: apt-get install golang-go")


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go")
    command = ["go", "build", "-o", str(folder / "session"), "."]
    build = subprocess.run(
        command, cwd=FOLDER, env=os.environ | OFFLINE, capture_output=True, text=True, timeout=600, check=False
    )
    assert build.returncode == 0, build.stderr
    return folder / "session"


def printed_by(*command: str | Path) -> str:
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_session_in_go(program: Path, service: RealService, guarded_url: str, empty_url: str, full_url: str) -> None:
    url = service.start_gateway(chat_profile="mistral")
    got: dict[str, Any] = json.loads(printed_by(program, url, guarded_url, KEY, empty_url, full_url))

    whole = got["whole"]
    [choice] = whole["choices"]
    assert (choice["message"]["content"], choice["finish_reason"]) == (PARIS, "stop")
    assert (whole["model"], whole["object"]) == (MODEL, "chat.completion")
    assert whole["id"].startswith("chatcmpl-")
    assert (0 < whole["confidence"] <= 1, whole["cloud_handoff"]) == (True, False)
    assert abs(datetime.fromisoformat(whole["created"]).timestamp() - time.time()) < 3600
    assert got["streamed"] == {"Text": PARIS, "Calls": None, "FinishReason": "stop", "Usage": whole["usage"]}

    [called] = got["called"]["choices"]
    assert called["finish_reason"] == got["calledInPieces"]["FinishReason"] == "tool_calls"
    [call], [streamed] = called["message"]["tool_calls"], got["calledInPieces"]["Calls"]
    check_weather(call["function"]["name"], call["function"]["arguments"])
    assert streamed["function"] == call["function"]
    assert got["ended"]["prompt_tokens"] > got["called"]["usage"]["prompt_tokens"]

    assert len(json.loads(got["formed"])["name"]) <= 9
    assert got["object"].lstrip().startswith("{")
    assert got["text"] == PARIS

    texts = [choice["text"] for choice in got["completions"]]
    assert [text[:5] for text in texts] == ["The s", "A fox"]
    assert got["pieces"] == texts
    for choice in got["completions"]:
        first, *others = choice["logprobs"]["token_logprobs"]
        assert first is None
        assert others
        assert all(logprob < 0 for logprob in others)
    assert len(got["raw"]) <= 4
    assert isinstance(json.loads(got["number"]), int | float)

    assert got["keyed"] == MODEL
    assert got["refusals"] == [
        [400, "invalid_request_error", "temperature"],
        [401, "authentication_error", ""],
        [429, "rate_limit_error", ""],
        [503, "unavailable_error", ""],
    ]


def test_a_cancelled_stream_leaves_nothing_behind(program: Path, service: RealService) -> None:
    assert printed_by(program, "stop", service.url).split() == ["text_completion", "true"]
    service.becomes_idle()
