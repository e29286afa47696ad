"""Ray brings nodes when more workers are wanted, and takes them back, while jobs run."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from pathlib import Path

from tests.support.processes.autoscaling_ray import run_alone

TIMEOUT_S = 1800.0


def test_a_cluster_grows_from_one_node_to_four_and_back_under_load(need: Callable[[str], None]) -> None:
    for tool in ("unshare", "ip"):
        need(tool)
    # Ray's unix sockets need a short path, shorter than pytest's own temporary directories.
    with tempfile.TemporaryDirectory(prefix="ca-", ignore_cleanup_errors=True) as directory:
        told = json.loads(
            run_alone("tests.support.services.growing_fleet", Path(directory), TIMEOUT_S).splitlines()[-1]
        )
    print(f"it grew in {told['grew_s']} s and shrank in {told['shrank_s']} s, with {told['jobs']} jobs")
    assert told["nodes"] == [1, 4, 1], told["lines"]
    assert told["finished"] == told["jobs"]
    assert told["wrong"] == told["failed"] == 0
    assert not [line for line in told["lines"] if "ended" in line]
