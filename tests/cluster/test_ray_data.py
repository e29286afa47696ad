"""`cactus batch --ray` on a Ray cluster: whatever is killed, each row is there once, and no part is asked again."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet as pq
import pytest

from tests.support.router.scripted_router import ScriptedRouter, until

pytestmark = pytest.mark.slow
pytest.importorskip("pandas", reason="Ray Data imports it")

NUM_FILES, ROWS_PER_FILE, PART_ROWS = 3, 100, 10
NUM_PARTS = NUM_FILES * ROWS_PER_FILE // PART_ROWS
PATIENCE_S = 600.0


@pytest.fixture
def router() -> Iterator[ScriptedRouter]:
    with ScriptedRouter(step_s=0.3) as router:
        yield router


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    for file in range(NUM_FILES):
        numbers = range(file * ROWS_PER_FILE, (file + 1) * ROWS_PER_FILE)
        table = pa.table({"text": [f"text {number}" for number in numbers], "id": numbers})
        pq.write_table(table, tmp_path / f"in-{file}.parquet")
    return tmp_path


class Command:
    """`cactus batch --ray` over these rows."""

    def __init__(self, address: str, router: ScriptedRouter, rows: Path) -> None:
        self._rows = rows
        environment = {"CACTUS_ENDPOINT": router.endpoint, "CACTUS_STREAM_ENDPOINT": router.stream_endpoint}
        self._environment = {**os.environ, **environment, "CACTUS_HOME": str(rows / "home")}
        self._words = [sys.executable, "-m", "cactus_actors.cli.main", "batch", "in-*.parquet", "-o", "out/"]
        self._words += ["--prompt-template", "Say: {{ text }}", "--part-rows", str(PART_ROWS), "--temperature", "1"]
        self._words += ["--ray", address, "--actors", "2"]

    def start(self, *more: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*self._words, *more],
            cwd=self._rows,
            env=self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def end(self, running: subprocess.Popen[str]) -> str:
        said, _ = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 0, said
        return said


def parts(rows: Path) -> list[str]:
    return sorted(path.name for path in (rows / "out").glob("part-*.parquet"))


def actor_pids() -> list[int]:
    """The processes of actors that answer parts on the cluster of these tests."""
    token = f"RAY_AUTH_TOKEN_PATH={os.environ['RAY_AUTH_TOKEN_PATH']}\0".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            is_actor = b"MapWorker(MapBatches(PartActor))" in (place / "cmdline").read_bytes()
            if is_actor and token in (place / "environ").read_bytes():
                found.append(int(place.name))
    return found


def check_continued(command: Command, router: ScriptedRouter, rows: Path) -> None:
    """Start the command again, which answers the rows that are in no part, and no other."""
    until(lambda: not actor_pids(), PATIENCE_S)
    before = {name: (rows / "out" / name).stat().st_mtime_ns for name in parts(rows)}
    router.restart()
    router.received.clear()
    said = command.end(command.start("--resume"))
    assert f"{NUM_FILES * ROWS_PER_FILE} rows in {NUM_PARTS} parts of out/, {len(before) * PART_ROWS} of them" in said
    assert {name: (rows / "out" / name).stat().st_mtime_ns for name in before} == before
    asked = Counter(submit.job_id for submit in router.submitted())
    assert len(asked) == (NUM_PARTS - len(before)) * PART_ROWS
    table = pyarrow.dataset.dataset(rows / "out", format="parquet").to_table().sort_by("id")
    assert table["id"].to_pylist() == [*range(NUM_FILES * ROWS_PER_FILE)]
    assert all(f"Say: text {row['id']} " in row["answer"] for row in table.to_pylist())
    assert not (rows / "out/_cactus/unfinished").exists()


def test_killed_actors_and_a_killed_driver_repeat_no_part(ray_address: str, router: ScriptedRouter, rows: Path) -> None:
    """Two actors have two parts each at once, and a job takes 1.5 s: most parts are left when both are killed."""
    command = Command(ray_address, router, rows)
    with command.start() as running:
        until(lambda: len(parts(rows)) >= 2 or running.poll() is not None, PATIENCE_S)
        assert running.poll() is None, running.communicate()
        os.kill(actor_pids()[0], signal.SIGKILL)
        until(lambda: len(parts(rows)) >= 8, PATIENCE_S)
        running.kill()
    assert 8 <= len(parts(rows)) < NUM_PARTS
    check_continued(command, router, rows)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_and_its_actors(
    ray_address: str, router: ScriptedRouter, rows: Path, number: signal.Signals
) -> None:
    command = Command(ray_address, router, rows)
    with command.start() as running:
        until(lambda: len(parts(rows)) >= 2 or running.poll() is not None, PATIENCE_S)
        signalled_at = time.monotonic()
        running.send_signal(number)
        said, _ = running.communicate(timeout=PATIENCE_S)
    print(f"it ended within {time.monotonic() - signalled_at:.1f} s")
    assert running.returncode == 128 + number, said
    assert re.search(r"interrupted; \d+ of 300 lines are done; the same command with --resume continues", said)
    assert "Traceback" not in said
    assert 2 <= len(parts(rows)) < NUM_PARTS
    check_continued(command, router, rows)


def test_actors_without_a_place_say_what_they_wait_for(ray_address: str, router: ScriptedRouter, rows: Path) -> None:
    command = Command(ray_address, router, rows)
    with command.start("--engine", "cactus-sprout", "--engine-threads", "1000") as running:
        assert running.stdout is not None
        for line in running.stdout:
            if found := re.search(r"2 actors wait for CPUs: each wants 1000 of one node, .* no node has more", line):
                running.send_signal(signal.SIGTERM)
                break
        running.communicate(timeout=PATIENCE_S)
    assert found


def test_engines_of_actors_answer_rows(ray_address: str, router: ScriptedRouter, rows: Path) -> None:
    command = Command(ray_address, router, rows)
    said = command.end(command.start("--engine", "cactus-sprout", "--limit", "25", "--max-tokens", "8"))
    assert "25 rows in 3 parts of out/" in said
    assert not router.submitted()
    table = pyarrow.dataset.dataset(rows / "out", format="parquet").to_table().sort_by("id")
    assert {row["model"] for row in table.to_pylist()} == {"cactus-sprout"}
    assert all(0 < row["completion_tokens"] <= 8 for row in table.to_pylist())
