"""`cactus demo` runs a prompt file on this machine, and again on a Ray cluster of two nodes that loses one."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.processes.demo_process import demo_process, said, short_directory
from tests.support.processes.serve_command import sessions_of, wait_for_nothing
from tests.support.router.scripted_router import until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc"),
]

ENDS_WITHIN_S = 600.0
NOTHING_WITHIN_S = 60.0


@pytest.fixture
def ray_parent() -> Iterator[Path]:
    with short_directory() as directory:
        yield directory


@pytest.fixture
def demo(tmp_path: Path, ray_parent: Path) -> Iterator[subprocess.Popen[bytes]]:
    with demo_process(tmp_path, ray_parent, "--output", str(tmp_path / "results.jsonl")) as process:
        yield process


def test_both_parts_have_the_same_tokens_although_a_node_is_killed(
    demo: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    assert demo.wait(ENDS_WITHIN_S) == 0, said(tmp_path)
    wait_for_nothing({demo.pid}, NOTHING_WITHIN_S)
    told = said(tmp_path)
    assert "2 workers on 2 nodes; the node of worker-" in told
    assert "killed on purpose" in told
    assert "[state-dump]" not in told
    assert all(line.startswith("Ray: ") for line in told.splitlines() if "Ray: (" in line)
    end = r"^\d+ answers continued on the other node; all 40 have the same tokens as without Ray$"
    assert re.search(end, told, re.M)
    for name in ("results.jsonl", "results-cluster.jsonl"):
        assert len((tmp_path / name).read_text().splitlines()) == 40


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_demo_interrupted_on_its_cluster_leaves_no_process(
    demo: subprocess.Popen[bytes], tmp_path: Path, ray_parent: Path, number: signal.Signals
) -> None:
    until(lambda: "placed by the Ray cluster at" in said(tmp_path), ENDS_WITHIN_S)
    assert len([*ray_parent.iterdir()]) == 2
    sessions = sessions_of(demo.pid)
    assert len(sessions) > 3  # its own processes, those of both nodes and of the process that ends them
    os.kill(demo.pid, number)
    assert demo.wait(NOTHING_WITHIN_S) != 0
    wait_for_nothing(sessions, NOTHING_WITHIN_S)
    until(lambda: not [*ray_parent.iterdir()], NOTHING_WITHIN_S)
