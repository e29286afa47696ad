"""Node's `openai` package, from tests/clients/node/session.mjs."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.services.real_service import RealService
from tests.support.text.client_questions import MODEL

FOLDER = Path(__file__).parent / "node"


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node")
@pytest.mark.skipif(
    not (FOLDER / "node_modules" / "openai").is_dir(), reason="Node's openai is not installed: `make clients`"
)
def test_a_session_in_node(service: RealService, guarded_url: str, full_url: str, empty_url: str) -> None:
    urls = [service.url, guarded_url, full_url, empty_url]
    run = subprocess.run(
        ["node", "session.mjs", *urls], cwd=FOLDER, capture_output=True, text=True, timeout=120, check=False
    )
    assert run.returncode == 0, run.stderr
    got = json.loads(run.stdout)
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
