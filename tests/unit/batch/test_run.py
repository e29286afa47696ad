"""Runs of prompt files with a router on real sockets: every line is answered once."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_errors import InputInvalid
from cactus_actors.protocol.errors import InvalidRequest, ModelFailure
from cactus_actors.protocol.messages import Finished, Submit
from cactus_actors.protocol.options import Options
from tests.support.router.batch_runs import FINISHED, names, records
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter


def test_every_line_is_answered_and_only_the_journal_remains(run: Callable[..., BatchProgress], tmp_path: Path) -> None:
    progress = run()
    assert (progress.num_lines, progress.num_succeeded, progress.num_failed) == (20, 20, 0)
    assert progress.completion_tokens == 100
    assert names(tmp_path) == FINISHED
    answers = records(tmp_path / "out.jsonl")
    assert answers.keys() == {f"job-{number}" for number in range(20)}
    body = answers["job-3"]["response"]["body"]
    assert (body["object"], body["choices"][0]["text"]) == ("text_completion", "prompt 3 w1 w2 w3 w4")
    assert answers["job-3"]["error"] is None


def test_an_answer_has_every_choice_of_its_line(
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


def test_jobs_of_a_batch_have_background_priority(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
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


def test_invalid_options_are_refused_before_anything_is_written(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        run(options=Options(temperature=9.0))
    assert caught.value.param == "temperature"
    assert names(tmp_path) == set()
    assert not router.received


def test_the_number_of_jobs_in_flight_is_bounded(run: Callable[..., BatchProgress], router: ScriptedRouter) -> None:
    most = 0

    def count(identity: bytes, submit: Submit) -> None:
        nonlocal most
        on_submit(identity, submit)
        most = max(most, sum(job.finished is None for job in router.jobs_run.values()))

    on_submit, router.on_submit = router.on_submit, count  # type: ignore[method-assign]
    run(max_in_flight=3)
    assert most == 3


@pytest.mark.parametrize("content", [b"", b"\n \n"])
def test_a_file_without_a_prompt_has_an_empty_output(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path, content: bytes
) -> None:
    source.write_bytes(content)
    for resume in (False, True):
        assert run(resume=resume).num_lines == 0
        assert (tmp_path / "out.jsonl").read_bytes() == b""
        assert names(tmp_path) == FINISHED


def test_an_invalid_input_leaves_no_file(run: Callable[..., BatchProgress], source: Path, tmp_path: Path) -> None:
    source.write_bytes(b"PK\x03\x04")
    with pytest.raises(InputInvalid):
        run()
    assert names(tmp_path) == set()
