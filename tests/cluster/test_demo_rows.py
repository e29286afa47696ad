"""`cactus demo --rows` answers a table on a Ray cluster that grows from one node to three and loses one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pyarrow.dataset
import pytest

from tests.support.processes.demo_process import demo_process, said, short_directory
from tests.support.processes.serve_command import sessions_of, wait_for_nothing
from tests.support.router.scripted_router import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc"),
]
pytest.importorskip("pandas", reason="Ray Data imports it")

NUM_ROWS = 4000
ENDS_WITHIN_S = 900.0
NOTHING_WITHIN_S = 60.0


@pytest.fixture
def ray_parent() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


@pytest.fixture
def demo(tmp_path: Path, ray_parent: Path) -> Iterator[subprocess.Popen[bytes]]:
    with demo_process(tmp_path, ray_parent, "--rows", str(NUM_ROWS)) as process:
        yield process


def total_in(question: str) -> int:
    return sum(map(int, re.findall("[0-9]+", question)))


def test_each_row_is_answered_once_on_nodes_that_come_and_one_that_is_killed(
    demo: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert demo.wait(ENDS_WITHIN_S) == 0, said(tmp_path)
    wait_for_nothing({demo.pid}, NOTHING_WITHIN_S)
    told = said(tmp_path)
    assert f"{NUM_ROWS:,} in 16 parts, each once; 0 failed" in told
    assert "a node is killed on purpose" in told
    [nodes] = [line for line in told.splitlines() if "│ nodes" in line]
    assert re.search("1 at .* 3 at .* 2 at ", nodes), nodes
    rows = pyarrow.dataset.dataset(tmp_path / "demo-results-rows", format="parquet").to_table()
    assert sorted(rows["id"].to_pylist()) == [*range(NUM_ROWS)]
    assert len({*rows["question"].to_pylist()}) > NUM_ROWS // 2
    sums = [row for row in rows.to_pylist() if (row["kind"], row["question"][:8]) == ("sum", "What is ")]
    right = [row for row in sums if row["answer"].endswith(f"= {total_in(row['question'])}.")]
    assert len(right) > 0.9 * len(sums) > 100


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_an_interrupted_demo_leaves_no_process(
    demo: subprocess.Popen[bytes], tmp_path: Path, ray_parent: Path, number: signal.Signals
) -> None:
    until(lambda: "s: 2 nodes" in said(tmp_path), ENDS_WITHIN_S)
    sessions = sessions_of(demo.pid)
    assert len(sessions) > 1
    os.kill(demo.pid, number)
    assert demo.wait(NOTHING_WITHIN_S) == (130 if number == signal.SIGINT else -number), said(tmp_path)
    wait_for_nothing(sessions, NOTHING_WITHIN_S)
    until(lambda: not [*ray_parent.iterdir()], NOTHING_WITHIN_S)
