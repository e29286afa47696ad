"""Failed rows of a table in parts are run again alone: their parts are replaced, and no other."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch import BatchRequest
from cactus_actors.batch.batch_errors import InputChanged, OutputFailed, OutputRefused
from cactus_actors.data.parts import part_store, parts_request
from cactus_actors.data.table_input import TableOptions
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Rejected, Submit
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, OUTCOME, PartOutcome, PartReading
from cactus_actors.ray_data.places import ServicePlace
from tests.support.router.scripted_router import ScriptedRouter

Cactus = Callable[..., typer.testing.Result]
COMMAND = ("batch", "in.parquet", "-o", "out/", "--prompt-template", "Say: {{ text }}", "--part-rows", "5")
PARTS = [f"part-00000-0000{number}.parquet" for number in range(3)]


class Refusals:
    """A router that refuses the jobs of these rows."""

    def __init__(self, router: ScriptedRouter) -> None:
        self.rows: set[int] = set()
        self._router = router
        self._on_submit, router.on_submit = router.on_submit, self._answer  # type: ignore[method-assign]

    def _answer(self, identity: bytes, submit: Submit) -> None:
        if _row(submit) in self.rows:
            self._router.reply(identity, Rejected(error=InvalidRequest("not now").info(), job_id=submit.job_id))
        else:
            self._on_submit(identity, submit)

    def asked(self) -> list[int]:
        """The rows of which the router was asked since the last call."""
        rows = sorted(map(_row, self._router.submitted()))
        self._router.received.clear()
        return rows


def _row(submit: Submit) -> int:
    return int(str(submit.messages[-1].content).rpartition(" ")[2])


@pytest.fixture
def refusals(router: ScriptedRouter, tmp_path: Path) -> Refusals:
    """Of 15 rows in 3 parts, 3, 4 and 12 fail."""
    table = pa.table({"text": [f"text {number}" for number in range(15)], "id": range(15)})
    pq.write_table(table, tmp_path / "in.parquet")
    refusals = Refusals(router)
    refusals.rows = {3, 4, 12}
    return refusals


def failed(folder: Path) -> list[int]:
    rows = pyarrow.dataset.dataset(folder / "out", format="parquet").to_table().sort_by("id").to_pylist()
    assert [row["id"] for row in rows] == [*range(15)]
    for row in rows:
        assert row["answer"] == (None if row["error"] else f"Say: text {row['id']} w1 w2 w3 w4")
    return [row["id"] for row in rows if row["error"]]


def test_failed_rows_are_run_again_alone(cactus: Cactus, refusals: Refusals, tmp_path: Path) -> None:
    assert cactus(*COMMAND).exit_code == 1
    assert (failed(tmp_path), refusals.asked()) == ([3, 4, 12], [*range(15)])
    before = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in PARTS}
    refusals.rows = {4}
    again = cactus(*COMMAND, "--retry-failed")
    assert again.exit_code == 1
    assert again.stdout.startswith("15 rows in 3 parts of out/, 1 failed, 5 of them before")
    assert (failed(tmp_path), refusals.asked()) == ([4], [3, 4, 12])
    now = {name: (tmp_path / "out" / name).stat().st_mtime_ns for name in PARTS}
    assert [now[name] == before[name] for name in PARTS] == [False, True, False]
    assert cactus(*COMMAND, "--resume").exit_code == 1
    assert refusals.asked() == []
    refusals.rows = set()
    last = cactus(*COMMAND, "--only-failed", "--report", "report.html")
    assert last.stdout.startswith("15 rows in 3 parts of out/, 10 of them before\n")
    assert (last.exit_code, failed(tmp_path), refusals.asked()) == (0, [], [4])
    assert "<td>15 (100.0 %)</td>" in (tmp_path / "report.html").read_text()
    assert cactus(*COMMAND, "--retry-failed").exit_code == 0
    assert refusals.asked() == []
    assert sorted(path.name for path in (tmp_path / "out/_cactus").iterdir()) == [
        *(f"part-00000-0000{number}.json" for number in range(3)),
        "run.json",
    ]


@pytest.mark.parametrize("step", ["put part-00000-00000.", "write _cactus/part-00000-00000.json", "remove"])
def test_a_failure_at_any_step_of_the_writing_loses_nothing(
    step: str, cactus: Cactus, refusals: Refusals, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cactus(*COMMAND)
    refusals.rows = set()
    refusals.asked()
    kind = type(part_store.part_store("out/"))
    name, _, file = step.partition(" ")
    write = getattr(kind, name)

    def fail(store: Any, *of_file: Any) -> None:
        if file in " ".join(map(str, of_file)):
            raise OutputFailed("the disk is full")
        write(store, *of_file)

    with monkeypatch.context() as patched:
        patched.setattr(kind, name, fail)
        with pytest.raises(OutputFailed):
            cactus(*COMMAND, "--retry-failed")
    assert refusals.asked() == [3, 4]
    assert set(failed(tmp_path)) <= {3, 4, 12}
    (tmp_path / "out/_cactus/unfinished").rename(tmp_path / "lost")  # as at a URL, on another machine
    assert cactus(*COMMAND, "--retry-failed").exit_code == 0
    assert failed(tmp_path) == []
    assert refusals.asked() == ([12] if step == "remove" else [3, 4, 12])


def test_rows_are_not_run_again_without_the_results_of_their_part(
    cactus: Cactus, refusals: Refusals, tmp_path: Path
) -> None:
    cactus(*COMMAND)
    refusals.asked()
    (tmp_path / "out/_cactus/part-00000-00000.results").unlink()
    with pytest.raises(OutputRefused, match="part-00000-00000: the results of its rows are not there"):
        cactus(*COMMAND, "--retry-failed")
    assert refusals.asked() == []


def test_rows_that_have_changed_are_not_run_again(cactus: Cactus, refusals: Refusals, tmp_path: Path) -> None:
    cactus(*COMMAND)
    refusals.asked()
    table = pa.table({"text": [f"other {number}" for number in range(15)], "id": range(15)})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(InputChanged, match="input_changed"):
        cactus(*COMMAND, "--retry-failed")
    assert (failed(tmp_path), refusals.asked()) == ([3, 4, 12], [])


def test_actors_of_a_cluster_run_them_again(
    cactus: Cactus, refusals: Refusals, router: ScriptedRouter, tmp_path: Path
) -> None:
    cactus(*COMMAND)
    refusals.rows = set()
    refusals.asked()
    options = TableOptions(inputs=["in.parquet"], output="out/", template="Say: {{ text }}")
    run = BatchRequest(source=Path("in.parquet"), output=Path("out"), retry_failed=True)
    request = parts_request(options, run, 5)
    with request.begun(request.manifest("")) as plan:
        actor = PartActor(plan, ServicePlace(endpoint=router.endpoint, stream_endpoint=router.stream_endpoint))
        settled = frozenset(plan.settled())
        assert [str(part) for part in settled] == ["part-00000-00001"]
        read = [*PartReading(plan, settled)({FILE: [0]})]
        found = [msgspec.json.decode(actor(parts)[OUTCOME][0], type=PartOutcome) for parts in read]
        assert [(outcome.record.num_rows, outcome.record.figures.num_failed) for outcome in found] == [(5, 0), (5, 0)]
        assert (failed(tmp_path), refusals.asked()) == ([], [3, 4, 12])
        actor(read[0])  # an attempt whose outcome was lost
        assert refusals.asked() == []
