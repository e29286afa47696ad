"""Tables in parts: each part is complete or not there, and no row of one that is there is asked again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch.batch_errors import (
    InputChanged,
    OptionsChanged,
    OutputFailed,
    OutputLocked,
    OutputRefused,
)
from cactus_actors.batch.locked_file import open_locked
from cactus_actors.data.parts import part_store
from tests.support.router.scripted_router import ScriptedRouter, until

Cactus = Callable[..., typer.testing.Result]
ARGUMENTS = ("-o", "out/", "--prompt-template", "Say: {{ text }}", "--part-rows", "10")
NAMES = ["part-00000-00000.parquet", "part-00000-00001.parquet", "part-00000-00002.parquet", "part-00001-00000.parquet"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """25 rows in one file and 7 in another; the prompts of all differ."""
    for name, numbers in (("a", range(25)), ("b", range(25, 32))):
        table = pa.table({"text": [f"text {number}" for number in numbers], "id": numbers})
        pq.write_table(table, tmp_path / f"{name}.parquet")
    return ["a.parquet", "b.parquet"]


def rows_of(folder: Path) -> list[dict[str, Any]]:
    return pyarrow.dataset.dataset(folder, format="parquet").to_table().sort_by("id").to_pylist()


def expected(number: int) -> str:
    return f"Say: text {number} w1 w2 w3 w4"


def check_whole(folder: Path) -> None:
    assert [(row["id"], row["answer"]) for row in rows_of(folder)] == [(n, expected(n)) for n in range(32)]
    assert sorted(path.name for path in folder.iterdir()) == ["_cactus", *NAMES]


def prompts(router: ScriptedRouter) -> list[str]:
    return sorted(str(submit.messages[0].content) for submit in router.submitted())


def test_every_part_has_its_rows_in_order(cactus: Cactus, files: list[str], tmp_path: Path) -> None:
    result = cactus("batch", *files, *ARGUMENTS, "--report", "report.html")
    assert result.stdout.startswith("32 rows in 4 parts of out/\n")
    check_whole(tmp_path / "out")
    parts = [pq.read_table(tmp_path / "out" / name)["id"].to_pylist() for name in NAMES]
    assert parts == [[*range(10)], [*range(10, 20)], [*range(20, 25)], [*range(25, 32)]]
    assert not (tmp_path / "out/_cactus/unfinished").exists()
    assert "<td>32 (100.0 %)</td>" in (tmp_path / "report.html").read_text()
    with pytest.raises(OutputRefused, match="out/: a run is there; continue it with --resume"):
        cactus("batch", *files, *ARGUMENTS)
    again = cactus("batch", *files, *ARGUMENTS, "--overwrite", "--output-format", "csv", "--columns", "id", "--json")
    assert {**json.loads(again.stdout), "tokens_per_second": 0} == {
        "rows": 32,
        "failed": 0,
        "resumed": 0,
        "handed_off": 0,
        "misfits": 0,
        "completion_tokens": 160,
        "tokens_per_second": 0,
        "output": "out/",
        "parts": 4,
        "reasons": [],
    }
    assert not [*(tmp_path / "out").glob("*.parquet")]
    assert (tmp_path / "out/part-00001-00000.csv").read_text().splitlines()[1].startswith("25,Say: text 25 w1")


def test_a_killed_command_repeats_no_answered_row(
    cactus: Cactus, router: ScriptedRouter, files: list[str], tmp_path: Path
) -> None:
    on_submit, num_tokens = router.on_submit, router.num_tokens

    def answer_some(*of_job: Any) -> None:
        router.num_tokens = num_tokens if len(router.submitted()) <= 14 else 50_000
        on_submit(*of_job)

    router.on_submit = answer_some  # type: ignore[method-assign]
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", *files, *ARGUMENTS]
    partial = tmp_path / "out/_cactus/unfinished/part-00000-00001.parquet.results.jsonl.partial"
    with subprocess.Popen(
        command, env=os.environ | environment, stderr=subprocess.DEVNULL, cwd=tmp_path, text=True
    ) as running:
        until(lambda: partial.exists() and partial.read_bytes().count(b"\n") == 4, 300.0)
        running.kill()
    assert [path.name for path in sorted((tmp_path / "out").glob("part-*"))] == NAMES[:1]
    router.on_submit, router.num_tokens = on_submit, num_tokens  # type: ignore[method-assign]
    router.restart()
    router.received.clear()
    result = cactus("batch", *files, *ARGUMENTS, "--resume")
    assert result.stdout.startswith("32 rows in 4 parts of out/, 10 of them before\n")
    assert len(router.submitted()) == 32 - 14
    check_whole(tmp_path / "out")


@pytest.mark.parametrize("step", ["write", "put"])
def test_a_part_whose_writing_fails_is_written_without_asking(
    step: str,
    cactus: Cactus,
    router: ScriptedRouter,
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = type(part_store.part_store("out/"))
    write = getattr(kind, step)

    def fail_at_the_second(store: Any, first: Any, second: Any) -> None:
        if "part-00000-00001." in f"{first} {second}":
            raise OutputFailed("the disk is full")
        write(store, first, second)

    with monkeypatch.context() as patched:
        patched.setattr(kind, step, fail_at_the_second)
        with pytest.raises(OutputFailed):
            cactus("batch", *files, *ARGUMENTS)
    assert len(rows_of(tmp_path / "out")) == 10
    assert len(router.submitted()) == 20
    assert cactus("batch", *files, *ARGUMENTS, "--resume").exit_code == 0
    assert prompts(router) == sorted(f"Say: text {number}" for number in range(32))
    check_whole(tmp_path / "out")


def test_a_part_of_which_only_the_record_was_written_has_the_same_tokens(
    cactus: Cactus, router: ScriptedRouter, files: list[str], tmp_path: Path
) -> None:
    """Without the folder of unfinished rows, as at a URL on another machine: seeds follow from the manifest."""
    arguments = (*files, *ARGUMENTS, "--temperature", "1")
    cactus("batch", *arguments)
    seeds = {submit.messages[0].content: submit.options.seed for submit in router.submitted()}
    whole = rows_of(tmp_path / "out")
    (tmp_path / "out" / NAMES[1]).unlink()
    router.received.clear()
    router.restart()
    assert cactus("batch", *arguments, "--resume").exit_code == 0
    assert prompts(router) == sorted(f"Say: text {number}" for number in range(10, 20))
    assert all(submit.options.seed == seeds[submit.messages[0].content] for submit in router.submitted())
    assert rows_of(tmp_path / "out") == whole


def test_other_options_and_rows_are_refused(cactus: Cactus, files: list[str], tmp_path: Path) -> None:
    cactus("batch", *files, *ARGUMENTS)
    (tmp_path / "out" / NAMES[3]).unlink()
    for changes, message in (
        (("--columns", "id"), r'--columns was \["text","id"\] and is \["id"\] now'),
        (("--limit", "3"), "--limit was not given and is 3 now"),
        (("--part-rows", "7"), "--part-rows was 10 and is 7 now"),
        (("--output-format", "csv"), '--output-format was "parquet" and is "csv" now'),
    ):
        with pytest.raises(OptionsChanged, match=message):
            cactus("batch", *files, *ARGUMENTS, *changes, "--resume")
    with pytest.raises(InputChanged, match=r"began with 7 rows of b.parquet, where this one has no more files"):
        cactus("batch", files[0], *ARGUMENTS, "--resume")
    table = pq.read_table(tmp_path / "a.parquet")
    pq.write_table(table.slice(1), tmp_path / "a.parquet")
    with pytest.raises(InputChanged, match=r"25 rows of a.parquet, where this one has 24 rows"):
        cactus("batch", *files, *ARGUMENTS, "--resume")
    pq.write_table(table.set_column(0, "text", table["text"].take([1, 0, *range(2, 25)])), tmp_path / "a.parquet")
    with pytest.raises(InputChanged, match="the rows of part-00000-00000 are not those that were asked"):
        cactus("batch", *files, *ARGUMENTS, "--resume")
    pq.write_table(table, tmp_path / "a.parquet")
    assert cactus("batch", *files, *ARGUMENTS, "--resume").exit_code == 0
    check_whole(tmp_path / "out")


def test_rows_that_fail_are_in_their_parts(cactus: Cactus, tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("id,text\n1,fine\n2,too,many\n3,fine\n")
    result = cactus(
        "batch",
        "in.csv",
        "-o",
        "out/",
        "--prompt-template",
        "{{ 1 / (3 - id|int) }}",
        "--part-rows",
        "2",
        "--limit",
        "3",
    )
    assert result.exit_code == 1
    assert result.stdout.startswith("3 rows in 2 parts of out/, 2 failed")
    assert [(row["id"], row["error"] is None) for row in rows_of(tmp_path / "out")] == [
        ("1", True),
        ("2", False),
        ("3", False),
    ]


def test_a_folder_that_is_not_free_is_refused(
    cactus: Cactus, router: ScriptedRouter, files: list[str], tmp_path: Path
) -> None:
    (tmp_path / "a file").touch()
    (tmp_path / "other").mkdir()
    shutil.copy(tmp_path / "a.parquet", tmp_path / "other/part-1.parquet")
    template = ("--prompt-template", "{{ text }}")
    for arguments, kind, message in (
        ((*files, "-o", "other/"), OutputRefused, "other/: has parts of another program"),
        (("other/*.parquet", "-o", "other/"), OutputRefused, "other/: has the input other/part-1.parquet"),
        ((*files, "-o", "a file/"), OutputRefused, "a file/: is no directory"),
        ((*files, "-o", "out/", "--retry-failed"), OutputRefused, "out/: there is no run to retry"),
        ((*files, "-o", "http://127.0.0.1:9/out/"), OutputRefused, "cannot be written"),
        ((*files, "-o", "out"), OutputRefused, "its name does not say its format"),
    ):
        with pytest.raises(kind, match=message):
            cactus("batch", *arguments, *template)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out/_cactus/unfinished").mkdir(parents=True)
    lock = open_locked(tmp_path / "out/_cactus/unfinished/lock")
    with pytest.raises(OutputLocked):
        cactus("batch", *files, "-o", "out/", *template)
    os.close(lock)
    (tmp_path / "out/_cactus/run.json").write_text("{}")
    with pytest.raises(OutputRefused, match="the manifest of the run here is damaged"):
        cactus("batch", *files, "-o", "out/", *template, "--resume")
    assert not router.submitted()
