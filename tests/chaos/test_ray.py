"""Ray itself fails: what runs goes on, nothing is done twice, and what cannot go on ends in order."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.cluster import control_plane
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import Status
from tests.chaos.processes import free_endpoints
from tests.chaos.ray_server import RayServer
from tests.chaos.serving import Serving, serving, wait_for_nothing
from tests.chaos.stage import staged
from tests.chaos.watching import once_after, until, until_status

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds Ray's processes in /proc"),
]

RAY = ("--placement", "ray")
EXIT_UNAVAILABLE = 69
ENDS_WITHIN_S = control_plane.PATIENCE_S + 30.0
NOTHING_LEFT_S = 10.0
RESTORED_WITHIN_S = 30.0


def num_local(status: Status) -> int:
    return sum(worker.kind == "local" for worker in status.workers)


def kill_a_worker(service: Serving) -> None:
    os.kill(service.pids("WorkerActor")[0], signal.SIGKILL)


def is_deaf(url: str) -> bool:
    """Whether nobody listens there, which must be told at once."""
    try:
        httpx.get(url, timeout=5.0)
    except httpx.ConnectError:
        return True
    return False


@pytest.fixture
def stored_service(tmp_path: Path) -> Iterator[tuple[Serving, RayServer]]:
    """A service whose Ray keeps on disk what its server knows."""
    storage = {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": str(tmp_path / "storage")}
    with serving(tmp_path, *RAY, "--workers", "2", environment=storage) as service:
        server = RayServer(service)
        yield service, server
        service.process.terminate()
        service.process.wait(timeout=60.0)
        server.stop()


async def test_without_its_server_what_runs_goes_on_and_with_it_everything(
    stored_service: tuple[Serving, RayServer], tmp_path: Path
) -> None:
    service, server = stored_service
    async with staged(tmp_path, service.jobs, service.stream) as stage:
        for number in range(4):
            await stage.reference.complete(number)
        kill_once = once_after(20, server.kill)
        await asyncio.gather(*(stage.reference.stream(number, kill_once) for number in range(4)))
        await until(lambda: service.said("control_plane_down"))
        kill_a_worker(service)
        await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
        assert num_local(await stage.operator.status()) == 1
        server.start_again()
        started_at = time.monotonic()
        await until_status(stage.operator, lambda status: num_local(status) == 2, RESTORED_WITHIN_S)
        print(f"a worker was replaced {time.monotonic() - started_at:.1f} s after the server came back")
        assert service.said("Ray's server is back")
        await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
        status = await stage.judge()
        assert status.jobs.failed == 0


async def test_without_any_of_ray_the_service_ends_by_itself_and_the_next_one_has_its_jobs(
    tmp_path: Path,
) -> None:
    jobs, stream = free_endpoints(2)
    places = (*RAY, "--jobs-endpoint", jobs, "--stream-endpoint", stream)
    with serving(tmp_path, *places) as service:
        async with staged(tmp_path, jobs, stream) as stage:
            await stage.reference.complete(1)
            expected = await stage.operator.complete("Tell me a story.", seed=1, max_tokens=100)
            os.kill(service.pid("gcs_server"), signal.SIGKILL)
            await stage.reference.stream(1)
            await stage.judge()
            accepted = await stage.operator.submit("Tell me a story.", seed=1, max_tokens=100)
            await stage.operator.result(accepted)
        router = Path(f"/proc/{service.pid('RouterActor')}")
        os.kill(service.pid("raylet"), signal.SIGKILL)
        await until(lambda: not router.exists(), 60.0)
        async with AsyncClient(jobs, stream, timeout=2.0) as client:
            asked_at = time.monotonic()
            with pytest.raises(Unavailable):
                await client.complete("hello")
            assert time.monotonic() - asked_at < 5.0
        assert is_deaf(f"{service.http}/health")
        assert service.ends(ENDS_WITHIN_S) == EXIT_UNAVAILABLE
        assert "control_plane_down" in service.log.read_text().splitlines()[-1]
        wait_for_nothing(service.process.pid, NOTHING_LEFT_S)
    with serving(tmp_path, *places):
        async with AsyncClient(jobs, stream, timeout=20.0) as client:
            assert (await client.result(accepted)).token_ids == expected.token_ids


async def test_with_ray_s_process_on_this_machine_the_service_ends(tmp_path: Path) -> None:
    with serving(tmp_path, *RAY) as service:
        os.kill(service.pid("raylet"), signal.SIGKILL)
        killed_at = time.monotonic()
        assert service.ends(ENDS_WITHIN_S) == EXIT_UNAVAILABLE
        print(f"it ended after {time.monotonic() - killed_at:.1f} s")
        assert "Ray's process on this machine has ended" in service.log.read_text()
        wait_for_nothing(service.process.pid, NOTHING_LEFT_S)


async def test_calls_that_ray_loses_and_delays_are_not_carried_out_twice(tmp_path: Path) -> None:
    losses = {"num_failures": 8, "req_failure_prob": 30, "resp_failure_prob": 30}
    calls = (
        "NodeManagerService.grpc_client.RequestWorkerLease",
        "ActorInfoGcsService.grpc_client.CreateActor",
    )
    faults = {
        "RAY_testing_rpc_failure": json.dumps(dict.fromkeys(calls, losses)),
        "RAY_testing_asio_delay_us": "CoreWorkerService.grpc_server.PushTask=1000:300000",
    }
    with serving(tmp_path, *RAY, "--workers", "2", environment=faults) as service:
        async with staged(tmp_path, service.jobs, service.stream) as stage:
            for number in range(4):
                await stage.reference.complete(number)
            streams = asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
            kill_a_worker(service)
            await streams
            await until_status(stage.operator, lambda status: num_local(status) == 2)
            await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
            await stage.judge()
