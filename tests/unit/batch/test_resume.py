"""Resumed runs, after an interruption and after the end: completed lines stay, changed runs are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from cactus_actors.batch import BatchProgress
from cactus_actors.batch.batch_errors import InputChanged, OptionsChanged, OutputRefused
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from tests.support.router.batch_runs import FINISHED, interrupted, names, records
from tests.support.router.scripted_router import ScriptedRouter


def test_a_resumed_run_may_have_another_priority(
    run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path
) -> None:
    interrupted(lambda **changes: run(options=Options(priority=3), **changes), router, after=3)
    assert {submit.options.priority for submit in router.received_of(Submit)} == {3}  # type: ignore[union-attr]
    router.received.clear()
    assert run(resume=True, options=Options(priority=-1)).num_done == 20
    assert {submit.options.priority for submit in router.received_of(Submit)} == {-1}  # type: ignore[union-attr]


def test_a_run_cannot_be_resumed_with_another_model(
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
def test_results_without_a_journal_are_not_overwritten(
    run: Callable[..., BatchProgress], tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(b'{"custom_id":"job-1"}\n')
    for changes in ({}, {"resume": True}):
        with pytest.raises(OutputRefused, match=rf"{name}: has results.*--overwrite"):
            run(**changes)
    assert (tmp_path / name).read_bytes() == b'{"custom_id":"job-1"}\n'
    assert run(overwrite=True).num_succeeded == 20
    assert names(tmp_path) == FINISHED


def test_a_run_without_errors_removes_earlier_errors(
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


def test_changed_options_of_a_resumed_run_are_reported(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run(options=Options(max_tokens=16, seed=3), system="Be brief.")
    with pytest.raises(OptionsChanged) as caught:
        run(resume=True, options=Options(max_tokens=5, json_schema={"type": "null"}))
    assert caught.value.message == (
        f"{tmp_path}/out.jsonl: options_changed: the run here began with other options: "
        '--system was "Be brief." and is not given now; --max-tokens was 16 and is 5 now; '
        '--seed was 3 and is not given now; --schema was not given and is {"type":"null"} now. '
        "Give the options that it began with, or start again with --overwrite"
    )
    source.write_bytes(source.read_bytes() + b'"one more"\n')
    with pytest.raises(InputChanged, match=r"prompts.jsonl: input_changed: .* 20 lines .* has 21 lines"):
        run(resume=True)


def test_a_finished_output_is_not_overwritten(run: Callable[..., BatchProgress], tmp_path: Path) -> None:
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


def test_a_changed_input_may_overwrite_a_finished_output(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run()
    source.write_bytes(source.read_bytes() + b'"one more"\n')
    assert run(overwrite=True).num_lines == 21
    assert run(resume=True).num_resumed == 21
    (tmp_path / "out.jsonl").unlink()
    assert run(resume=True, options=Options(max_tokens=2)).num_resumed == 0


def test_an_overwrite_interrupted_at_its_start_keeps_the_finished_output(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run()
    with (tmp_path / "out.jsonl.journal").open("ab") as file:
        file.write(b'{"version":3,"run_id":"0123')
    assert run(resume=True).num_resumed == 20
    source.write_bytes(source.read_bytes() + b'"one more"\n')
    with pytest.raises(InputChanged):
        run(resume=True)


def test_another_input_into_an_output_without_a_journal_is_refused(
    run: Callable[..., BatchProgress], source: Path, tmp_path: Path
) -> None:
    run()
    (tmp_path / "out.jsonl.journal").unlink()
    assert run(resume=True).num_resumed == 20
    source.write_text(source.read_text() + '{"custom_id": "new", "prompt": "x"}\n')
    with pytest.raises(OutputRefused, match="no line 21"):
        run(resume=True)


def test_resume_skips_finished_lines(run: Callable[..., BatchProgress], router: ScriptedRouter, tmp_path: Path) -> None:
    interrupted(run, router, after=7)
    assert names(tmp_path) == {"out.jsonl.partial", "out.errors.jsonl.partial", "out.jsonl.journal"}
    done = records(tmp_path / "out.jsonl.partial")
    with pytest.raises(OutputRefused, match="--resume"):
        run()
    router.received.clear()
    progress = run(resume=True)
    assert progress.num_resumed == len(done)
    assert len(router.submitted()) == 20 - len(done)
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
def test_a_file_that_is_not_a_journal_is_refused(
    run: Callable[..., BatchProgress], tmp_path: Path, content: bytes
) -> None:
    (tmp_path / "out.jsonl.journal").write_bytes(content)
    with pytest.raises(OutputRefused, match=r"out.jsonl.journal.*--overwrite"):
        run(resume=True)
    assert run(overwrite=True).num_done == 20
