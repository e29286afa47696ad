"""A table whose command is killed is continued: no row is asked twice, and the table is whole or does not exist."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import typer.testing

from cactus_actors.batch.batch_errors import InputChanged, InputInvalid, OptionsChanged, OutputRefused
from cactus_actors.data.table_output import write_table
from tests.support.router.scripted_router import ScriptedRouter, until
from tests.support.text.reviews import TEMPLATE

Cactus = Callable[..., typer.testing.Result]
Answered = Callable[..., list[dict[str, Any]]]
NUM_ROWS = 2500  # more than two windows
ARGUMENTS = ("--prompt-template", "Say: {{ text }}", "--temperature", "0")


@pytest.fixture
def many(tmp_path: Path) -> Path:
    texts = [f"text {number * 37 % 40}" for number in range(NUM_ROWS)]
    pq.write_table(pa.table({"text": texts, "id": range(NUM_ROWS)}), tmp_path / "many.parquet")
    return tmp_path / "many.parquet"


def expected(number: int) -> str:
    return f"Say: text {number * 37 % 40} w1 w2 w3 w4"


def test_a_killed_command_is_continued(cactus: Cactus, router: ScriptedRouter, many: Path, tmp_path: Path) -> None:
    router.num_tokens = 5
    end, num_ended = router.end, 0

    def end_some(*of_job: Any) -> None:
        nonlocal num_ended
        num_ended += 1
        if num_ended <= 15:
            end(*of_job)

    router.end = end_some  # type: ignore[method-assign]
    environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
    command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", str(many), "-o", str(tmp_path / "out.parquet")]
    partial = tmp_path / "out.parquet.results.jsonl.partial"
    with subprocess.Popen([*command, *ARGUMENTS], env=os.environ | environment, stderr=subprocess.DEVNULL) as running:
        until(lambda: partial.exists() and partial.read_bytes().count(b"\n") == 15)
        running.kill()
    assert not (tmp_path / "out.parquet").exists()
    router.end = end  # type: ignore[method-assign]
    router.restart()
    router.received.clear()
    with pytest.raises(OutputRefused, match="an unfinished run is there; continue it with --resume"):
        cactus("batch", str(many), "-o", "out.parquet", *ARGUMENTS)
    result = cactus("batch", str(many), "-o", "out.parquet", *ARGUMENTS, "--resume")
    assert result.exit_code == 0, result.output
    assert len(router.submitted()) == 40 - 15
    rows = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert [(row["id"], row["answer"]) for row in rows] == [(number, expected(number)) for number in range(NUM_ROWS)]


def test_a_table_whose_writing_was_killed_is_written_without_asking(
    answered: Answered, router: ScriptedRouter, many: Path, tmp_path: Path
) -> None:
    rows = answered(str(many), *ARGUMENTS)
    written = (tmp_path / "out.parquet").read_bytes()
    (tmp_path / "out.parquet").unlink()
    (tmp_path / "out.parquet.new").write_bytes(written[:1000])
    router.received.clear()
    assert answered(str(many), *ARGUMENTS, "--resume") == rows
    assert not router.submitted()
    assert not (tmp_path / "out.parquet.new").exists()
    (tmp_path / "out.parquet.results.jsonl").unlink()
    (tmp_path / "out.parquet.results.jsonl.journal").unlink()
    with pytest.raises(OutputRefused, match=r"out.parquet: exists already"):
        answered(str(many), *ARGUMENTS, "--resume")


def test_changed_rows_and_options_are_refused(cactus: Cactus, reviews: Path, tmp_path: Path) -> None:
    arguments = ("batch", str(reviews), "-o", "out.parquet")
    assert cactus(*arguments, *TEMPLATE, "--limit", "2").exit_code == 0
    assert pq.read_table(tmp_path / "out.parquet").num_rows == 2
    with pytest.raises(OptionsChanged, match="--limit was 2 and is not given now"):
        cactus(*arguments, *TEMPLATE, "--resume")
    with pytest.raises(OptionsChanged, match=r'--prompt-template was "Say: {{ text }}" and is "{{ text }}" now'):
        cactus(*arguments, "--prompt-template", "{{ text }}", "--limit", "2", "--resume")
    with pytest.raises(OptionsChanged, match=r"--temperature was not given and is 0.0 now"):
        cactus(*arguments, *TEMPLATE, "--limit", "2", "--temperature", "0", "--resume")
    table = pq.read_table(reviews)
    pq.write_table(table.set_column(1, "text", [["good soup", "another", "cold soup"]]), reviews)
    with pytest.raises(InputChanged, match=f"{reviews}: input_changed"):
        cactus(*arguments, *TEMPLATE, "--limit", "2", "--resume")


def test_other_columns_may_be_chosen_for_a_finished_run(
    answered: Answered, router: ScriptedRouter, reviews: Path
) -> None:
    answered(str(reviews), *TEMPLATE)
    router.received.clear()
    [first, *_] = answered(str(reviews), *TEMPLATE, "--columns", "id", "--prefix", "a_", "--resume")
    assert [*first][:2] == ["id", "a_answer"]
    assert not router.submitted()


def with_another_text(reviews: Path) -> None:
    pq.write_table(pq.read_table(reviews).set_column(1, "text", [["good soup", "another", "cold soup"]]), reviews)


def cut_short(reviews: Path) -> None:
    reviews.write_bytes(reviews.read_bytes()[:-20])


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        (with_another_text, InputChanged, "its rows are not those that were asked"),
        (cut_short, InputInvalid, "reviews.parquet: "),
    ],
)
def test_rows_that_change_during_the_run_are_not_written_beside_other_answers(
    cactus: Cactus,
    router: ScriptedRouter,
    reviews: Path,
    tmp_path: Path,
    change: Callable[[Path], None],
    error: type[Exception],
    message: str,
) -> None:
    """The file is changed when every row has its answer, before the table is written."""
    finished = tmp_path / "out.parquet.results.jsonl"
    table = pq.read_table(reviews)
    assert cactus("batch", str(reviews), "-o", "out.parquet", *TEMPLATE).exit_code == 0
    (tmp_path / "out.parquet").unlink()

    def change_then_write(*of_writing: Any) -> int:
        change(reviews)
        return write_table(*of_writing)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("cactus_actors.data.table_request.write_table", change_then_write)
        with pytest.raises(error, match=message):
            cactus("batch", str(reviews), "-o", "out.parquet", *TEMPLATE, "--resume")
    assert finished.exists()
    assert not (tmp_path / "out.parquet").exists()
    assert not (tmp_path / "out.parquet.new").exists()
    pq.write_table(table, reviews)
    assert cactus("batch", str(reviews), "-o", "out.parquet", *TEMPLATE, "--resume").exit_code == 0
