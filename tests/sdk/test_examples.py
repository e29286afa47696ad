"""The Python examples of the documents, unchanged except for the module of the functions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BASIC = """
from cactus_actors.sdk import cactus_init, cactus_complete, cactus_destroy
import json

model = cactus_init("weights/lfm2-1.2b", None, False)

messages = json.dumps([
    {"role": "system", "content": "You are a helpful assistant."},
    {"role": "user", "content": "What is 2+2?"}
])

result = json.loads(cactus_complete(model, messages, None, None, None))
print(result["response"])
print(f"Time to first token: {result['time_to_first_token_ms']:.2f}ms")
print(f"Decode speed: {result['decode_tps']:.2f} tokens/sec")

cactus_destroy(model)
"""

STREAMING = """
def on_token(token, token_id):
    print(token, end="", flush=True)

options = json.dumps({"max_tokens": 256, "temperature": 0.7})
result = json.loads(cactus_complete(model, messages, options, None, on_token))
print(f"\\n\\nGeneration complete: {result['total_time_ms']:.2f}ms")
"""

SEVERAL_TURNS = """
conversation = [
    {"role": "system", "content": "You are a helpful math tutor."},
    {"role": "user", "content": "What is 2+2?"},
    {"role": "assistant", "content": "2+2 equals 4."},
    {"role": "user", "content": "What about 3+3?"}
]

messages = json.dumps(conversation)
result = json.loads(cactus_complete(model, messages, None, None, None))
conversation.append({"role": "assistant", "content": result["response"]})
"""

CLOUD = """
options = json.dumps({
    "max_tokens": 512,
    "cloud_handoff_threshold": 0.8
})

result = json.loads(cactus_complete(model, messages, options, None, None))

if result["cloud_handoff"]:
    print("Query handled by cloud model")
else:
    print(f"On-device inference (confidence: {result['confidence']:.2f})")
"""

ERRORS = """
try:
    result = json.loads(cactus_complete(model, messages, None, None, None))
    if not result["success"]:
        print(f"Generation failed: {result['error']}")
except RuntimeError as e:
    print(f"API error: {e}")
    error = cactus_get_last_error()
    if error:
        print(f"Details: {error}")
"""

OPTIONS = {
    "max_tokens": 256,
    "temperature": 0.7,
    "top_p": 0.95,
    "top_k": 20,
    "stop_sequences": ["<|im_end|>", "User:"],
    "cloud_handoff_threshold": 0.8,
}


@pytest.fixture
def names(shared_model: Any) -> dict[str, Any]:
    """The names that the shorter examples assume."""
    import cactus_actors.sdk as sdk

    messages = json.dumps([{"role": "user", "content": "What is 2+2?"}])
    return {**vars(sdk), "json": json, "model": shared_model, "messages": messages}


def test_the_first_program_runs(
    weights_directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(weights_directory)
    exec(BASIC, {})
    answer, first_token, speed = capsys.readouterr().out.strip().splitlines()
    assert answer
    assert first_token.startswith("Time to first token: ")
    assert float(speed.split()[2]) > 0


def test_the_streaming_example_runs(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    exec(STREAMING, names)
    out = capsys.readouterr().out
    assert out.startswith(names["result"]["response"] + "\n\nGeneration complete: ")


def test_the_conversation_example_runs(names: dict[str, Any]) -> None:
    exec(SEVERAL_TURNS, names)
    assert names["result"]["success"] is True
    assert names["conversation"][-1]["content"] == names["result"]["response"]


def test_the_cloud_threshold_example_runs(names: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    exec(CLOUD, names)
    assert capsys.readouterr().out.startswith("On-device inference (confidence: ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param({"messages": "not JSON"}, "Generation failed: messages", id="a refused request"),
        pytest.param({"model": None}, "API error: Model not initialized\nDetails: Model", id="misuse"),
        pytest.param({}, "", id="no error"),
    ],
)
def test_the_error_example_runs(
    names: dict[str, Any], change: dict[str, Any], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(ERRORS, names | change)
    out = capsys.readouterr().out
    assert out.startswith(said)
    assert bool(out) == bool(said)


def test_the_documented_options_are_accepted(names: dict[str, Any]) -> None:
    result = json.loads(names["cactus_complete"](names["model"], names["messages"], json.dumps(OPTIONS)))
    assert result["success"] is True
    assert result["ignored_options"] == []
