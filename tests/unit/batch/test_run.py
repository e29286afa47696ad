"""Runs of prompt files against a router with real sockets: every line once, and what may refuse a run."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors.batch import BatchProgress, BatchRequest, run_batch
from cactus_actors.batch import batch_runner as runner
from cactus_actors.batch.batch_errors import (
    InputChanged,
    InputInvalid,
    OptionsChanged,
    OutputFailed,
    OutputLocked,
    OutputRefused,
)
from cactus_actors.batch.batch_output import BatchOutput
from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.batch.paths import BatchPaths
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import (
    AuthenticationFailed,
    CactusError,
    InvalidRequest,
    JobConflict,
    ModelFailure,
    NotSupported,
    Overloaded,
    StorageFailure,
    Unavailable,
)
from cactus_actors.protocol.messages import Finished, Rejected, Submit
from cactus_actors.protocol.options import Options
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter, until

WAITS = "waiting up to 120 s for the service"
FINISHED = {"out.jsonl", "out.jsonl.journal"}  # an error file only where a line failed


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter() as router:
        yield router


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "prompts.jsonl"
    lines = [{"custom_id": f"job-{number}", "prompt": f"prompt {number}"} for number in range(20)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


@pytest.fixture
def run(router: ScriptedRouter, source: Path, tmp_path: Path) -> Callable[..., BatchProgress]:
    def run(timeout: float = 30.0, **changes: Any) -> BatchProgress:
        arguments = {"source": source, "output": tmp_path / "out.jsonl", **changes}

        async def run_it() -> BatchProgress:
            async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=timeout) as client:
                return await run_batch(BatchRequest(**arguments), client)

        return asyncio.run(run_it())

    return run


def records(path: Path) -> dict[str, Any]:
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    by_id = {line["custom_id"]: line for line in lines}
    assert len(by_id) == len(lines), "a line was written twice"
    return by_id


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()} - {"prompts.jsonl"}


def test_every_line_is_answered_and_only_the_journal_is_left(run: Callable[..., BatchProgress], tmp_path: Path) -> None:
    progress = run()
    assert (progress.num_lines, progress.num_succeeded, progress.num_failed) == (20, 20, 0)
    assert progress.completion_tokens == 100
    assert names(tmp_path) == FINISHED
    answers = records(tmp_path / "out.jsonl")
    assert answers.keys() == {f"job-{number}" for number in range(20)}
    body = answers["job-3"]["response"]["body"]
    assert (body["object"], body["choices"][0]["text"]) == ("text_completion", "prompt 3 w1 w2 w3 w4")
    assert answers["job-3"]["error"] is None


def test_every_choice_of_a_line_stands_in_its_answer(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    line = {
        "custom_id": "a",
        "method": "POST",
        "url": "/v1/completions",
        "body": {"prompt": ["x", "y"], "n": 2},
    }
    source.write_text(json.dumps(line) + "\n")
    progress = run()
    assert (progress.num_succeeded, progress.completion_tokens) == (1, 20)
    body = records(tmp_path / "out.jsonl")["a"]["response"]["body"]
    assert [(choice["index"], choice["text"][0]) for choice in body["choices"]] == [
        (0, "x"),
        (1, "x"),
        (2, "y"),
        (3, "y"),
    ]
    assert body["usage"]["completion_tokens"] == 20


def test_interactive_jobs_go_first(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
    run()
    priorities = {message.options.priority for message in router.received_of(Submit)}  # type: ignore[union-attr]
    assert priorities == {10}


def test_malformed_lines_and_failed_jobs_are_error_lines(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    def fail_some(job: ScriptedJob, finished: Finished) -> None:
        if job.texts[0] == "bad":
            finished = job.finish(success=False, error=ModelFailure("not finite").info(), finish_reason="error")
        end(job, finished)

    end, router.end = router.end, fail_some  # type: ignore[method-assign]
    source.write_bytes(b'"good"\nnot json\n"bad"\n\xff\xfe\n{"prompt":"x","n":2}\n"good too"\n')
    progress = run()
    assert (progress.num_succeeded, progress.num_failed) == (2, 4)
    assert records(tmp_path / "out.jsonl").keys() == {"line-1", "line-6"}
    errors = records(tmp_path / "out.errors.jsonl")
    assert {name: (error["response"]["status_code"], error["error"]["line"]) for name, error in errors.items()} == {
        "line-2": (400, 2),
        "line-3": (500, 3),
        "line-4": (400, 4),
        "line-5": (400, 5),
    }
    assert errors["line-3"]["error"]["code"] == "model_error"
    assert "unknown field 'n'" in errors["line-5"]["error"]["message"]


def plain_source(source: Path) -> None:
    source.write_text(
        '"plain"\n{"prompt": "written"}\n{"messages": [{"role": "user", "content": "asked"}]}\n"plain too"\n'
    )


def refuse_messages(router: ScriptedRouter) -> None:
    """Answer as a model without a chat template."""

    def refuse(identity: bytes, submit: Submit) -> None:
        if submit.messages is None:
            on_submit(identity, submit)
            return
        error = NotSupported("the model has no chat template; send a prompt instead", param="messages")
        router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, refuse  # type: ignore[method-assign]


def objects(path: Path) -> dict[str, str]:
    return {name: line["response"]["body"]["object"] for name, line in records(path).items()}


def test_a_plain_line_is_a_user_message(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    plain_source(source)
    assert run().num_succeeded == 4
    asked = {submit.prompt or submit.messages[0].content for submit in router.received_of(Submit)}  # type: ignore[union-attr, index]
    assert asked == {"plain", "written", "asked", "plain too"}
    assert objects(tmp_path / "out.jsonl") == {
        "line-1": "chat.completion",
        "line-2": "text_completion",
        "line-3": "chat.completion",
        "line-4": "chat.completion",
    }


def test_a_plain_line_is_raw_for_a_model_without_a_chat_template(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    refuse_messages(router)
    plain_source(source)
    progress = run(max_in_flight=1)
    assert (progress.num_succeeded, progress.num_failed) == (3, 1)
    assert set(objects(tmp_path / "out.jsonl").values()) == {"text_completion"}
    assert records(tmp_path / "out.errors.jsonl")["line-3"]["error"]["param"] == "messages"
    # the first refusal is enough: one for it, and the line that asks for a chat itself
    refused = [submit for submit in router.received_of(Submit) if submit.messages is not None]  # type: ignore[union-attr]
    assert len(refused) == 2


def test_many_plain_lines_at_once_are_all_raw_for_a_model_without_a_chat_template(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path
) -> None:
    refuse_messages(router)
    source.write_text("".join(f'"prompt {number}"\n' for number in range(30)))
    assert run().num_succeeded == 30


def test_a_resumed_raw_line_makes_the_same_tokens(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    """Its job id, and so its seed, is the same whether or not a refusal came before it."""
    refuse_messages(router)
    source.write_text("".join(f'"prompt {number}"\n' for number in range(6)))
    interrupted(run, router, after=3)
    before = {submit.prompt: submit.job_id for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    router.received.clear()
    assert run(resume=True, max_in_flight=6).num_succeeded == 6
    again = {submit.prompt: submit.job_id for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    begun = before.keys() & again.keys() - {None}
    assert begun
    assert all(before[prompt] == again[prompt] for prompt in begun)


def test_a_raw_run_keeps_plain_lines_from_the_template_and_is_no_other_run(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    plain_source(source)
    interrupted(lambda **changes: run(raw=True, **changes), router, after=1)
    with pytest.raises(OptionsChanged, match="--raw was given and is not given now"):
        run(resume=True)
    assert run(resume=True, raw=True).num_succeeded == 4
    assert objects(tmp_path / "out.jsonl")["line-4"] == "text_completion"


def test_options_wrong_for_every_line_are_refused_before_anything_is_written(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        run(options=Options(temperature=9.0))
    assert caught.value.param == "temperature"
    assert names(tmp_path) == set()
    assert not router.received


def command(router: ScriptedRouter, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    return subprocess.run(
        [sys.executable, "-m", "cactus_actors.cli.main", "batch", *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_exit_codes(router: ScriptedRouter, source: Path, tmp_path: Path) -> None:
    arguments = (str(source), "-o", str(tmp_path / "out.jsonl"))
    wrong = command(router, *arguments, "--temperature", "9")
    assert (wrong.returncode, names(tmp_path)) == (2, set())
    assert command(router, *arguments).returncode == 0
    source.write_bytes(source.read_bytes() + b"not json\n")
    changed = command(router, *arguments, "--resume")
    assert changed.returncode == 66
    assert "input_changed" in changed.stderr
    other = command(router, *arguments, "--overwrite", "--max-tokens", "5")
    assert other.returncode == 1
    refused = command(router, *arguments, "--resume")
    assert refused.returncode == 2
    assert "--max-tokens was 5 and is not given now" in refused.stderr
    for how in ("--overwrite", "--resume"):
        failed = command(router, *arguments, how)
        assert failed.returncode == 1
        assert failed.stdout.startswith("20 of 21 lines done")
        assert "1 failed" in failed.stdout


def test_an_interrupt_says_what_it_does_and_how_to_go_on(router: ScriptedRouter, source: Path, tmp_path: Path) -> None:
    router.on_submit = lambda *_: None  # type: ignore[method-assign]
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    arguments = ["batch", str(source), "-o", str(tmp_path / "out.jsonl")]
    with subprocess.Popen(
        [sys.executable, "-m", "cactus_actors.cli.main", *arguments],
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as running:
        until(lambda: len(router.received_of(Submit)) == 20, 60)
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    assert running.returncode == 130
    first, last = told.splitlines()[-2:]
    assert first == ("interrupted: cancelling what is in flight and saving what is done; a second signal ends at once")
    assert last == "interrupted; 0 of 20 lines are done; the same command with --resume continues"


def test_a_priority_is_the_callers_and_no_parameter_of_the_run(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    interrupted(lambda **changes: run(options=Options(priority=3), **changes), router, after=3)
    assert {submit.options.priority for submit in router.received_of(Submit)} == {3}  # type: ignore[union-attr]
    router.received.clear()
    assert run(resume=True, options=Options(priority=-1)).num_done == 20
    assert {submit.options.priority for submit in router.received_of(Submit)} == {-1}  # type: ignore[union-attr]


def seeds(router: ScriptedRouter) -> dict[Any, set[int]]:
    """The seeds under which each prompt was asked for."""
    found: dict[Any, set[int]] = {}
    for submit in router.received_of(Submit):
        found.setdefault(submit.prompt, set()).add(submit.options.seed)  # type: ignore[union-attr]
    return found


def test_a_job_that_was_stopped_or_taken_runs_under_another_id_to_the_same_tokens(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    """A service that stops ends its jobs for good; one that was asked for at another priority is another."""
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
def test_a_service_that_fails_as_a_whole_fails_no_line(
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


def test_a_run_is_not_gone_on_with_by_another_model(
    run: Callable[..., BatchProgress], router: ScriptedRouter, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupted(run, router, after=3)
    status = router.status
    monkeypatch.setattr(
        router,
        "status",
        lambda request_id: msgspec.structs.replace(status(request_id), model="another"),
    )
    with pytest.raises(InputChanged, match="began with the model scripted, the service has another"):
        run(resume=True)
    monkeypatch.undo()
    assert run(resume=True).num_done == 20


@pytest.mark.parametrize("name", ["out.jsonl.partial", "out.errors.jsonl.partial", "out.errors.jsonl"])
def test_results_that_no_journal_tells_of_are_not_thrown_away(
    run: Callable[..., BatchProgress], tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b'{"custom_id":"job-1"}\n')
    for changes in ({}, {"resume": True}):
        with pytest.raises(OutputRefused, match=rf"{name}: holds results.*--overwrite"):
            run(**changes)
    assert (tmp_path / name).read_bytes() == b'{"custom_id":"job-1"}\n'
    assert run(overwrite=True).num_succeeded == 20
    assert names(tmp_path) == FINISHED


def test_in_flight_is_bounded(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
    most = 0

    def count(identity: bytes, submit: Submit) -> None:
        nonlocal most
        on_submit(identity, submit)
        most = max(most, sum(job.finished is None for job in router.jobs_run.values()))

    on_submit, router.on_submit = router.on_submit, count  # type: ignore[method-assign]
    run(max_in_flight=3)
    assert most == 3


def refuse_each_once(router: ScriptedRouter, error: CactusError) -> set[str]:
    """Let every job be refused once; which were, as it goes on."""
    refused: set[str] = set()

    def refuse_once(identity: bytes, submit: Submit) -> None:
        if submit.job_id in refused:
            on_submit(identity, submit)
            return
        refused.add(submit.job_id)
        router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    on_submit, router.on_submit = router.on_submit, refuse_once  # type: ignore[method-assign]
    return refused


def test_a_full_queue_is_waited_for(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
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


def test_a_line_with_a_timeout_outlives_a_service_that_is_away(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path
) -> None:
    """It may have the result by then."""
    refuse_each_once(router, Unavailable("the service is draining", retry_after=0.05))
    source.write_text(json.dumps({"custom_id": "hurried", "prompt": "a", "timeout_ms": 1}) + "\n")
    assert run().num_succeeded == 1


def test_a_service_that_is_away_for_a_while_is_waited_for(
    run: Callable[..., BatchProgress], router: ScriptedRouter, caplog: pytest.LogCaptureFixture
) -> None:
    """Longer than a first answer may take, and longer than nothing was heard of the lines in flight."""

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


def test_a_service_that_refuses_one_line_and_answers_another_is_spoken_of_once(
    run: Callable[..., BatchProgress], router: ScriptedRouter, caplog: pytest.LogCaptureFixture
) -> None:
    """As it does while it drains."""
    refuse_each_once(router, Unavailable("the service is draining", retry_after=0.01))
    assert run(max_in_flight=4).num_succeeded == 20
    assert caplog.text.count("waiting up to 120 s for the service") == 1


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_a_prompt_is_refused(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path, content: bytes
) -> None:
    source.write_bytes(content)
    with pytest.raises(InputInvalid, match="there is no prompt in it"):
        run()
    assert names(tmp_path) == set()


def test_errors_of_an_earlier_run_do_not_outlive_one_without_any(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    good = source.read_bytes()
    source.write_bytes(good + b"no JSON\n")
    assert run().num_failed == 1
    assert names(tmp_path) == {*FINISHED, "out.errors.jsonl"}
    source.write_bytes(good)
    assert run(overwrite=True).num_failed == 0
    assert names(tmp_path) == FINISHED
    assert run(resume=True).num_resumed == 20
    assert run(retry_failed=True).num_resumed == 20


def test_what_a_resumed_run_was_given_otherwise_is_told(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run(options=Options(max_tokens=16, seed=3), system="Be brief.")
    with pytest.raises(OptionsChanged) as caught:
        run(resume=True, options=Options(max_tokens=5, json_schema={"type": "null"}))
    assert caught.value.message == (
        f"{tmp_path}/out.jsonl: options_changed: the run here began with other options: "
        '--system was "Be brief." and is not given now; --max-tokens was 16 and is 5 now; '
        '--seed was 3 and is not given now; --json-schema was not given and is {"type":"null"} now. '
        "Give the options that it began with, or start again with --overwrite"
    )
    source.write_bytes(source.read_bytes() + b'"one more"\n')
    with pytest.raises(InputChanged, match=r"prompts.jsonl: input_changed: .* 20 lines .* has 21 lines"):
        run(resume=True)


def test_a_finished_output_is_not_written_over(run: Callable[..., BatchProgress], tmp_path: Path) -> None:
    run()
    before = (tmp_path / "out.jsonl").read_bytes()
    with pytest.raises(OutputRefused, match="--overwrite"):
        run()
    assert run(resume=True).num_resumed == 20
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert run(overwrite=True).num_resumed == 0
    assert (tmp_path / "out.jsonl").read_bytes() != before  # another run has other job ids


def test_resuming_a_changed_input_into_a_finished_output_is_refused(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    run()
    finished = (tmp_path / "out.jsonl").read_bytes()
    original = source.read_bytes()
    source.write_bytes(original.replace(b"prompt 3", b"prompt X"))
    with pytest.raises(InputChanged, match="input_changed"):
        run(resume=True)
    source.write_bytes(original)
    with pytest.raises(OptionsChanged, match="--max-tokens was not given and is 2 now"):
        run(resume=True, options=Options(max_tokens=2))
    router.received.clear()
    assert run(resume=True).num_resumed == 20
    assert not router.received_of(Submit)
    assert (tmp_path / "out.jsonl").read_bytes() == finished


def test_a_changed_input_may_be_run_over_a_finished_output(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run()
    source.write_bytes(source.read_bytes() + b'"one more"\n')
    assert run(overwrite=True).num_lines == 21
    assert run(resume=True).num_resumed == 21
    (tmp_path / "out.jsonl").unlink()
    assert run(resume=True, options=Options(max_tokens=2)).num_resumed == 0


def test_an_overwrite_cut_off_while_it_begins_leaves_what_was_finished(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run()
    with (tmp_path / "out.jsonl.journal").open("ab") as file:
        file.write(b'{"version":3,"run_id":"0123')
    assert run(resume=True).num_resumed == 20
    source.write_bytes(source.read_bytes() + b'"one more"\n')
    with pytest.raises(InputChanged):
        run(resume=True)


def test_another_file_into_an_output_without_a_journal_is_refused(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run()
    (tmp_path / "out.jsonl.journal").unlink()
    assert run(resume=True).num_resumed == 20
    source.write_text(source.read_text() + '{"custom_id": "new", "prompt": "x"}\n')
    with pytest.raises(OutputRefused, match="no line 21"):
        run(resume=True)


def interrupted(run: Callable[..., BatchProgress], router: ScriptedRouter, after: int) -> None:
    """Leave a run with `after` lines done, as a service that goes away does."""

    def go_away(job: ScriptedJob, finished: Finished) -> None:
        nonlocal after
        if after > 0:
            after -= 1
            end(job, finished)
        else:
            for identity in job.waiters:
                error = Unavailable("the service was stopped").info()
                router.reply(identity, job.finish(success=False, error=error, finish_reason="error"))

    end, router.end = router.end, go_away  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        run(max_in_flight=2, limits=BatchLimits(service_lost_s=0.0))
    router.end = end  # type: ignore[method-assign]
    router.restart()


def test_resume_runs_only_what_is_not_done(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    interrupted(run, router, after=7)
    assert names(tmp_path) == {"out.jsonl.partial", "out.errors.jsonl.partial", "out.jsonl.journal"}
    done = records(tmp_path / "out.jsonl.partial")
    with pytest.raises(OutputRefused, match="--resume"):
        run()
    router.received.clear()
    progress = run(resume=True)
    assert progress.num_resumed == len(done)
    assert len(router.received_of(Submit)) == 20 - len(done)
    answers = records(tmp_path / "out.jsonl")
    assert answers.keys() == {f"job-{number}" for number in range(20)}
    assert {name: answers[name] for name in done} == done
    assert names(tmp_path) == FINISHED


@pytest.mark.parametrize("torn", [b'{"id":"x","custom_id":"job-19","res', b"\0\0\0\0\n", b'{"half":1}\n'])
def test_a_torn_last_line_is_cut_off_and_run_again(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path, torn: bytes
) -> None:
    interrupted(run, router, after=4)
    with (tmp_path / "out.jsonl.partial").open("ab") as file:
        file.write(torn)
    run(resume=True)
    assert records(tmp_path / "out.jsonl").keys() == {f"job-{number}" for number in range(20)}


def test_jobs_that_an_interrupt_cancelled_run_again(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    end = router.end
    cancelled = 0

    def cancel_first(job: ScriptedJob, finished: Finished) -> None:
        nonlocal cancelled
        if cancelled < 5:
            cancelled += 1
            finished = job.finish(finish_reason="cancelled")
        end(job, finished)

    router.end = cancel_first  # type: ignore[method-assign]
    run()
    answers = records(tmp_path / "out.jsonl")
    assert len(answers) == 20
    assert {line["response"]["body"]["choices"][0]["finish_reason"] for line in answers.values()} == {"length"}
    assert cancelled == 5


def test_a_line_outlives_any_number_of_interrupts(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    end = router.end
    cancelled = 0

    def cancel_first(job: ScriptedJob, finished: Finished) -> None:
        nonlocal cancelled
        if cancelled < 10:
            cancelled += 1
            finished = job.finish(finish_reason="cancelled")
        end(job, finished)

    router.end = cancel_first  # type: ignore[method-assign]
    run(max_in_flight=1)
    assert cancelled == 10
    assert len(records(tmp_path / "out.jsonl")) == 20


def test_resume_refuses_another_input_or_other_parameters(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path
) -> None:
    interrupted(run, router, after=3)
    with pytest.raises(OptionsChanged, match="--max-tokens was not given and is 2 now"):
        run(resume=True, options=Options(max_tokens=2))
    original = source.read_bytes()
    source.write_bytes(original + b'"one more"\n')
    with pytest.raises(InputChanged, match="input_changed"):
        run(resume=True)
    source.write_bytes(original)
    assert run(resume=True).num_done == 20


def append(content: bytes) -> bytes:
    return content + b'"appended"\n'


def modify_the_end(content: bytes) -> bytes:
    return content.replace(b"prompt 19", b"prompt XX")


def truncate(content: bytes) -> bytes:
    return content[: len(content) // 2]


@pytest.mark.parametrize("change", [append, modify_the_end, truncate])
@pytest.mark.parametrize("is_read_ahead", [True, False])
def test_an_input_that_changes_under_the_run_is_noticed(
    run: Callable[..., BatchProgress],
    router: ScriptedRouter,
    source: Path,
    tmp_path: Path,
    change: Callable[[bytes], bytes],
    is_read_ahead: bool,
) -> None:
    """Only what the run began with is answered, and so it goes on once that is there again."""
    limits = BatchLimits() if is_read_ahead else BatchLimits(max_ahead_bytes=1)
    original = source.read_bytes()

    def change_it(identity: bytes, submit: Submit) -> None:
        router.on_submit = on_submit  # type: ignore[method-assign]
        source.write_bytes(change(original))
        on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, change_it  # type: ignore[method-assign]
    with pytest.raises(InputInvalid) as caught:
        run(max_in_flight=1, limits=limits)
    assert "input_changed" in caught.value.message or "not_text" in caught.value.message
    assert not (tmp_path / "out.jsonl").exists()
    asked = {submit.prompt for submit in router.received_of(Submit)}  # type: ignore[union-attr]
    assert asked <= {f"prompt {number}" for number in range(20)}
    source.write_bytes(original)
    assert run(resume=True).num_succeeded == 20
    answers = records(tmp_path / "out.jsonl")
    for number in range(20):
        text = answers[f"job-{number}"]["response"]["body"]["choices"][0]["text"]
        assert text.startswith(f"prompt {number} ")


@pytest.mark.parametrize("change", [Path.touch, Path.unlink])
def test_an_input_that_is_only_touched_or_removed_under_the_run_does_no_harm(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, change: Callable[[Path], None]
) -> None:
    def change_it(identity: bytes, submit: Submit) -> None:
        router.on_submit = on_submit  # type: ignore[method-assign]
        change(source)
        on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, change_it  # type: ignore[method-assign]
    assert run().num_succeeded == 20


@pytest.mark.parametrize(
    "content",
    [
        b"garbage\n",
        b'{"version":99}\n',
        b'{"version":2}\n',
        b'{"version":3}\n',
        b"[]\n",
        b'{"complete":true}\n',
    ],
)
def test_a_journal_that_is_not_ours_is_refused(
    run: Callable[..., BatchProgress], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "out.jsonl.journal").write_bytes(content)
    with pytest.raises(OutputRefused, match=r"out.jsonl.journal.*--overwrite"):
        run(resume=True)
    assert run(overwrite=True).num_done == 20


def test_two_runs_on_one_output(
    run: Callable[..., BatchProgress], router: ScriptedRouter, source: Path, tmp_path: Path
) -> None:
    router.step_s = 0.4
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", str(source), "-o"]
    other = subprocess.Popen(
        [*command, str(tmp_path / "out.jsonl")], env=os.environ | environment, stdout=subprocess.DEVNULL
    )
    try:
        until(lambda: bool(router.received_of(Submit)))
        with pytest.raises(OutputLocked, match="output_locked"):
            run(resume=True)
        with pytest.raises(OutputLocked, match="output_locked"):
            run(overwrite=True)
    finally:
        other.kill()
        other.wait()
    router.step_s = 0.002
    assert run(resume=True).num_done == 20  # the lock went with the process


async def test_a_run_cancelled_while_it_opens_its_files_locks_nobody_out(
    router: ScriptedRouter, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a batch of the gateway is, whose process lives on."""
    is_opening, may_open = threading.Event(), threading.Event()

    def open_slowly(paths: BatchPaths) -> BatchOutput:
        is_opening.set()
        assert may_open.wait(60)
        return BatchOutput(paths)

    monkeypatch.setattr(runner, "BatchOutput", open_slowly)
    request = BatchRequest(source=source, output=tmp_path / "out.jsonl", resume=True)
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=30.0) as client:
        task = asyncio.create_task(run_batch(request, client))
        await asyncio.to_thread(is_opening.wait)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        may_open.set()
        monkeypatch.undo()
        async with asyncio.timeout(60):
            while not (tmp_path / "out.jsonl").exists():
                with contextlib.suppress(OutputLocked):  # until the thread has opened and closed them
                    await run_batch(request, client)
                await asyncio.sleep(0.01)
    assert len(records(tmp_path / "out.jsonl")) == 20


