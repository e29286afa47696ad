"""Answers that do not obey the schema fail their rows, which are run again like all that have failed."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch import BatchPaths, BatchRequest
from cactus_actors.batch.batch_errors import OptionsChanged
from cactus_actors.batch.report import figures_of
from cactus_actors.batch.second_pass.pass_outcomes import PassOutcome, merge
from cactus_actors.data.parts import parts_request
from cactus_actors.data.table_input import TableOptions
from cactus_actors.protocol.messages import Finished
from cactus_actors.protocol.options import Options
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, OUTCOME, PartOutcome, PartReading
from cactus_actors.ray_data.places import ServicePlace
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter

Cactus = Callable[..., typer.testing.Result]
SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]}
COMMAND = ("batch", "in.parquet", "--prompt-template", "{{ number }}", "--schema", json.dumps(SCHEMA))
ENOUGH = 9
MISFIT = 'answer_misfit: the answer does not obey the schema: it ended early; the model said: {"id": 2'


@pytest.fixture
def asked(router: ScriptedRouter, tmp_path: Path) -> Callable[[], list[int]]:
    """A router that answers with an object, of which too few tokens cut off that of 2; returns the asked rows."""
    pq.write_table(pa.table({"number": [1, 2, 3]}), tmp_path / "in.parquet")
    router.num_tokens = ENOUGH
    end = router.end

    def answer(job: ScriptedJob, finished: Finished) -> None:
        number = str(job.submit.messages[-1].content)
        is_cut = number == "2" and job.length < ENOUGH
        text = f'{{"id": {number}' + ("" if is_cut else "}")
        result = msgspec.structs.replace(finished.result, text=text, finish_reason="length" if is_cut else "stop")
        job.finished = msgspec.structs.replace(finished, result=result)
        end(job, job.finished)

    router.end = answer  # type: ignore[method-assign]

    def asked() -> list[int]:
        numbers = sorted(int(str(submit.messages[-1].content)) for submit in router.submitted())
        router.received.clear()
        return numbers

    return asked


def rows_of(table: Path) -> list[dict[str, Any]]:
    return pyarrow.dataset.dataset(table, format="parquet").to_table().sort_by("number").to_pylist()


@pytest.mark.parametrize("out", ["out.parquet", "out/"])
def test_a_row_that_was_cut_off_is_run_again_with_more_tokens(
    cactus: Cactus, asked: Callable[[], list[int]], tmp_path: Path, out: str
) -> None:
    run = partial(cactus, *COMMAND, "-o", out)
    result = run("--max-tokens", "4")
    assert result.exit_code == 1
    assert ", 1 failed" in result.output
    assert "1 line failed with answer_misfit (json_schema), the first is row 2:" in result.output
    before = rows_of(tmp_path / out)
    assert [(row["id"], row["error"]) for row in before] == [(1, None), (None, MISFIT), (3, None)]
    assert (before[1]["finish_reason"], before[1]["confidence"], before[1]["completion_tokens"]) == ("length", 0.9, 4)
    assert asked() == [1, 2, 3]
    with pytest.raises(OptionsChanged, match="--max-tokens was 4 and is 9 now"):
        run("--max-tokens", "9", "--resume")
    with pytest.raises(OptionsChanged, match=r"--temperature was not given and is 0\.5 now"):
        run("--max-tokens", "9", "--temperature", "0.5", "--retry-failed")
    assert run("--max-tokens", "4", "--retry-failed").exit_code == 1
    assert (rows_of(tmp_path / out), asked()) == (before, [2])
    last = run("--max-tokens", "9", "--only-failed")
    assert (last.exit_code, asked()) == (0, [2])
    assert [(row["id"], row["error"]) for row in rows_of(tmp_path / out)] == [(1, None), (2, None), (3, None)]


def test_actors_of_a_cluster_fail_and_repeat_them(
    asked: Callable[[], list[int]], router: ScriptedRouter, tmp_path: Path
) -> None:
    options = TableOptions(inputs=[f"{tmp_path}/in.parquet"], output=f"{tmp_path}/out/", template="{{ number }}")

    def answered(max_tokens: int, *, retry_failed: bool) -> list[PartOutcome]:
        run = BatchRequest(
            source=tmp_path / "in.parquet",
            output=tmp_path / "out",
            options=Options(json_schema=SCHEMA, max_tokens=max_tokens),
            resume=True,
            retry_failed=retry_failed,
        )
        request = parts_request(options, run, 2)
        with request.begun(request.manifest("")) as plan:
            actor = PartActor(plan, ServicePlace(endpoint=router.endpoint, stream_endpoint=router.stream_endpoint))
            settled = frozenset(plan.settled())
            parts = [*PartReading(plan, settled)({FILE: [0]})]
            return [msgspec.json.decode(actor(rows)[OUTCOME][0], type=PartOutcome) for rows in parts]

    first = [outcome.record for outcome in answered(4, retry_failed=False)]
    assert [(record.figures.num_failed, record.num_misfits) for record in first] == [(1, 1), (0, 0)]
    assert asked() == [1, 2, 3]
    [again] = answered(9, retry_failed=True)
    assert (again.record.figures.num_failed, again.record.num_misfits) == (0, 0)
    assert asked() == [2]
    assert [row["id"] for row in rows_of(tmp_path / "out")] == [1, 2, 3]


def test_a_report_counts_the_tokens_of_answers_that_failed_their_lines(
    cactus: Cactus, asked: Callable[[], list[int]], tmp_path: Path
) -> None:
    cactus(*COMMAND, "-o", "out.parquet", "--max-tokens", "4")
    figures = figures_of(BatchPaths.of(Path("in.parquet"), tmp_path / "out.parquet.results.jsonl"))
    assert (figures.num_succeeded, figures.num_failed, figures.completion_tokens) == (2, 1, 12)
    assert figures.endings == {"stop": 2, "length": 1}


def test_the_answer_of_a_second_pass_that_fails_its_line_is_not_taken(
    cactus: Cactus, asked: Callable[[], list[int]], tmp_path: Path
) -> None:
    cactus(*COMMAND, "-o", "out.parquet")
    paths = BatchPaths.of(Path("in.parquet"), tmp_path / "out.parquet.results.jsonl")
    content = paths.output.read_bytes()
    first = [json.loads(line) for line in content.splitlines()]
    of_model = {**first[0]["response"]["body"], "model": "large"}
    of_model["handoff"] = {**of_model["handoff"], "path": [{"model": "large"}]}
    outcomes = []
    for line, text in zip(first, ('{"id": 7}', '{"id": "no"}', "cut"), strict=True):
        choice = {**of_model["choices"][0], "message": {"role": "assistant", "content": text}}
        body = {**of_model, "choices": [choice]}
        outcomes.append(PassOutcome(custom_id=line["custom_id"], status="completed", reason="second pass", body=body))
    paths.pass_answers.write_bytes(b"".join(msgspec.json.encode(outcome) + b"\n" for outcome in outcomes))

    def misfit(text: str, _: str | None) -> str | None:
        return None if text == '{"id": 7}' else "it is wrong"

    report = merge(paths, misfit)
    assert (report.num_completed, report.num_failed) == (1, 2)
    bodies = [json.loads(line)["response"]["body"] for line in paths.output.read_bytes().splitlines()]
    assert bodies[0]["choices"][0]["message"]["content"] == '{"id": 7}'
    for body, line in zip(bodies[1:], first[1:], strict=True):
        assert body["choices"] == line["response"]["body"]["choices"]
        assert (body["handoff"]["status"], body["handoff"]["reason"]) == ("failed", "answer_misfit: it is wrong")
