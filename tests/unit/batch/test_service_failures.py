"""Runs with a service that refuses jobs, cancels them, fails or goes away."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.batch import BatchProgress, BatchRequest, run_batch
from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import (
    AuthenticationFailed,
    CactusError,
    JobConflict,
    Overloaded,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.messages import Finished, Rejected, Submit
from tests.support.router.batch_runs import names, records
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter, until

WAITS = "waiting up to 120 s for the service"


def seeds(router: ScriptedRouter) -> dict[Any, set[int]]:
    """The seeds of the requests for each prompt."""
    found: dict[Any, set[int]] = {}
    for submit in router.received_of(Submit):
        found.setdefault(submit.prompt, set()).add(submit.options.seed)  # type: ignore[union-attr]
    return found


def test_a_cancelled_job_or_a_used_id_runs_under_another_id_with_the_same_tokens(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    """A service that stops ends its jobs finally; a job with another priority is another job."""
    stopped: set[str] = set()

    def stop_some(job: ScriptedJob, finished: Finished) -> None:
        if len(stopped) < 5:
            stopped.add(job.submit.job_id)
            error = Unavailable("the service was stopped", retry_after=0.01).info()
            finished = job.finish(success=False, error=error, finish_reason="error")
        end(job, finished)

    def refuse_some(identity: bytes, submit: Submit) -> None:
        if submit.prompt == "prompt 7" and not conflicts:
            conflicts.append(submit.job_id)
            error = JobConflict("the job id was used for another request")
            router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))
        else:
            on_submit(identity, submit)

    conflicts: list[str] = []
    on_submit, router.on_submit = router.on_submit, refuse_some  # type: ignore[method-assign]
    end, router.end = router.end, stop_some  # type: ignore[method-assign]
    assert run().num_succeeded == 20
    assert len(router.received_of(Submit)) == 26
    assert len(records(tmp_path / "out.jsonl")) == 20
    assert all(len(of_prompt) == 1 for of_prompt in seeds(router).values())


@pytest.mark.parametrize("error", [StorageFailure("the disk is full"), AuthenticationFailed("revoked")])
def test_a_failing_service_fails_no_line(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path, error: CactusError
) -> None:
    def refuse_later(identity: bytes, submit: Submit) -> None:
        if len(router.jobs_run) < 7:
            on_submit(identity, submit)
        else:
            router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, refuse_later  # type: ignore[method-assign]
    with pytest.raises(type(error)):
        run(max_in_flight=2, limits=BatchLimits(service_lost_s=0.0))
    assert (tmp_path / "out.errors.jsonl.partial").read_bytes() == b""
    router.on_submit = on_submit  # type: ignore[method-assign]
    assert run(resume=True).num_succeeded == 20


def refuse_each_once(router: ScriptedRouter, error: CactusError) -> set[str]:
    """Refuse every job once; returns the growing list of refused jobs."""
    refused: set[str] = set()

    def refuse_once(identity: bytes, submit: Submit) -> None:
        if submit.job_id in refused:
            on_submit(identity, submit)
            return
        refused.add(submit.job_id)
        router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, refuse_once  # type: ignore[method-assign]
    return refused


def test_a_run_waits_for_a_full_queue(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
    refused = refuse_each_once(router, Overloaded("the queue is full", retry_after=0.01))
    assert run().num_succeeded == 20
    assert len(refused) == 20


@pytest.mark.parametrize("refusal", [Overloaded, StorageFailure])
def test_a_line_that_is_refused_beyond_its_own_timeout_fails_alone(
    run: Callable[..., BatchProgress],
    router: ScriptedRouter,
    source: Path,
    tmp_path: Path,
    refusal: type[CactusError],
) -> None:
    def refuse_hurried(identity: bytes, submit: Submit) -> None:
        if submit.options.timeout_ms is None:
            on_submit(identity, submit)
        else:
            error = refusal("no room", retry_after=0.01)
            router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, refuse_hurried  # type: ignore[method-assign]
    with source.open("a") as file:
        file.write(json.dumps({"custom_id": "hurried", "prompt": "a", "timeout_ms": 30}) + "\n")
    progress = run(max_in_flight=4)
    assert (progress.num_succeeded, progress.num_failed) == (20, 1)
    [hurried] = records(tmp_path / "out.errors.jsonl").values()
    assert (hurried["custom_id"], hurried["response"]["status_code"]) == ("hurried", 504)
    assert (hurried["error"]["code"], hurried["error"]["param"]) == ("timeout_error", "timeout_ms")


def test_a_line_with_a_timeout_is_sent_again_after_an_unavailable_service(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path
) -> None:
    """The service may have the result by then."""
    refuse_each_once(router, Unavailable("the service is draining", retry_after=0.05))
    source.write_text(json.dumps({"custom_id": "hurried", "prompt": "a", "timeout_ms": 1}) + "\n")
    assert run().num_succeeded == 1


def test_a_run_waits_for_an_unavailable_service(
    run: Callable[..., BatchProgress], router: ScriptedRouter, caplog: pytest.LogCaptureFixture
) -> None:
    """The absence is longer than the timeout of a first answer, and than the silence allowed for lines in flight."""

    def go_away(identity: bytes, submit: Submit) -> None:
        on_submit(identity, submit)
        if len(router.jobs_run) == 8:
            router.on_submit = on_submit  # type: ignore[method-assign]
            router.is_silent.set()
            threading.Thread(target=come_back).start()

    def come_back() -> None:
        until(lambda: WAITS in caplog.text)
        router.is_silent.clear()

    on_submit, router.on_submit = router.on_submit, go_away  # type: ignore[method-assign]
    assert run(timeout=2.0, max_in_flight=2, limits=BatchLimits(retry_s=0.05)).num_succeeded == 20
    assert WAITS in caplog.text


def test_an_unavailable_service_is_logged_once(
    run: Callable[..., BatchProgress], router: ScriptedRouter, caplog: pytest.LogCaptureFixture
) -> None:
    """A draining service does this."""
    refuse_each_once(router, Unavailable("the service is draining", retry_after=0.01))
    assert run(max_in_flight=4).num_succeeded == 20
    assert caplog.text.count("waiting up to 120 s for the service") == 1


def cancel_first(router: ScriptedRouter, num_jobs: int) -> list[str]:
    """Cancel the first jobs that end; returns the growing list of their ids."""
    cancelled: list[str] = []

    def cancel(job: ScriptedJob, finished: Finished) -> None:
        if len(cancelled) < num_jobs:
            cancelled.append(job.submit.job_id)
            finished = job.finish(finish_reason="cancelled")
        end(job, finished)

    end, router.end = router.end, cancel  # type: ignore[method-assign]
    return cancelled


def test_jobs_that_an_interrupt_cancelled_run_again(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    cancelled = cancel_first(router, 5)
    run()
    answers = records(tmp_path / "out.jsonl")
    assert len(answers) == 20
    assert {line["response"]["body"]["choices"][0]["finish_reason"] for line in answers.values()} == {"length"}
    assert len(cancelled) == 5


def test_a_line_is_repeated_after_any_number_of_cancellations(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    cancelled = cancel_first(router, 10)
    run(max_in_flight=1)
    assert len(cancelled) == 10
    assert len(records(tmp_path / "out.jsonl")) == 20


def test_a_missing_service_leaves_no_file(source: Path, tmp_path: Path) -> None:
    async def attempt() -> None:
        async with AsyncClient("tcp://127.0.0.1:9", timeout=0.2) as client:
            await run_batch(BatchRequest(source=source, output=tmp_path / "out.jsonl"), client)

    with pytest.raises(Unavailable):
        asyncio.run(attempt())
    assert names(tmp_path) == set()
