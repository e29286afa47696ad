"""The steps of the pipeline of `cactus batch --ray`, one after the other in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch import BatchRequest
from cactus_actors.client import AsyncClient
from cactus_actors.data.parts import PartId, PartsPlan, PartsRequest, parts_request
from cactus_actors.data.table_input import TableOptions
from cactus_actors.protocol.errors import InvalidRequest, ModelFileInvalid, Unavailable
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, OUTCOME, PartOutcome, PartReading
from cactus_actors.ray_data.places import ServicePlace
from cactus_actors.ray_data.waiting import wait_in_words
from tests.support.router.scripted_router import ScriptedRouter


@pytest.fixture
def request_(tmp_path: Path) -> PartsRequest:
    for name, numbers in (("a", range(5)), ("b", range(5, 8))):
        pq.write_table(pa.table({"text": [f"text {n}" for n in numbers], "id": numbers}), tmp_path / f"{name}.parquet")
    options = TableOptions(inputs=[f"{tmp_path}/*.parquet"], output=f"{tmp_path}/out/", template="Say: {{ text }}")
    run = BatchRequest(source=tmp_path / "a.parquet", output=tmp_path / "out")
    return parts_request(options, run, rows_per_part=2)


def place(router: ScriptedRouter) -> ServicePlace:
    return ServicePlace(endpoint=router.endpoint, stream_endpoint=router.stream_endpoint)


def read(plan: PartsPlan, *finished: PartId) -> list[dict[str, Any]]:
    """What the reading of all files gives to the actors; the plan comes to them as to another process."""
    import pickle

    reading = pickle.loads(pickle.dumps(PartReading(plan, frozenset(finished))))
    return [*reading({FILE: [*range(len(plan.manifest.files))]})]


def outcomes(actor: PartActor, read: list[dict[str, Any]]) -> list[PartOutcome]:
    return [msgspec.json.decode(actor(rows)[OUTCOME][0], type=PartOutcome) for rows in read]


def rows_there(plan: PartsPlan) -> list[tuple[int, str]]:
    table = pyarrow.dataset.dataset(plan.target, format="parquet").to_table().sort_by("id")
    return [(row["id"], row["answer"]) for row in table.to_pylist()]


EXPECTED = [(number, f"Say: text {number} w1 w2 w3 w4") for number in range(8)]


def test_parts_are_read_answered_and_written(router: ScriptedRouter, request_: PartsRequest) -> None:
    with request_.begun(request_.manifest("scripted")) as plan:
        actor = PartActor(plan, place(router))
        found = outcomes(actor, read(plan))
        assert [outcome.part for outcome in found] == [*plan.manifest.parts()]
        assert [outcome.record.num_rows for outcome in found] == [2, 2, 1, 2, 1]
        assert rows_there(plan) == EXPECTED
        assert [path.name for path in plan.store.scratch.iterdir()] == ["lock"]
        router.received.clear()
        assert outcomes(actor, read(plan, *plan.manifest.parts())) == []
        assert outcomes(actor, read(plan)) == found  # attempts whose outcomes were lost
        assert not router.submitted()


def test_rows_that_cannot_be_read_come_to_the_actors_with_their_errors(router: ScriptedRouter, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,text\n1,fine\n2,too,many\n3,fine\n")
    options = TableOptions(inputs=[f"{tmp_path}/in.csv"], output=f"{tmp_path}/out/", template="Say: {{ text }}")
    run = BatchRequest(source=tmp_path / "in.csv", output=tmp_path / "out")
    request = parts_request(options, run, rows_per_part=10)
    with request.begun(request.manifest("scripted")) as plan:
        [found] = outcomes(PartActor(plan, place(router)), read(plan))
        [reason] = found.record.figures.reasons
        assert (reason.count, reason.first_line) == (1, 2)
        assert "has 3 fields, the header 2" in reason.message


def test_attempts_at_the_same_part_at_once_write_it_as_one(router: ScriptedRouter, request_: PartsRequest) -> None:
    """As after the loss of a node that goes on for a while: both have the same jobs, and the part has one name."""
    with request_.begun(request_.manifest("scripted")) as plan:
        actors = [PartActor(plan, place(router)) for _ in range(2)]
        parts = read(plan)
        with ThreadPoolExecutor(2) as threads:
            assert [len(found) for found in threads.map(lambda actor: outcomes(actor, parts), actors)] == [5, 5]
        assert rows_there(plan) == EXPECTED
        assert len({submit.job_id for submit in router.submitted()}) == 8


def test_changed_rows_are_an_outcome_that_ends_the_run(
    router: ScriptedRouter, request_: PartsRequest, tmp_path: Path
) -> None:
    with request_.begun(request_.manifest("scripted")) as plan:
        actor = PartActor(plan, place(router))
        first, *_ = outcomes(actor, read(plan)[:1])
        table = pq.read_table(tmp_path / "a.parquet")
        pq.write_table(
            table.set_column(0, "text", [["another", *table["text"].to_pylist()[1:]]]), tmp_path / "a.parquet"
        )
        router.received.clear()
        [failed] = outcomes(actor, read(plan, first.part))
        assert (failed.record, failed.error.type) == (None, "input_changed")
        pq.write_table(table.slice(1), tmp_path / "a.parquet")
        *_, failed = outcomes(actor, read(plan))
        assert failed.error.type == "input_changed"
        assert "a.parquet: input_changed: it has 1 rows less" in failed.error.message


def test_a_run_of_one_process_goes_on_with_what_actors_have_written(
    router: ScriptedRouter, request_: PartsRequest
) -> None:
    with request_.begun(request_.manifest("scripted")) as plan:
        outcomes(PartActor(plan, place(router)), read(plan)[1:3])
    router.received.clear()

    async def answer() -> int:
        async with AsyncClient(router.endpoint, router.stream_endpoint) as client:
            return (await request_.answer(client, lambda *_: None)).num_rows

    assert asyncio.run(answer()) == 8
    assert len(router.submitted()) == 5
    assert rows_there(plan) == EXPECTED


def test_options_that_do_not_fit_are_refused(
    cactus: Callable[..., typer.testing.Result], request_: PartsRequest
) -> None:
    for arguments, message in (
        (("-o", "out.csv", "--ray", "auto"), "OUT ends with /"),
        (("-o", "out/", "--engine", "cactus-sprout"), "--engine needs --ray"),
        (("-o", "out/", "--ray", "auto", "--engine", "a", "--model", "b"), "--model names a model of a service"),
        (("-o", "out/", "--ray", "auto", "--engine", "a", "--estimate"), "--estimate asks a service"),
        (("-o", "out/", "--ray", "auto", "--second-pass"), "the cloud's second pass needs"),
        (("-o", "out/", "--ray", "auto", "--engine", "a", "--second-pass-model", "b"), "a second pass asks a service"),
    ):
        with pytest.raises(InvalidRequest, match=message):
            cactus("batch", "a.parquet", *arguments, "--prompt-template", "{{ text }}")


@pytest.mark.parametrize(
    ("processes", "cpus", "free", "words"),
    [
        ([0, 0], [8, 4], 1.0, "2 actors wait for CPUs: each wants 2 of one node, 1 of 12 of the cluster are free"),
        ([0], [1, 1.5], 2.5, "1 actor waits for CPUs: each wants 2 of one node, 2.5 of 2.5 of the cluster are free, "
         "and no node has more than 1.5"),
        ([0, 77], [2], 0.0, ""),
        ([], [2], 0.0, ""),
    ],
)  # fmt: skip
def test_what_actors_wait_for_is_said_while_none_has_a_place(
    processes: list[int], cpus: list[float], free: float, words: str
) -> None:
    of_others = [{"ActorClassName": "StatsActor", "State": "ALIVE", "Pid": 5}]
    lost = [{"ActorClassName": "MapWorker(MapBatches(PartActor))", "State": "DEAD", "Pid": 6}]
    mine = [{**lost[0], "State": "PENDING_CREATION", "Pid": process} for process in processes]
    assert wait_in_words([*of_others, *lost, *mine], 2.0, cpus, free) == words


def test_an_engine_of_an_unknown_model_leaves_nothing(
    cactus: Callable[..., typer.testing.Result], request_: PartsRequest, tmp_path: Path
) -> None:
    (tmp_path / "folder").mkdir()
    for model, message in (("cactus-sprout2", "embedded: .*cactus-sprout"), ("folder", "no config.json")):
        arguments = ("-o", "out/", "--ray", "127.0.0.1:1", "--engine", model, "--prompt-template", "{{ text }}")
        with pytest.raises(ModelFileInvalid, match=message):
            cactus("batch", "a.parquet", *arguments)
    assert not (tmp_path / "out").exists()


def test_a_cluster_that_does_not_answer_leaves_nothing(
    cactus: Callable[..., typer.testing.Result], request_: PartsRequest, tmp_path: Path
) -> None:
    output = f"{tmp_path}/out/"
    with pytest.raises(Unavailable, match="no Ray cluster at "):
        cactus(
            "batch",
            f"{tmp_path}/a.parquet",
            "-o",
            output,
            "--ray",
            "127.0.0.1:1",
            "--engine",
            "cactus-sprout",
            "--prompt-template",
            "{{ text }}",
        )
    assert not Path(output).exists()
