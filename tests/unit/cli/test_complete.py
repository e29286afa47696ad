"""`cactus complete`: its output, and the job that it sends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest
import typer.testing

from cactus_actors.cli.terminal import summary
from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import Finished, Rejected, Submit
from cactus_actors.protocol.results import Handoff, Result
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter


def test_complete_prints_the_answer(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    assert cactus("complete", "hello").stdout == "hello w1 w2 w3 w4\n"
    assert cactus("complete", "hello", "--stream").stdout == "hello w1 w2 w3 w4\n"
    assert cactus("complete", input="from stdin\n").stdout == "from stdin w1 w2 w3 w4\n"
    assert cactus("complete", "hello", "world", "--max-tokens", "1").stdout == "hello world\n"
    asked = [message for message in router.received if isinstance(message, Submit)]
    assert [len(submit.messages or []) for submit in asked] == [1, 1, 1, 1]


def test_reasoning_is_shown_or_hidden(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    router.num_reasoning_tokens = 2
    for stream in ([], ["--stream"]):
        hidden = cactus("complete", "hello", *stream)
        assert (hidden.stdout, hidden.stderr) == ("hello w1 w2 w3 w4\n", "")
        shown = cactus("complete", "hello", "--show-reasoning", *stream)
        assert (shown.stdout, shown.stderr) == ("hello w1 w2 w3 w4\n", "hmhm\n\n")
    assert json.loads(cactus("complete", "hello", "--json").stdout)["reasoning_content"] == "hmhm"
    cactus("complete", "hello", "--no-think", "--thinking-budget", "7")
    last = router.received_of(Submit)[-1]
    assert isinstance(last, Submit)
    assert (last.options.enable_thinking, last.options.thinking_budget) == (False, 7)


@pytest.mark.parametrize(("arguments", "given"), [([""], None), ([], ""), ([], "\n"), (["--raw"], "")])
def test_an_empty_prompt_is_an_error(
    cactus: Callable[..., typer.testing.Result], arguments: list[str], given: str | None
) -> None:
    with pytest.raises(InvalidRequest, match="prompt is empty"):
        cactus("complete", *arguments, input=given)


@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_a_prompt_that_is_not_utf8_is_an_error(locale: str) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", "complete"],
        input=b"caf\xe9",
        capture_output=True,
        timeout=60,
        env=os.environ | {"LC_ALL": locale, "CACTUS_ENDPOINT": "tcp://127.0.0.1:9"},
    )
    assert (finished.returncode, finished.stderr) == (2, b"error: stdin is not UTF-8 at byte 3\n")


def test_a_handoff_is_reported_without_a_terminal(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    def hand_off(job: ScriptedJob, finished: Finished) -> None:
        end(job, job.finish(handoff=Handoff(status="failed", reason="the cloud answered 401")))

    assert cactus("complete", "hello").stderr == ""
    end, router.end = router.end, hand_off  # type: ignore[method-assign]
    result = cactus("complete", "hello")
    assert result.stdout == "hello w1 w2 w3 w4\n"
    assert "handoff failed: the cloud answered 401" in result.stderr


def test_the_gate_that_failed_is_named_with_its_signal() -> None:
    failed = Handoff(status="recommended", reason="no key", confidence=0.00119345, threshold=0.5, signal="answer_prob")
    stayed = Result(confidence=0.93, handoff=failed)
    assert summary(stayed) == (
        "confidence 0.93 · 0 tokens · handoff recommended (answer_prob 0.001193 below 0.5): no key"
    )
    left = Result(cloud_handoff=True, handoff=msgspec.structs.replace(failed, status="completed", provider="openai"))
    assert summary(left).endswith("answered by openai (answer_prob 0.001193 below 0.5)")
    assert summary(Result(handoff=Handoff(confidence=0.6, threshold=0.5))) == "0 tokens"


def test_complete_options_reach_the_service(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    flags = "--raw --max-tokens 2 --temperature 0 --seed 7 --stop a --stop b --no-cloud --timeout-ms 9000"
    result = cactus("complete", "hello", "--json", *flags.split())
    answer = json.loads(result.stdout)
    assert (answer["text"], answer["finish_reason"], answer["seed"]) == ("hello w1", "length", 7)
    [submit] = [message for message in router.received if isinstance(message, Submit)]
    assert submit.prompt == "hello"
    options = submit.options
    assert (options.temperature, options.stop, options.allow_cloud) == (0.0, ["a", "b"], False)
    assert options.timeout_ms == 9000
    assert options.lora is None


@pytest.mark.parametrize("name", ["poems", ""])
def test_an_adapter_is_named_by_its_option(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, name: str
) -> None:
    cactus("complete", "hello", "--model", "gpt-4", "--lora", name)
    [submit] = router.submitted()
    assert (submit.model, submit.options.lora) == ("gpt-4", name)


def test_complete_falls_back_to_text_without_a_chat_template(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    def without_template(identity: bytes, submit: Submit) -> None:
        if submit.messages is None:
            on_submit(identity, submit)
            return
        error = NotSupported("the model has no chat template", param="messages").info()
        router.reply(identity, Rejected(error=error, job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, without_template  # type: ignore[method-assign]
    for flags in ([], ["--stream"]):
        assert cactus("complete", "hello", *flags).stdout == "hello w1 w2 w3 w4\n"
    with pytest.raises(NotSupported):
        cactus("complete", "hello", "--system", "be brief")


def test_complete_streams_json_lines(cactus: Callable[..., typer.testing.Result]) -> None:
    *deltas, result = [json.loads(line) for line in cactus("complete", "hi", "--stream", "--json").stdout.splitlines()]
    assert "".join(delta["text"] for delta in deltas) == result["text"] == "hi w1 w2 w3 w4"
