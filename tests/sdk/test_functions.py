"""The contract of the SDK's functions, on the embedded model."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from typing import Any

import pytest

from cactus_actors.sdk import (
    CactusModel,
    CallFailed,
    cactus_complete,
    cactus_destroy,
    cactus_get_last_error,
    cactus_init,
    cactus_prefill,
    cactus_reset,
    cactus_score_window,
    cactus_stop,
    cactus_tokenize,
)

QUESTION = [{"role": "user", "content": "What is 2+2?"}]
LONG_STORY = [{"role": "user", "content": "Tell me a short story about a fox."}]
GREEDY = {"temperature": 0}


def answer(model: CactusModel, messages: Any = QUESTION, options: Any = None, **more: Any) -> dict[str, Any]:
    return json.loads(cactus_complete(model, messages, options or GREEDY, **more))


def test_the_import_loads_neither_ray_nor_numba() -> None:
    program = "import sys, cactus_actors.sdk; print({'ray', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


def test_both_spellings_of_every_field_are_equivalent(shared_model: CactusModel) -> None:
    result = answer(shared_model)
    assert result["success"] is True
    assert result["error"] is None
    assert result["response"] == result["text"] != ""
    assert result["function_calls"] == result["tool_calls"] == []
    assert result["prefill_tokens"] == result["prompt_tokens"] > 0
    assert result["decode_tokens"] == result["completion_tokens"] > 0
    assert result["total_tokens"] == result["prompt_tokens"] + result["completion_tokens"]
    assert result["prefill_tps"] == result["prefill_tokens_per_second"] > 0
    assert result["decode_tps"] == result["decode_tokens_per_second"] > 0
    assert 0 < result["time_to_first_token_ms"] <= result["total_time_ms"]
    assert 0 < result["confidence"] <= 1
    assert result["cloud_handoff"] is False
    assert result["stop_reason"] == "stop"
    assert result["ram_usage_mb"] > 10


def test_json_text_and_plain_data_are_the_same_request(shared_model: CactusModel) -> None:
    options = {"seed": 11, "max_tokens": 24}
    plain = answer(shared_model, LONG_STORY, options)
    text = json.loads(cactus_complete(shared_model, json.dumps(LONG_STORY), json.dumps(options), "", None))
    assert text["response"] == plain["response"] != ""
    assert text["seed"] == 11


def test_the_callback_gets_every_token_of_the_answer(shared_model: CactusModel) -> None:
    tokens: list[tuple[str, int]] = []
    result = answer(shared_model, callback=lambda text, token_id: tokens.append((text, token_id)))
    assert "".join(text for text, _ in tokens) == result["response"]
    assert len(tokens) == result["completion_tokens"]
    shown = [token_id for text, token_id in tokens if text]
    assert shown == cactus_tokenize(shared_model, result["response"])


def test_an_exception_of_the_callback_ends_the_generation_and_is_raised(shared_model: CactusModel) -> None:
    calls = []

    def on_token(text: str, token_id: int) -> None:
        calls.append(token_id)
        if len(calls) == 3:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        cactus_complete(shared_model, LONG_STORY, {"max_tokens": 100}, None, on_token)
    assert len(calls) == 3
    assert answer(shared_model)["success"] is True  # no state of it remains


def test_an_interrupted_step_leaves_nothing_behind(shared_model: CactusModel, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answer(shared_model, LONG_STORY)
    loaded = shared_model._backend.service.loaded  # type: ignore[attr-defined]
    num_free, forward, num_steps = loaded.engine.free_blocks, loaded.model.forward, 0

    def interrupted(*arguments: Any) -> Any:
        nonlocal num_steps
        num_steps += 1
        if num_steps == 5:
            raise KeyboardInterrupt
        return forward(*arguments)

    monkeypatch.setattr(loaded.model, "forward", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cactus_complete(shared_model, LONG_STORY, GREEDY)
    assert loaded.engine.free_blocks == num_free
    assert answer(shared_model, LONG_STORY)["response"] == expected["response"]


def test_stop_ends_the_generation_with_a_partial_answer(shared_model: CactusModel) -> None:
    texts: list[str] = []

    def on_token(text: str, token_id: int) -> None:
        texts.append(text)
        if len(texts) == 4:
            cactus_stop(shared_model)

    result = answer(shared_model, LONG_STORY, {"max_tokens": 200, "ignore_eos": True}, callback=on_token)
    assert result["stop_reason"] == "cancelled"
    assert result["success"] is True
    assert result["response"] == "".join(texts)
    assert result["completion_tokens"] == 4


def test_stop_works_from_another_thread(shared_model: CactusModel) -> None:
    begun = threading.Event()
    results: list[dict[str, Any]] = []
    options = {"max_tokens": 900, "ignore_eos": True}
    thread = threading.Thread(
        target=lambda: results.append(answer(shared_model, LONG_STORY, options, callback=lambda *_: begun.set()))
    )
    thread.start()
    assert begun.wait(60)
    cactus_stop(shared_model)
    thread.join(60)
    assert results[0]["stop_reason"] == "cancelled"
    assert 0 < results[0]["completion_tokens"] < 900


def test_a_stop_while_idle_does_not_stop_the_next_answer(shared_model: CactusModel) -> None:
    cactus_stop(shared_model)
    assert answer(shared_model)["stop_reason"] == "stop"


def test_a_prefilled_prompt_is_reused_until_a_reset(shared_model: CactusModel) -> None:
    messages = [{"role": "user", "content": "Name the days of the week, from Monday on, please."}]
    cactus_reset(shared_model)
    prefilled = json.loads(cactus_prefill(shared_model, messages))
    assert prefilled["success"] is True
    assert prefilled["prefill_tokens"] > 16
    assert prefilled["cached_tokens"] == 0
    assert answer(shared_model, messages)["cached_tokens"] >= 16
    cactus_reset(shared_model)
    assert answer(shared_model, messages)["cached_tokens"] == 0


@pytest.mark.parametrize(
    ("messages", "options", "param"),
    [
        pytest.param("[{", None, "messages", id="messages that are not JSON"),
        pytest.param('{"role": "user"}', None, "messages", id="messages that are no list"),
        pytest.param("[]", None, "messages", id="no message"),
        pytest.param('[{"role": "nobody", "content": ""}]', None, "messages", id="an unknown role"),
        pytest.param(QUESTION, {"temperature": 2.5}, "temperature", id="out of range"),
        pytest.param(QUESTION, {"top_k": "many"}, "top_k", id="of another type"),
        pytest.param(QUESTION, "[1]", "options", id="options that are no object"),
    ],
)
def test_a_refused_request_returns_an_answer_with_every_key(
    shared_model: CactusModel, messages: Any, options: Any, param: str
) -> None:
    good = answer(shared_model)
    bad = json.loads(cactus_complete(shared_model, messages, options))
    assert bad["success"] is False
    assert bad["error_param"] == param
    assert bad["error"] == cactus_get_last_error() != ""
    assert bad["stop_reason"] == "error"
    assert bad["text"] == bad["response"] == ""
    assert bad.keys() == good.keys()


def test_unknown_options_are_named(shared_model: CactusModel) -> None:
    result = answer(shared_model, options={"temperature": 0, "telemetry": True})
    assert result["success"] is True
    assert result["ignored_options"] == ["telemetry"]


@pytest.mark.parametrize("handle", [None, "cactus-sprout", 7])
def test_an_invalid_handle_is_an_error(handle: Any) -> None:
    with pytest.raises(RuntimeError) as raised:
        cactus_complete(handle, QUESTION)
    assert cactus_get_last_error() == str(raised.value) != ""


def test_a_destroyed_handle_is_an_error() -> None:
    model = cactus_init("cactus-sprout", None, False)
    cactus_destroy(model)
    cactus_destroy(model)
    with pytest.raises(CallFailed, match="destroyed"):
        cactus_complete(model, QUESTION)
    assert "destroyed" in cactus_get_last_error()


def test_a_callback_cannot_use_its_own_model(shared_model: CactusModel) -> None:
    def on_token(text: str, token_id: int) -> None:
        cactus_complete(shared_model, QUESTION)

    with pytest.raises(CallFailed, match="callback"):
        cactus_complete(shared_model, QUESTION, GREEDY, None, on_token)


def test_a_missing_model_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(RuntimeError, match=r"weights/lfm2-1\.2b"):
        cactus_init("weights/lfm2-1.2b", None, False)
    assert "weights/lfm2-1.2b" in cactus_get_last_error()


def test_the_score_of_a_window_is_that_of_its_tokens(shared_model: CactusModel) -> None:
    tokens = cactus_tokenize(shared_model, "The quick brown fox jumps over the lazy dog.")
    whole = score(shared_model, tokens, 1, len(tokens), len(tokens))
    halves = [score(shared_model, tokens, *window, len(tokens)) for window in ((1, 4), (4, len(tokens)))]
    assert whole["tokens"] == len(tokens) - 1
    assert whole["logprob"] == pytest.approx(sum(half["logprob"] for half in halves))
    assert whole["logprob"] < 0


def test_a_window_is_scored_with_its_context_only(shared_model: CactusModel) -> None:
    tokens = cactus_tokenize(shared_model, "The quick brown fox jumps over the lazy dog.")
    assert score(shared_model, tokens, 5, 7, 2) == score(shared_model, tokens[3:], 2, 4, 100)
    assert score(shared_model, tokens, 5, 7, 2) != score(shared_model, tokens, 5, 7, 5)
    assert score(shared_model, tokens, 5, 6, 0) == {"success": True, "logprob": 0.0, "tokens": 0}


def test_a_window_outside_its_tokens_is_refused(shared_model: CactusModel) -> None:
    with pytest.raises(CallFailed, match="window"):
        cactus_score_window(shared_model, [1, 2, 3], 2, 5, 0)


def score(model: CactusModel, *window: Any) -> dict[str, Any]:
    return json.loads(cactus_score_window(model, *window))