@pytest.mark.parametrize(
    "output",
    [
        "prompts.jsonl",
        "missing/out.jsonl",
        "directory",
        "link.jsonl",
        "fifo.jsonl",
        "x" * 250,
        "prompts.jsonl/out",
    ],
)
def test_outputs_that_are_refused(run: Callable[..., BatchProgress], source: Path, tmp_path: Path, output: str) -> None:
    (tmp_path / "directory").mkdir()
    (tmp_path / "link.jsonl").symlink_to(source)
    os.mkfifo(tmp_path / "fifo.jsonl")
    before = source.read_bytes()
    for changes in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(OutputRefused):
            run(output=tmp_path / output, **changes)
    with pytest.raises(OutputRefused, match="is a directory"):
        run(output=Path())
    assert source.read_bytes() == before
    assert names(tmp_path) == {"directory", "link.jsonl", "fifo.jsonl"}


def test_a_missing_service_leaves_no_file(source: Path, tmp_path: Path) -> None:
    async def attempt() -> None:
        async with AsyncClient("tcp://127.0.0.1:9", timeout=0.2) as client:
            await run_batch(BatchRequest(source=source, output=tmp_path / "out.jsonl"), client)

    with pytest.raises(Unavailable):
        asyncio.run(attempt())
    assert names(tmp_path) == set()


