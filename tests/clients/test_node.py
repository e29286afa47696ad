"""Node's `openai` package and Vercel's `ai`, from the programs in tests/clients/node."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import MODEL

FOLDER = Path(__file__).parent / "node"


pytestmark = [
    pytest.mark.skipif(shutil.which("node") is None, reason="there is no node: apt-get install nodejs npm"),
    pytest.mark.skipif(
        not (FOLDER / "node_modules" / "ai").is_dir(), reason="Node's packages are not installed: `make clients`"
    ),
]


def printed_by(program: str, *urls: str) -> dict[str, Any]:
    """What a program has got from the services at these addresses."""
    command = ["node", program, *urls]
    run = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stderr
    got: dict[str, Any] = json.loads(run.stdout)
    return got


def test_responses_in_node(service: RealService) -> None:
    got = printed_by("responses.mjs", service.url)
    answers = [got[name] for name in ("whole", "streamed", "text", "pieces")]
    assert answers == ["The capital of France is Paris."] * 4
    assert (got["kinds"][0], got["kinds"][-1]) == ("response.created", "response.completed")
    assert got["items"] == 3
    assert (len(got["city"]) <= 20, got["steps"]) == (True, ["tool-calls", "stop"])
    assert len(got["object"]["name"]) <= 12


def test_a_session_in_node(service: RealService, guarded_url: str, full_url: str, empty_url: str) -> None:
    got = printed_by("session.mjs", service.url, guarded_url, full_url, empty_url)
    assert got["chat"] == got["streamed"] == "The capital of France is Paris."
    assert got["completionTokens"] > 0
    assert [text[:5] for text in got["texts"]] == ["The s", "A fox"]
    assert got["call"]["name"] == "get_weather"
    assert json.loads(got["call"]["arguments"])["unit"] in ("celsius", "fahrenheit")
    assert len(json.loads(got["formed"])["name"]) <= 9
    assert got["length"] == pytest.approx(1, abs=1e-3)
    assert got["models"] == [MODEL]
    assert got["file"] == '{"custom_id": "a"}\n'
    assert got["refusals"] == [
        ["BadRequestError", 400, "temperature"],
        ["AuthenticationError", 401, None],
        ["NotFoundError", 404, "model"],
        ["RateLimitError", 429, None],
        ["InternalServerError", 503, None],
    ]
    assert got["begun"] == "text_completion"
