"""Retries of failed lines, reasons of failures, compressed and piped input, and defaults for all lines."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from cactus_actors.batch import BatchProgress, keep_input, reasons_of
from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.cli.batch_progress import shown_progress
from cactus_actors.cli.main import EXIT_USAGE, exit_code
from cactus_actors.protocol.errors import InvalidRequest, ModelFailure
from cactus_actors.protocol.messages import Finished, Submit
from tests.support.router.batch_runs import records
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter

NUM_LINES = 12


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "in.jsonl"
    lines = [json.dumps({"prompt": f"p {number}", "custom_id": f"c{number}"}) for number in range(NUM_LINES)]
    path.write_text("\n".join([*lines, "not JSON"]) + "\n")
    return path


@pytest.fixture
def cactus(cactus: Callable[..., typer.testing.Result]) -> Callable[..., typer.testing.Result]:
    return partial(cactus, catches=True)


def fail_odd_ones(router: ScriptedRouter) -> Callable[[], None]:
    """Make jobs of odd prompts fail until the returned function is called."""

    def fail(job: ScriptedJob, finished: Finished) -> None:
        if int(str(job.submit.prompt)[2:]) % 2:
            error = ModelFailure("the logits are not finite").info()
            finished = job.finish(success=False, error=error, finish_reason="error")
        end(job, finished)

    def mend() -> None:
        router.end = end  # type: ignore[method-assign]

    end, router.end = router.end, fail  # type: ignore[method-assign]
    return mend


def seeds(router: ScriptedRouter) -> dict[str, set[Any]]:
    """The seeds of the requests for each prompt."""
    found: dict[str, set[Any]] = {}
    for submit in router.received_of(Submit):
        assert isinstance(submit, Submit)
        found.setdefault(str(submit.prompt), set()).add(submit.options.seed)
    return found


@pytest.mark.parametrize("is_cut_off", [False, True])
def test_retry_failed_runs_only_failed_lines(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path, is_cut_off: bool
) -> None:
    mend = fail_odd_ones(router)
    progress = run()
    assert (progress.num_succeeded, progress.num_failed) == (NUM_LINES // 2, NUM_LINES // 2 + 1)
    before = records(tmp_path / "out.jsonl")
    again = run(retry_failed=True)  # they fail again, under other ids
    assert (again.num_succeeded, again.num_failed) == (NUM_LINES // 2, NUM_LINES // 2 + 1)
    mend()
    if is_cut_off:  # killed between two steps of the restart
        (tmp_path / "out.jsonl").rename(tmp_path / "out.jsonl.partial")
    last = run(retry_failed=True)
    assert (last.num_succeeded, last.num_failed, last.num_resumed) == (NUM_LINES, 1, NUM_LINES // 2)
    results = records(tmp_path / "out.jsonl")
    assert len(results) == NUM_LINES
    assert all(results[name] == record for name, record in before.items())
    assert records(tmp_path / "out.errors.jsonl").keys() == {"line-13"}
    asked = [str(submit.prompt) for submit in router.received_of(Submit)]  # type: ignore[union-attr]
    assert [asked.count(f"p {number}") for number in range(4)] == [1, 3, 1, 3]
    assert all(len(of_prompt) == 1 for of_prompt in seeds(router).values())  # to the same tokens as the first time


def test_an_unfinished_run_resumes_with_its_failed_lines(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    mend = fail_odd_ones(router)
    run()
    journal = tmp_path / "out.jsonl.journal"
    journal.write_bytes(b"".join(journal.read_bytes().splitlines(keepends=True)[:-1]))
    for name in ("out.jsonl", "out.errors.jsonl"):
        (tmp_path / name).rename(tmp_path / f"{name}.partial")
    mend()
    assert run(retry_failed=True).num_succeeded == NUM_LINES


def test_retry_failed_needs_a_run(run: Callable[..., BatchProgress], source: Path) -> None:
    with pytest.raises(OutputRefused, match="no run to retry"):
        run(retry_failed=True)
    source.write_text('{"prompt": "p 0"}\n')
    run()
    assert run(retry_failed=True).num_resumed == 1


def test_an_error_line_has_its_input(run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path) -> None:
    fail_odd_ones(router)
    run()
    errors = records(tmp_path / "out.errors.jsonl")
    assert errors["c3"]["input"] == {"prompt": "p 3", "custom_id": "c3"}
    assert errors["line-13"]["input"] == "not JSON"
    assert errors["c3"]["error"]["message"] == "the logits are not finite"
    assert all("input" not in record for record in records(tmp_path / "out.jsonl").values())


def test_reasons_are_counted(
    run: Callable[..., BatchProgress],
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
) -> None:
    fail_odd_ones(router)
    run()
    found = reasons_of(tmp_path / "out.errors.jsonl")
    reasons = [(reason.code, reason.count, reason.first_line) for reason in found]
    assert reasons == [("model_error", 6, 2), ("invalid_request_error", 1, 13)]
    assert reasons_of(tmp_path / "none") == []
    told = cactus("batch", "in.jsonl", "-o", "out.jsonl", "--resume")
    assert told.exit_code == 1
    assert "6 of 13 lines done" in told.stdout
    assert "6 lines failed with model_error, the first is line 2:" in told.stderr.splitlines()
    assert "logits are not finite" in told.stderr
    report = json.loads(cactus("batch", "in.jsonl", "-o", "out.jsonl", "--resume", "--json").stdout)
    assert [reason["count"] for reason in report["reasons"]] == [6, 1]


def test_gzip_input_is_read_and_resumed(run: Callable[..., BatchProgress], source: Path, tmp_path: Path) -> None:
    packed = tmp_path / "in.jsonl.gz"
    packed.write_bytes(gzip.compress(source.read_bytes()))
    progress = run(source=packed)
    assert (progress.num_succeeded, progress.num_failed) == (NUM_LINES, 1)
    assert run(resume=True).num_resumed == NUM_LINES + 1  # its content is the same input


def test_input_from_a_pipe_is_stored_for_resuming(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path
) -> None:
    mend = fail_odd_ones(router)
    command = ("batch", "-", "-o", "out.jsonl")
    first = cactus(*command, input='{"prompt": "p 0"}\n{"prompt": "p 1"}\n')
    assert first.exit_code == 1
    assert (tmp_path / "out.jsonl.input").read_text() == '{"prompt": "p 0"}\n{"prompt": "p 1"}\n'
    refused = cactus(*command, input="another\n")
    assert "exists already" in str(refused.exception)
    mend()
    again = cactus(*command, "--retry-failed", input="")
    assert again.stdout.startswith("2 of 2 lines done")
    anew = cactus(*command, "--overwrite", input='{"prompt": "p 2"}\n')
    assert anew.stdout.startswith("1 of 1 lines done")


def test_input_that_cannot_be_stored_is_refused(tmp_path: Path) -> None:
    with pytest.raises(OutputRefused, match="no directory"):
        keep_input(io.BytesIO(b"a"), tmp_path / "none" / "out.jsonl", overwrite=False)
    (tmp_path / "directory").mkdir()
    for output in (tmp_path / "directory", Path()):
        with pytest.raises(OutputRefused, match="is a directory"):
            keep_input(io.BytesIO(b"a"), output, overwrite=False)
    assert [path.name for path in tmp_path.iterdir()] == ["directory"]


def test_a_system_message_and_a_schema_for_lines_that_have_none(
    cactus: Callable[..., typer.testing.Result], router: ScriptedRouter, tmp_path: Path
) -> None:
    own = {"role": "system", "content": "Own."}
    question = {"role": "user", "content": "Why?"}
    body = {"messages": [question]}
    lines: list[Any] = [
        "Why?",
        {"messages": [question]},
        {"messages": [own, question], "json_schema": {"type": "null"}},
        {"custom_id": "b", "method": "POST", "url": "/v1/chat/completions", "body": body},
        {"prompt": "raw"},
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "schema.json").write_text('{"type": "integer"}')
    command = ("batch", "in.jsonl", "-o", "out.jsonl", "--system", "Be brief.", "--max-in-flight", "1")
    assert cactus(*command, "--json-schema", "schema.json").exit_code == 0
    submits = [submit for submit in router.received_of(Submit) if isinstance(submit, Submit)]
    told = [[message.content for message in submit.messages or []] for submit in submits]
    assert told == [["Be brief.", "Why?"]] * 2 + [["Own.", "Why?"], ["Be brief.", "Why?"], []]
    schemas = [submit.options.json_schema for submit in submits]
    assert schemas == [{"type": "integer"}] * 2 + [{"type": "null"}] + [{"type": "integer"}] * 2
    changed = cactus(*command, "--json-schema", '{"type": "null"}', "--resume")
    expected = '--schema was {"type":"integer"} and is {"type":"null"} now'
    assert expected in str(changed.exception)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("{broken", "--schema: it is not JSON"),
        ('{"type": "strng"}', "--schema: at #/type: "),
        ("none.json", "--schema: none.json: No such file"),
        (".", "--schema: .: Is a directory"),
        ("wrong.json", "--schema: wrong.json: at #/type: "),
        ("null.json", "--schema: null.json: a schema is an object or a boolean"),
        ("text.json", "--schema: text.json: it is not JSON"),
    ],
)
def test_an_invalid_schema_runs_nothing(
    cactus: Callable[..., typer.testing.Result],
    router: ScriptedRouter,
    tmp_path: Path,
    given: str,
    reason: str,
) -> None:
    files = {"wrong.json": '{"type": "strng"}', "null.json": "null", "text.json": "no schema"}
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    refused = cactus("batch", "-", "-o", "out.jsonl", "--json-schema", given, input='"p"\n')
    assert isinstance(refused.exception, InvalidRequest)
    assert exit_code(refused.exception) == EXIT_USAGE
    assert refused.exception.message.startswith(reason)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)
    assert not router.received_of(Submit)


def test_an_invalid_system_message_runs_nothing(run: Callable[..., BatchProgress]) -> None:
    with pytest.raises(InvalidRequest, match="system is not UTF-8"):
        run(system="caf\udce9")


def test_reasons_of_the_same_kind_are_counted_together(tmp_path: Path) -> None:
    told = [
        ("the line is not JSON (byte 7)", 1),
        ("the line is not JSON (byte 12)", 2),
        ("'a' is given twice", 3),
    ]
    lines = [
        {"error": {"code": "invalid_request_error", "param": "line", "message": message, "line": number}}
        for message, number in [*told, ("'b' is given twice", 4), ("the line is longer than 4 bytes", 5)]
    ]
    path = tmp_path / "errors.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = [(reason.count, reason.first_line, reason.message) for reason in reasons_of(path)]
    assert sorted(found, key=lambda reason: reason[1] or 0) == [
        (2, 1, "the line is not JSON (byte 7)"),
        (2, 3, "'a' is given twice"),
        (1, 5, "the line is longer than 4 bytes"),
    ]


def test_no_progress_bar_is_drawn_before_the_run_begins() -> None:
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    with pytest.raises(OutputRefused), shown_progress("in.jsonl", terminal):
        raise OutputRefused("no")
    assert terminal.getvalue() == ""
    with shown_progress("in.jsonl", terminal) as show:
        show(BatchProgress(3, 1, 1, 0, 5, 0.0))
    assert "2/3" in terminal.getvalue()
