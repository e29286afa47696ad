"""`cactus complete` with a job that does not run: it prints the reason, and cancels the job at the end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import msgspec
import pytest

from cactus_actors.cli.wait_notice import notice_of
from cactus_actors.protocol.messages import Accepted, Cancel, StatusRequest, Submit
from tests.support.router.scripted_router import ScriptedRouter, until


@pytest.fixture
def holding(router: ScriptedRouter) -> ScriptedRouter:
    """A router that accepts jobs and runs none."""

    def accept(identity: bytes, submit: Submit) -> None:
        job = Accepted(job_id=submit.job_id, epoch=router.epoch, prompt_tokens=3, seed=0)
        router.reply(identity, job)

    router.on_submit = accept  # type: ignore[method-assign]
    return router


def _heed_signals() -> None:
    """Restore the default handlers: a background process, or one under nohup, may inherit ignored signals."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(router: ScriptedRouter, *arguments: str) -> subprocess.Popen[str]:
    endpoints = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    return subprocess.Popen(
        [sys.executable, "-m", "cactus_actors.cli", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | endpoints,
        preexec_fn=_heed_signals,
    )


@pytest.mark.parametrize("stream", [[], ["--stream"]])
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
def test_a_signal_cancels_the_job(holding: ScriptedRouter, number: int, stream: list[str]) -> None:
    with start(holding, "complete", "hello", *stream) as process:
        until(lambda: bool(holding.received_of(Submit)))
        process.send_signal(number)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in told
    [submit] = holding.submitted()
    until(lambda: bool(holding.received_of(Cancel)))
    cancel = holding.received_of(Cancel)[0]
    assert isinstance(cancel, Cancel)
    assert cancel.job_id == submit.job_id


@pytest.mark.parametrize("num_wished", [0, 2])
def test_a_waiting_command_reports_missing_workers(holding: ScriptedRouter, num_wished: int) -> None:
    status = holding.status
    holding.status = lambda request_id: msgspec.structs.replace(  # type: ignore[method-assign]
        status(request_id), desired_workers=num_wished
    )
    with start(holding, "complete", "hello") as process:
        assert process.stderr is not None
        line = process.stderr.readline()
        process.terminate()
        process.communicate(timeout=60)
    assert ("`cactus scale 1` starts one" in line) == (num_wished == 0)
    assert ("no worker is ready yet" in line) == (num_wished > 0)
    assert len(holding.received_of(StatusRequest)) == 1


def test_an_early_answer_is_printed_without_a_message(cactus: Callable[..., object], router: ScriptedRouter) -> None:
    assert notice_of(router.status("")) is not None
    cactus("complete", "hello")
    assert not router.received_of(StatusRequest)
