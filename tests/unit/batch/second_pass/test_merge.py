"""Outcomes of a second pass in the output: a kill at any point is repaired by merging again."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors.batch import BatchPaths, BatchProgress
from cactus_actors.batch.second_pass.pass_outcomes import PassOutcome, merge
from cactus_actors.protocol.cloud_batches import BatchAnswer
from cactus_actors.protocol.results import Usage
from tests.support.router.batch_runs import FINISHED, names, records

ANSWER = BatchAnswer(place=0, text="Paris", usage=Usage(prompt_tokens=9, completion_tokens=1), cost=0.25)
GIVEN = {"batch_id": "b", "provider": "cloud/big", "model": "big", "currency": "EUR", "latency_ms": 5.0}


def outcome(custom_id: str, error: str = "") -> PassOutcome:
    answer = msgspec.structs.replace(ANSWER, text="", error=error) if error else ANSWER
    status = "failed" if error else "completed"
    return PassOutcome(
        custom_id=custom_id,
        status=status,
        reason=error or "second pass",
        answer=answer,
        **GIVEN,  # type: ignore[arg-type]
    )


@pytest.fixture
def paths(run: Callable[..., BatchProgress], source: Path, tmp_path: Path) -> BatchPaths:
    """A finished run of 20 lines, with outcomes for three of them."""
    assert run().num_succeeded == 20
    paths = BatchPaths.of(source, tmp_path / "out.jsonl")
    outcomes = [outcome("job-3"), outcome("job-4", "too hot"), outcome("job-17")]
    outcomes.append(PassOutcome(custom_id="job-5", status="suppressed", reason="budget spent"))
    paths.pass_answers.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in outcomes))
    paths.pass_journal.write_bytes(b'{"run_id":"run"}\n')
    return paths


def test_outcomes_replace_their_lines_in_place(paths: BatchPaths, tmp_path: Path) -> None:
    before = records(paths.output)
    report = merge(paths)
    assert (report.num_completed, report.num_failed, report.num_suppressed) == (2, 1, 1)
    assert (report.cost, report.currency) == (0.75, "EUR")
    after = records(paths.output)
    assert list(after) == list(before)
    assert names(tmp_path) == FINISHED
    answered = after["job-3"]["response"]["body"]
    assert answered["choices"][0]["text"] == "Paris"
    assert (answered["handoff"]["cost"], answered["handoff"]["currency"]) == (0.25, "EUR")
    assert answered["seed"] == before["job-3"]["response"]["body"]["seed"]
    failed = after["job-4"]["response"]["body"]
    assert failed["choices"] == before["job-4"]["response"]["body"]["choices"]
    assert (failed["handoff"]["status"], failed["handoff"]["cloud_usage"]["prompt_tokens"]) == ("failed", 9)
    assert after["job-5"]["response"]["body"]["handoff"]["reason"] == "budget spent"
    changed = {"job-3", "job-4", "job-5", "job-17"}
    assert {name for name in after if after[name] != before[name]} == changed


class Killed(BaseException):
    pass


def killed_after(calls: int) -> dict[str, Callable[..., Any]]:
    """Methods of Path that work, and kill the process after that many calls of all of them."""

    def counted(method: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal calls
            method(*arguments, **options)
            calls -= 1
            if calls == 0:
                raise Killed

        return call

    return {name: counted(getattr(Path, name)) for name in ("replace", "unlink")}


def test_a_kill_is_repaired_by_merging_again(paths: BatchPaths, monkeypatch: pytest.MonkeyPatch) -> None:
    begun = {path: path.read_bytes() for path in (paths.output, paths.pass_answers, paths.pass_journal)}
    merge(paths)
    merged = paths.output.read_bytes()
    for calls in range(1, 5):
        for path, content in begun.items():
            path.write_bytes(content)
        with monkeypatch.context() as patch:
            for name, method in killed_after(calls).items():
                patch.setattr(Path, name, method)
            with pytest.raises(Killed):
                merge(paths)
        paths.pass_answers.touch()
        merge(paths)
        assert paths.output.read_bytes() == merged
        assert not any(path.exists() for path in paths.of_second_pass)


def test_a_line_with_an_answer_of_the_cloud_stays(paths: BatchPaths) -> None:
    answers = paths.pass_answers.read_bytes()
    merge(paths)
    merged = paths.output.read_bytes()
    paths.pass_answers.write_bytes(answers)
    merge(paths)
    assert paths.output.read_bytes() == merged
    assert all(json.loads(line)["error"] is None for line in merged.splitlines())
