"""A table without a row becomes one without a row, with the same columns as any other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch import BatchRequest
from cactus_actors.data import map_rows
from cactus_actors.data.parts import parts_request
from cactus_actors.data.table_input import TableOptions
from cactus_actors.ray_data.part_actor import PartActor
from cactus_actors.ray_data.part_reading import FILE, PartReading
from cactus_actors.ray_data.places import ServicePlace
from tests.support.router.scripted_router import ScriptedRouter

Cactus = Callable[..., typer.testing.Result]
TEMPLATE = ("--prompt-template", "Say: {{ text }}")
SCHEMA = json.dumps({"type": "object", "properties": {"stars": {"type": "integer"}}})
EMPTY = pa.table({"id": pa.array([], pa.int32()), "text": pa.array([], pa.string())})


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, pa.Table], None]:
    def write(name: str, table: pa.Table) -> None:
        path = tmp_path / name
        match path.suffix:
            case ".parquet":
                pq.write_table(table, path)
            case ".arrow":
                feather.write_feather(table, path)
            case ".csv":
                rows = "".join(f"{row['id']},{row['text']}\n" for row in table.to_pylist())
                path.write_text("id,text\n" + rows)
            case _:
                path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))

    return write


@pytest.mark.parametrize("out", ["out.parquet", "out/"])
@pytest.mark.parametrize("name", ["in.parquet", "in.arrow", "in.csv", "in.jsonl"])
def test_a_table_without_rows_keeps_its_columns(
    cactus: Cactus, write: Callable[[str, pa.Table], None], router: ScriptedRouter, tmp_path: Path, name: str, out: str
) -> None:
    write(name, EMPTY)
    command = ("batch", name, "-o", out, *TEMPLATE, "--columns", "id,text", "--schema", SCHEMA)
    result = cactus(*command)
    assert result.exit_code == 0, result.output
    assert "there is no prompt in " in result.stdout
    table = pyarrow.dataset.dataset(tmp_path / out, format="parquet").to_table()
    assert (table.num_rows, table.schema.names[:4]) == (0, ["id", "text", "stars", "confidence"])
    assert table.schema.field("stars").type == pa.int64()
    if name in ("in.parquet", "in.arrow"):
        assert table.schema.field("id").type == pa.int32()
    assert cactus(*command, "--resume").exit_code == 0
    assert not router.submitted()


@pytest.mark.parametrize("out", ["out.parquet", "out/"])
@pytest.mark.parametrize("suffix", ["parquet", "arrow", "csv", "csv without a header", "jsonl"])
def test_an_empty_file_among_others_has_no_row(
    cactus: Cactus,
    write: Callable[[str, pa.Table], None],
    tmp_path: Path,
    suffix: str,
    out: str,
) -> None:
    suffix, _, is_without_header = suffix.partition(" ")
    for name, ids in (("a", [1]), ("b", []), ("c", [2, 3])):
        write(f"{name}.{suffix}", pa.table({"id": pa.array(ids, pa.int32()), "text": [f"t{n}" for n in ids]}))
    if is_without_header:
        (tmp_path / f"b.{suffix}").write_bytes(b"")
    result = cactus("batch", f"*.{suffix}", "-o", out, *TEMPLATE)
    assert result.exit_code == 0, result.output
    rows = pyarrow.dataset.dataset(tmp_path / out, format="parquet").to_table().to_pylist()
    assert [(int(row["id"]), row["answer"].split()[1]) for row in rows] == [(1, "t1"), (2, "t2"), (3, "t3")]


def test_columns_of_files_without_a_line_are_those_that_are_named(cactus: Cactus, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_bytes(b"")
    (tmp_path / "in.jsonl").write_bytes(b"\n")
    for arguments, head in (
        (("in.csv", *TEMPLATE), "text,answer,"),
        (("in.jsonl", "--prompt-template", "{{ row.b }}{{ a }}"), "a,b,answer,"),
        (("in.jsonl", *TEMPLATE, "--columns", "id"), "id,answer,"),
        (("in.jsonl",), "prompt,answer,"),
    ):
        assert cactus("batch", *arguments, "-o", "out.csv", "--overwrite").exit_code == 0
        assert (tmp_path / "out.csv").read_text().startswith(head)
        assert (tmp_path / "out.csv").read_text().count("\n") == 1


def test_a_sample_of_no_row_and_a_report_are_empty(
    cactus: Cactus, write: Callable[[str, pa.Table], None], tmp_path: Path
) -> None:
    write("in.parquet", EMPTY)
    command = ("batch", "in.parquet", "-o", "out.jsonl", *TEMPLATE)
    assert "0 lines, by 0 that were asked" in cactus(*command, "--estimate").stdout
    assert "there is no prompt in the input" in cactus(*command, "--dry-run").stdout
    assert cactus(*command, "--report", "report.html").exit_code == 0
    assert "<td>0 (-)</td>" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "out.jsonl").read_bytes() == b""


def test_an_actor_of_a_cluster_writes_the_part_without_rows(
    write: Callable[[str, pa.Table], None], router: ScriptedRouter, tmp_path: Path
) -> None:
    write("in.parquet", EMPTY)
    options = TableOptions(inputs=[f"{tmp_path}/in.parquet"], output=f"{tmp_path}/out/", template="{{ text }}")
    request = parts_request(options, BatchRequest(source=tmp_path / "in.parquet", output=tmp_path / "out"), 2)
    with request.begun(request.manifest("")) as plan:
        actor = PartActor(plan, ServicePlace(endpoint=router.endpoint, stream_endpoint=router.stream_endpoint))
        for rows in PartReading(plan, frozenset())({FILE: [0]}):
            actor(rows)
        assert plan.is_finished()
    table = pq.read_table(tmp_path / "out/part-00000-00000.parquet")
    assert (table.num_rows, table.schema.names[:3]) == (0, ["id", "text", "answer"])


def test_a_table_in_memory_without_rows_gets_the_columns_of_answers(router: ScriptedRouter) -> None:
    table = map_rows(EMPTY, "{{ text }}", endpoint=router.endpoint, stream_endpoint=router.stream_endpoint)
    assert (table.num_rows, table.schema.names[:3]) == (0, ["id", "text", "answer"])
