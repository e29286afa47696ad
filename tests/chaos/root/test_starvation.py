"""Workers without enough memory or processor time."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from cactus_actors.client import AsyncClient
from tests.support.processes.separate_actors import Processes
from tests.support.processes.serve_command import serving

OPTIONS: dict[str, Any] = {"max_tokens": 120, "ignore_eos": True, "temperature": 0.9, "seed": 4}
PROMPT = "Tell me a story about a fox."
MEMORY, CPU = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup/cpu")


@pytest.fixture
def group() -> Iterator[Callable[[Path], Path]]:
    """Make control groups (version 1) of a controller."""
    made: list[Path] = []

    def make(controller: Path) -> Path:
        if not (controller / "cgroup.procs").exists():
            pytest.skip(f"no control groups of version 1 at {controller}")
        path = controller / f"cactus-{os.getpid()}"
        path.mkdir()
        made.append(path)
        return path

    yield make
    for path in made:
        for pid in (path / "cgroup.procs").read_text().split():
            (path.parent / "cgroup.procs").write_text(pid)
        path.rmdir()


async def test_a_worker_that_runs_out_of_memory_costs_no_job(tmp_path: Path, group: Callable[[Path], Path]) -> None:
    processes = Processes(tmp_path)
    try:
        async with AsyncClient(processes.jobs, processes.stream, timeout=120.0) as client:
            expected = (await client.complete(PROMPT, **OPTIONS)).token_ids
            starved = group(MEMORY)
            (starved / "memory.limit_in_bytes").write_text("4096")
            seen: list[int] = []
            async for delta in client.stream(PROMPT, **OPTIONS):
                seen += delta.token_ids
                if len(seen) >= 20 and len(processes.workers) == 1:
                    # Memory that it holds already stays charged to another group; new memory kills it.
                    (starved / "cgroup.procs").write_text(str(processes.workers[0].pid))
                    processes.workers.append(processes.start_worker("second"))
            assert processes.workers[0].wait(60.0) == -signal.SIGKILL
            assert seen == expected
            assert (await client.status()).jobs.failed == 0
    finally:
        processes.stop()


async def test_a_worker_with_a_tenth_of_a_core_is_not_declared_dead(
    tmp_path: Path, group: Callable[[Path], Path]
) -> None:
    processes = Processes(tmp_path)
    try:
        async with AsyncClient(processes.jobs, processes.stream, timeout=120.0) as client:
            expected = (await client.complete(PROMPT, **OPTIONS)).token_ids
            slow = group(CPU)
            (slow / "cpu.cfs_period_us").write_text("100000")
            (slow / "cpu.cfs_quota_us").write_text("10000")
            (slow / "cgroup.procs").write_text(str(processes.workers[0].pid))
            results = await asyncio.gather(*(client.complete(PROMPT, **OPTIONS) for _ in range(4)))
            assert all(result.token_ids == expected for result in results)
            assert (await client.status()).jobs.redispatched == 0
    finally:
        processes.stop()


async def test_the_service_waits_for_a_private_ray_cluster_with_a_fifth_of_a_core(
    tmp_path: Path, group: Callable[[Path], Path]
) -> None:
    slow = group(CPU)
    (slow / "cpu.cfs_period_us").write_text("100000")
    (slow / "cpu.cfs_quota_us").write_text("20000")
    (slow / "cgroup.procs").write_text(str(os.getpid()))
    started_at = time.monotonic()
    with serving(tmp_path, "--placement", "ray") as service:
        print(f"ready after {time.monotonic() - started_at:.0f} s")
        async with AsyncClient(service.jobs, service.stream, timeout=120.0) as client:
            await client.complete(PROMPT, max_tokens=4)
        assert not service.said("unexpected")
