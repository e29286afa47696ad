"""Tables in a bucket of an S3 server."""

from __future__ import annotations

import gzip
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch.batch_errors import InputInvalid, OutputFailed, OutputRefused
from cactus_actors.data.parts.part_store import part_store
from cactus_actors.data.remote_files import local_name
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.messages import Finished, Submit
from tests.support.router.scripted_router import ScriptedJob, ScriptedRouter
from tests.support.text.documents import page
from tests.support.text.reviews import REVIEWS, TEMPLATE

if TYPE_CHECKING:
    import s3fs

Cactus = Callable[..., typer.testing.Result]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The URL of an S3 server."""
    from moto.server import ThreadedMotoServer  # here, so that one process of the tests imports it

    server = ThreadedMotoServer("127.0.0.1", 0)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture(scope="module")
def lake(server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[s3fs.S3FileSystem]:
    """A bucket `lake` with two Parquet files and one of CSV; tests write to it under names of their own."""
    import s3fs

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("AWS_ENDPOINT_URL", server)
        patched.setenv("AWS_ACCESS_KEY_ID", "id")
        patched.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        patched.setenv("AWS_DEFAULT_REGION", "us-east-1")
        s3fs.S3FileSystem.clear_instance_cache()
        files = s3fs.S3FileSystem(use_listings_cache=False)
        files.mkdir("lake")
        path = tmp_path_factory.mktemp("lake") / "part.parquet"
        for number, table in enumerate((REVIEWS.slice(0, 2), REVIEWS.slice(2))):
            pq.write_table(table, path)
            files.put_file(str(path), f"lake/in/part-{number}.parquet")
        files.pipe_file("lake/in.csv", b"text\nfine\n", ACL="public-read")
        yield files


def test_a_table_of_a_bucket_becomes_one_there(cactus: Cactus, lake: s3fs.S3FileSystem, tmp_path: Path) -> None:
    arguments = ("batch", "s3://lake/in/*.parquet", "-o", "s3://lake/out.parquet", *TEMPLATE)
    result = cactus(*arguments)
    assert result.exit_code == 0, result.output
    assert "3 rows in s3://lake/out.parquet" in result.output
    with lake.open("lake/out.parquet") as file:
        written = pq.read_table(pa.BufferReader(file.read()))
    assert written.select(REVIEWS.schema.names).equals(REVIEWS)
    assert written["answer"][2].as_py() == "Say: cold soup w1 w2 w3 w4"
    name = local_name("s3://lake/out.parquet")
    assert {path.name for path in tmp_path.iterdir()} == {f"{name}.results.jsonl", f"{name}.results.jsonl.journal"}
    with pytest.raises(OutputRefused, match=r"lake/out.parquet: exists already"):
        cactus(*arguments)


@pytest.mark.parametrize("output", ["s3://puddle/out.parquet", "s3://puddle/out/", "s3://puddle/"])
@pytest.mark.parametrize("more", [(), ("--resume",), ("--overwrite",), ("--retry-failed",)])
def test_a_missing_bucket_is_refused_before_anything_runs(
    cactus: Cactus,
    router: ScriptedRouter,
    lake: s3fs.S3FileSystem,
    tmp_path: Path,
    output: str,
    more: tuple[str, ...],
) -> None:
    with pytest.raises(OutputRefused, match=f"{output}: there is no bucket puddle"):
        cactus("batch", "s3://lake/in.csv", "-o", output, *TEMPLATE, *more)
    assert not router.received
    assert [*tmp_path.iterdir()] == []


def test_tables_of_one_name_at_two_places_share_no_file(
    cactus: Cactus, router: ScriptedRouter, lake: s3fs.S3FileSystem, tmp_path: Path
) -> None:
    for folder in ("one", "two"):
        command = ("batch", "s3://lake/in/*.parquet", "-o", f"s3://lake/{folder}/out.csv.gz")
        assert cactus(*command, "--prompt-template", folder + " {{ text }}").exit_code == 0
    assert len(router.submitted()) == 6
    for folder in ("one", "two"):
        assert f",{folder} cold soup w1" in gzip.decompress(lake.cat_file(f"lake/{folder}/out.csv.gz")).decode()
    stores = {part_store(f"s3://lake/{place}/out{end}").scratch for place in ("one", "two") for end in ("", "/")}
    assert len(stores) == 2


def test_a_failed_upload_is_repeated_without_asking(
    cactus: Cactus, router: ScriptedRouter, lake: s3fs.S3FileSystem, tmp_path: Path
) -> None:
    arguments = ("batch", "s3://lake/in/*.parquet", "-o", "s3://later/out.csv.gz", *TEMPLATE)

    def remove_the_bucket(identity: bytes, submit: Submit) -> None:
        if lake.exists("later"):
            lake.rmdir("later")
        on_submit(identity, submit)

    on_submit, router.on_submit = router.on_submit, remove_the_bucket  # type: ignore[method-assign]
    lake.mkdir("later")
    with pytest.raises(OutputFailed, match="s3://later/out"):
        cactus(*arguments)
    router.on_submit = on_submit  # type: ignore[method-assign]
    router.received.clear()
    lake.mkdir("later")
    assert cactus(*arguments, "--resume").exit_code == 0
    assert not router.submitted()
    assert gzip.decompress(lake.cat_file("later/out.csv.gz")).count(b"\n") == 4


def test_parts_of_a_bucket_are_continued_from_the_bucket_alone(
    cactus: Cactus, router: ScriptedRouter, lake: s3fs.S3FileSystem, tmp_path: Path
) -> None:
    """The folder of unfinished rows is lost, as with the machine: parts that are there are not asked again."""
    arguments = ("batch", "s3://lake/in/*.parquet", "-o", "s3://lake/parts/", "--part-rows", "1", *TEMPLATE)
    result = cactus(*arguments)
    assert result.stdout.startswith("3 rows in 3 parts of s3://lake/parts/\n")
    assert [*tmp_path.iterdir()] == []
    names = ["part-00000-00000.parquet", "part-00000-00001.parquet", "part-00001-00000.parquet"]
    assert sorted(Path(name).name for name in lake.ls("lake/parts")) == ["_cactus", *names]
    with pytest.raises(OutputRefused, match="s3://lake/parts/: a run is there"):
        cactus(*arguments)
    lake.rm_file(f"lake/parts/{names[1]}")
    router.received.clear()
    assert cactus(*arguments, "--resume").stdout.startswith("3 rows in 3 parts of s3://lake/parts/, 2 of them before")
    assert len(router.submitted()) == 1
    tables = [pq.read_table(pa.BufferReader(lake.cat_file(f"lake/parts/{name}"))) for name in names]
    assert pa.concat_tables(tables).select(REVIEWS.schema.names).equals(REVIEWS)
    assert cactus(*arguments, "--overwrite", "--output-format", "csv").exit_code == 0
    assert not [name for name in lake.ls("lake/parts") if name.endswith(".parquet")]


def test_wrong_urls_are_refused(cactus: Cactus, router: ScriptedRouter, lake: s3fs.S3FileSystem) -> None:
    part = "s3://lake/in/part-0.parquet"
    for source, output, kind, message in (
        ("s3://lake/none/*.parquet", "out.csv", InputInvalid, r"none/\*.parquet: no such file"),
        ("s3://lake/none.parquet", "out.csv", InputInvalid, "s3://lake/none.parquet: no such file"),
        ("s3://missing/in.csv", "out.csv", InputInvalid, "s3://missing/in.csv: "),
        ("http://127.0.0.1:9/in.csv", "out.csv", InputInvalid, "http://127.0.0.1:9/in.csv: Cannot connect to host"),
        ("nowhere://a/in.csv", "out.csv", ConfigurationInvalid, "nowhere://a/in.csv: Protocol not known: nowhere"),
        ("gs://a/in.csv", "out.csv", ConfigurationInvalid, "gs://a/in.csv: .*gcsfs"),
        (part, part, OutputRefused, "is the input"),
        (part, "http://127.0.0.1:9/out.csv", OutputRefused, "cannot be written"),
        ("s3://lake/in/*", "s3://lake/in.csv", OutputRefused, "s3://lake/in.csv: exists already"),
    ):
        with pytest.raises(kind, match=message):
            cactus("batch", source, "-o", output, *TEMPLATE)
    assert not router.submitted()


def test_the_documented_commands_run(
    cactus: Cactus, router: ScriptedRouter, lake: s3fs.S3FileSystem, tmp_path: Path
) -> None:
    def answer(job: ScriptedJob, finished: Finished) -> None:
        result = msgspec.structs.replace(finished.result, text='{"topic": "soup"}', finish_reason="stop")
        job.finished = msgspec.structs.replace(finished, result=result)
        end(job, job.finished)

    end, router.end = router.end, answer  # type: ignore[method-assign]
    (tmp_path / "answer.json").write_text('{"type": "object", "properties": {"topic": {"type": "string"}}}')
    text = page("guide/data.md").replace("\\\n", " ")
    commands = [line.split("cactus ", 1)[1] for line in text.splitlines() if line.startswith("    cactus batch 's3:")]
    commands = [command for command in commands if "--ray" not in command]  # tests/cluster/test_ray_data.py
    for command in commands:
        result = cactus(*shlex.split(command))
        assert result.exit_code == 0, result.output
    assert len(commands) == 2
    assert pq.read_table(pa.BufferReader(lake.cat_file("lake/rated.parquet")))["topic"].to_pylist() == ["soup"] * 3


def test_a_table_is_read_over_http(cactus: Cactus, lake: s3fs.S3FileSystem, server: str, tmp_path: Path) -> None:
    result = cactus("batch", f"{server}/lake/in.csv", "-o", "out.txt", *TEMPLATE)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "out.txt").read_text() == "Say: fine w1 w2 w3 w4\n"
