"""`cactus chat`: its history, and refused options."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest
import typer.testing

from cactus_actors.protocol.errors import InvalidRequest, NotSupported
from cactus_actors.protocol.messages import Cancel, Rejected, Submit
from tests.support.router.scripted_router import ScriptedRouter, until


def test_a_chat_keeps_earlier_reasoning(cactus: Callable[..., typer.testing.Result], router: ScriptedRouter) -> None:
    router.num_reasoning_tokens = 2
    result = cactus("chat", "--think", "--show-reasoning", input="one\ntwo\n")
    assert result.stdout == "one w1 w2 w3 w4\ntwo w1 w2 w3 w4\n"
    assert result.stderr.count("hmhm\n\n") == 2
    assert "7 tokens, 2 of reasoning" in result.stderr
    last = router.submitted()[-1]
    assert [turn.reasoning_content for turn in last.messages or []] == [None, "hmhm", None]
    assert last.options.enable_thinking is True


def test_chat_keeps_its_conversation_until_a_reset(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    result = cactus("chat", "--system", "brief", input="one\n\n/help\ntwo\n/reset\n/what\nthree\n/exit\nnever\n")
    assert result.stdout == "one w1 w2 w3 w4\ntwo w1 w2 w3 w4\nthree w1 w2 w3 w4\n"
    assert "confidence 0.90" in result.stderr
    assert "no command /what" in result.stderr
    roles = [[turn.role for turn in submit.messages or []] for submit in router.submitted()]
    opening = ["system", "user"]
    assert roles == [opening, [*opening, "assistant", "user"], opening]


def test_chat_refuses_invalid_options_before_it_starts(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    with pytest.raises(InvalidRequest, match="temperature must be between"):
        cactus("chat", "--temperature", "9", input="hello\n")
    assert not router.received


def test_chat_with_a_model_without_a_template_ends_at_once(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter
) -> None:
    def without_template(identity: bytes, submit: Submit) -> None:
        error = NotSupported("the model has no chat template", param="messages").info()
        router.reply(identity, Rejected(error=error, job_id=submit.job_id))

    router.on_submit = without_template  # type: ignore[method-assign]
    with pytest.raises(NotSupported, match="no chat template"):
        cactus("chat", input="one\ntwo\n")
    assert len(router.submitted()) == 1


def test_an_interrupt_before_the_job_is_accepted_keeps_the_conversation(router: ScriptedRouter) -> None:
    has_second = threading.Event()

    def hold_the_second(identity: bytes, submit: Submit) -> None:
        if submit.messages is not None and submit.messages[-1].content == "second":
            has_second.set()
        else:
            on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, hold_the_second  # type: ignore[method-assign]
    endpoints = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    with subprocess.Popen(
        [sys.executable, "-m", "cactus_actors.cli.main", "chat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | endpoints,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as chat:
        assert chat.stdin is not None
        chat.stdin.write("first\nsecond\n")
        chat.stdin.flush()
        assert has_second.wait(60)
        chat.send_signal(signal.SIGINT)
        until(lambda: bool(router.received_of(Cancel)))
        stdout, stderr = chat.communicate("third\n", timeout=60)
    assert chat.returncode == 0, stderr
    assert stdout == "first w1 w2 w3 w4\n\nthird w1 w2 w3 w4\n"
    assert "stopped" in stderr
    last = router.submitted()[-1]
    assert [turn.content for turn in last.messages or []] == ["first", "first w1 w2 w3 w4", "third"]
