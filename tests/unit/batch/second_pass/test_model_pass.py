"""A second pass by a model of the service: its answers, their paths, and what is refused before a line is run."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.testing

from cactus_actors.batch import BatchRequest, SecondPassReport, run_batch, run_second_pass
from cactus_actors.batch.batch_errors import OutputRefused
from cactus_actors.batch.batch_request import BatchLimits
from cactus_actors.cli.main import app
from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import InvalidRequest, ModelNotFound, Unavailable
from cactus_actors.protocol.messages import Finished, Submit
from tests.support.router.batch_runs import FINISHED, names, records
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter
from tests.support.router.two_models import TwoModels

NUM_LINES = 6
LIMITS = BatchLimits(service_lost_s=0.0)


@pytest.fixture
def router() -> Iterator[TwoModels]:
    with TwoModels(step_s=0.001) as router:
        yield router


class Runs:
    """Both passes over a prompt file; the arguments of each are changes of its request."""

    def __init__(self, router: TwoModels, directory: Path) -> None:
        self.router = router
        self.source, self.output = directory / "prompts.jsonl", directory / "out.jsonl"
        self.write([self.line(number) for number in range(NUM_LINES)])

    def line(self, number: int, **fields: Any) -> dict[str, Any]:
        line = {"custom_id": f"job-{number}", "prompt": f"prompt {number}", "cloud_handoff_threshold": 0.5}
        return {**line, **fields}

    def write(self, lines: list[dict[str, Any]]) -> None:
        self.source.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def first(self, **changes: Any) -> None:
        self._run(run_batch, changes)

    def second(self, observe: Callable[..., None] | None = None, **changes: Any) -> SecondPassReport:
        report: SecondPassReport = self._run(run_second_pass, changes, observe)
        return report

    def bodies(self) -> dict[str, dict[str, Any]]:
        return {name: line["response"]["body"] for name, line in records(self.output).items()}

    def of_large(self) -> list[Submit]:
        return [submit for submit in self.router.submitted() if submit.model == "large"]

    def _run(self, work: Callable[..., Any], changes: dict[str, Any], *observe: Any) -> Any:
        given = {"source": self.source, "output": self.output, "second_pass": True, "second_pass_model": "large"}
        request = BatchRequest(**{**given, **changes})

        async def run() -> Any:
            async with AsyncClient(self.router.endpoint, self.router.stream_endpoint, timeout=30.0) as client:
                return await work(request, client, *observe)

        return asyncio.run(run())


@pytest.fixture
def runs(router: TwoModels, tmp_path: Path) -> Runs:
    return Runs(router, tmp_path)


def test_the_lines_that_failed_a_gate_are_answered_by_the_other_model(runs: Runs, tmp_path: Path) -> None:
    runs.first()
    before = records(runs.output)
    assert runs.of_large() == []
    report = runs.second()
    assert (report.num_completed, report.num_unsure, report.num_failed) == (NUM_LINES - 1, 0, 0)
    after = records(runs.output)
    assert list(after) == list(before)
    assert after["job-0"] == before["job-0"]
    assert names(tmp_path) == FINISHED
    for number in range(1, NUM_LINES):
        old, new = before[f"job-{number}"], after[f"job-{number}"]
        assert {**new, "response": None} == {**old, "response": None}
        was, body = old["response"]["body"], new["response"]["body"]
        assert list(body) == list(was)
        assert (body["id"], body["created"], body["seed"]) == (was["id"], was["created"], was["seed"])
        assert body["choices"][0]["text"].startswith(f"PROMPT {number}")
        assert was["system_fingerprint"].endswith("_f_int4-avx2")
        assert body["system_fingerprint"].endswith("_f_float32-avx2")
        handoff = body["handoff"]
        assert (body["model"], body["cloud_handoff"], handoff["status"]) == ("large", False, "none")
        small, large = handoff["path"]
        assert (small["model"], small["gate"], small["confidence"], small["threshold"]) == (
            "small",
            "second pass",
            0.1,
            0.5,
        )
        assert (large["model"], large["gate"], large["confidence"]) == ("large", None, 0.4)
        assert (small["latency_ms"], large["usage"]["completion_tokens"]) == (12.0, 5)
    jobs = runs.of_large()
    assert {submit.options.priority for submit in jobs} == {10}
    assert {submit.options.allow_cloud for submit in jobs} == {False}


def test_a_model_that_is_not_sure_either_leaves_the_line_to_the_next_pass(runs: Runs) -> None:
    runs.router.large_is_unsure_of = {"prompt 3"}
    runs.first()
    assert (runs.second().num_completed, len(runs.of_large())) == (NUM_LINES - 1, NUM_LINES - 1)
    body = runs.bodies()["job-3"]
    assert (body["handoff"]["status"], body["handoff"]["reason"]) == ("recommended", "left to the second pass")
    finished = runs.output.read_bytes()
    again = runs.second(second_pass_model="big")
    assert (again.num_completed, len(runs.of_large())) == (0, NUM_LINES - 1)
    assert runs.output.read_bytes() == finished
    report = runs.second(second_pass_model=None)
    assert report.num_completed == 1
    assert runs.bodies()["job-3"]["choices"][0]["text"] == "PROMPT 3"
    assert runs.bodies()["job-3"]["cloud_handoff"] is True


def test_private_lines_and_lines_of_structure_are_asked_of_a_model_of_this_machine(runs: Runs) -> None:
    runs.write([runs.line(1, allow_cloud=False), runs.line(2, regex="p+"), runs.line(3, model="little")])
    runs.first()
    assert runs.second().num_completed == 3
    assert {body["model"] for body in runs.bodies().values()} == {"large"}
    assert [tier["model"] for tier in runs.bodies()["job-3"]["handoff"]["path"]] == ["little", "large"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"prompt": [104, 105]}, "token ids mean nothing to another model"),
        ({"logit_bias": {"104": -1.0}}, "token ids mean nothing to another model"),
        ({"lora": "poems"}, "another model does not have the adapter"),
        ({"model": "small:poems"}, "another model does not have the adapter"),
        ({"model": "poems"}, "another model does not have the adapter"),
    ],
)
def test_what_belongs_to_the_first_model_stays_there(runs: Runs, fields: dict[str, Any], reason: str) -> None:
    runs.write([runs.line(1, **fields), runs.line(2)])
    runs.first()
    report = runs.second()
    assert (report.num_completed, report.num_suppressed, len(runs.of_large())) == (1, 1, 1)
    handoff = runs.bodies()["job-1"]["handoff"]
    assert (handoff["status"], handoff["reason"]) == ("suppressed", reason)


def test_lines_that_the_model_has_answered_itself_are_not_asked_again(runs: Runs) -> None:
    runs.router.large_is_unsure_of = {"prompt 1"}
    runs.write([runs.line(1, model="big"), runs.line(2)])
    runs.first()
    assert runs.second().num_completed == 1
    assert [body["model"] for body in runs.bodies().values()] == ["big", "large"]


def test_a_line_that_the_model_refuses_keeps_its_answer(runs: Runs) -> None:
    runs.router.refused_by_large = {"prompt 2": InvalidRequest("the prompt is too long")}
    runs.first()
    before = runs.bodies()["job-2"]
    report = runs.second()
    assert (report.num_completed, report.num_failed) == (NUM_LINES - 2, 1)
    body = runs.bodies()["job-2"]
    assert body["choices"] == before["choices"]
    assert (body["handoff"]["status"], body["handoff"]["reason"]) == ("failed", "large: the prompt is too long")


def test_an_interrupted_pass_goes_on_with_what_it_has(runs: Runs, tmp_path: Path) -> None:
    runs.first()
    before = runs.output.read_bytes()

    class Killed(Exception):
        pass

    def killed(progress: Any) -> None:
        if progress.num_done == 2:
            raise Killed

    with pytest.raises(Killed):
        runs.second(killed, max_in_flight=1)
    assert runs.output.read_bytes() == before
    with pytest.raises(OutputRefused, match="a second pass by large is unfinished; finish it with --second-pass-model"):
        runs.second(second_pass_model=None)
    runs.router.restart()
    assert runs.second().num_completed == NUM_LINES - 1
    assert sorted({str(submit.prompt) for submit in runs.of_large()}) == [
        f"prompt {number}" for number in range(1, NUM_LINES)
    ]
    assert len({submit.job_id for submit in runs.of_large()}) == NUM_LINES - 1
    assert names(tmp_path) == FINISHED


def test_a_lost_service_leaves_every_first_answer(runs: Runs) -> None:
    runs.first()
    before = runs.output.read_bytes()
    end = runs.router.end

    def stop(job: ScriptedJob, finished: Finished) -> None:
        for identity in job.waiters:
            error = Unavailable("the service was stopped").info()
            runs.router.reply(identity, job.finish(success=False, error=error, finish_reason="error"))

    runs.router.end = stop  # type: ignore[method-assign]
    with pytest.raises(Unavailable):
        runs.second(limits=LIMITS)
    assert runs.output.read_bytes() == before
    runs.router.end = end  # type: ignore[method-assign]
    runs.router.restart()
    assert runs.second().num_completed == NUM_LINES - 1


def test_a_model_that_is_gone_ends_the_pass(runs: Runs) -> None:
    runs.first()
    runs.router.refused_by_large = {"prompt 2": ModelNotFound("no model 'large'")}
    with pytest.raises(ModelNotFound):
        runs.second()


def test_an_unknown_model_is_refused_before_a_line_is_run(runs: Runs, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="no model 'larg'; models of this service: small, large; did you mean"):
        runs.first(second_pass_model="larg")
    assert runs.router.submitted() == []
    assert names(tmp_path) == set()


def test_a_service_of_one_model_has_no_other_one(runs: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TwoModels, "status", ScriptedRouter.status)
    with pytest.raises(InvalidRequest, match=r"the service has one model; several are \[\[models\]\]"):
        runs.first()


def test_the_command_reports_the_model_and_what_it_is_not_sure_of(
    runs: Runs, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("CACTUS_ENDPOINT", runs.router.endpoint)
    monkeypatch.setenv("CACTUS_STREAM_ENDPOINT", runs.router.stream_endpoint)
    runs.router.large_is_unsure_of = {"prompt 1"}
    command = ("batch", str(runs.source), "-o", str(runs.output), "--second-pass-model", "big")
    shown = typer.testing.CliRunner().invoke(app, command)
    assert (shown.exit_code, shown.stdout.splitlines()) == (
        0,
        [
            f"{NUM_LINES} of {NUM_LINES} lines done ({runs.output})",
            f"second pass: big answered {NUM_LINES - 1} lines, and was not sure of 1 of them",
        ],
    )
    report = json.loads(typer.testing.CliRunner().invoke(app, [*command, "--json"]).stdout)["second_pass"]
    assert (report["model"], report["completed"], report["unsure"]) == ("big", 0, 0)
