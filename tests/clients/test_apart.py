"""Clients in an environment of their own, as programs of tests/clients/apart: instructor, llama-index, guidellm."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.models.catalog import resolve_model
from tests.support.paths import ROOT
from tests.support.services.real_service import RealService
from tests.support.text.client_questions import CAPITAL, MODEL, STORY

FOLDER = Path(__file__).parent / "apart"
PROGRAMS = ROOT / ".venv-clients-apart" / "bin"
NUM_REQUESTS, OUTPUT_TOKENS = 16, 32

pytestmark = pytest.mark.skipif(
    not (PROGRAMS.parent / ".ready").exists(), reason="their environment is not there: `make clients` makes it"
)


def printed_by(program: str, *arguments: str) -> dict[str, Any]:
    """What a program of the folder printed."""
    command = [PROGRAMS / "python", FOLDER / program, *arguments]
    run = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert run.returncode == 0, run.stderr
    printed: dict[str, Any] = json.loads(run.stdout)
    return printed


def test_instructor(service: RealService) -> None:
    place = printed_by("structured_answers.py", service.url, MODEL, STORY[0]["content"])
    assert len(place["name"]) <= 12
    assert 0 <= place["people"] <= 99


def test_llama_index(service: RealService) -> None:
    texts = printed_by("index_answers.py", service.url, CAPITAL[0]["content"])
    assert texts == dict.fromkeys(("completed", "answered", "streamed"), "The capital of France is Paris.")


def test_guidellm(service: RealService, tmp_path: Path) -> None:
    options = {
        "backend": f"kind=openai_http,target={service.url},model={MODEL}",
        "tokenizer": f"kind=huggingface_auto,model={resolve_model(MODEL)}",
        "profile": "kind=concurrent,streams=4",
        "constraint": f"kind=max_requests,count={NUM_REQUESTS}",
        "data": f"kind=synthetic_text,prompt_tokens=64,output_tokens={OUTPUT_TOKENS}",
        "output": f"kind=json,path={tmp_path / 'load.json'}",
    }
    command = [
        PROGRAMS / "guidellm",
        "run",
        *(text for name, value in options.items() for text in (f"--{name}", value)),
    ]
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hub"), "no_proxy": "127.0.0.1"}
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=600, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    [load] = json.loads((tmp_path / "load.json").read_text())["benchmarks"]
    assert load["metrics"]["request_totals"] == {
        "successful": NUM_REQUESTS,
        "errored": 0,
        "incomplete": 0,
        "total": NUM_REQUESTS,
    }
    assert {request["output_tokens"] for request in load["requests"]["successful"]} == {OUTPUT_TOKENS}