def test_an_invalid_input_leaves_no_file(run: Callable[..., BatchProgress], source: Path, tmp_path: Path) -> None:
    source.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputInvalid):
        run()
    assert names(tmp_path) == set()


@pytest.mark.parametrize("room", [0, 100, 5000, 9000])
def test_a_full_disk_stops_the_run_and_loses_nothing(
    run: Callable[..., BatchProgress], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    write = os.pwrite

    def write_until_full(descriptor: int, content: Any, offset: int) -> int:
        """As a full disk does: first a short write, then no more."""
        nonlocal room
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix != ".partial":
            return write(descriptor, content, offset)
        if room == 0:
            raise OSError(28, os.strerror(28))
        written = write(descriptor, bytes(content)[:room], offset)
        room -= written
        return written

    monkeypatch.setattr(os, "pwrite", write_until_full)
    with pytest.raises(OutputFailed, match=r"out.jsonl.partial: No space left on device after \d+ bytes"):
        run()
    monkeypatch.undo()
    partial = (tmp_path / "out.jsonl.partial").read_bytes()
    assert not partial or partial.endswith(b"\n")
    assert run(resume=True).num_done == 20
    assert (tmp_path / "out.jsonl").read_bytes().startswith(partial)


def test_short_writes_are_completed(
    run: Callable[..., BatchProgress], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = os.pwrite
    monkeypatch.setattr(os, "pwrite", lambda descriptor, content, offset: write(descriptor, bytes(content)[:7], offset))
    run()
    monkeypatch.undo()
    assert len(records(tmp_path / "out.jsonl")) == 20
