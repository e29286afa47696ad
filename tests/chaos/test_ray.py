"""Failures of Ray: running jobs continue, nothing runs twice, and the service shuts down cleanly if it must."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.placement.ray import control_plane
from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import Status
from tests.chaos.soak.stage import staged
from tests.support.processes.ray_server import RayHead, ray_head
from tests.support.processes.separate_actors import free_endpoints
from tests.support.processes.serve_command import Serving, ray_directories, serving, sessions_of, wait_for_nothing
from tests.support.processes.waiting import once_after, until, until_status

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="finds Ray's processes in /proc"),
]

RAY = ("--placement", "ray")
EXIT_UNAVAILABLE = 69
ENDS_WITHIN_S = control_plane.LOST_AFTER_S + 30.0
NOTHING_LEFT_S = 30.0
RESTORED_WITHIN_S = 120.0


def num_local(status: Status) -> int:
    return sum(worker.kind == "local" for worker in status.workers)


def kill_a_worker(of: Serving | RayHead) -> None:
    os.kill(of.pids("WorkerActor")[0], signal.SIGKILL)


def is_deaf(url: str) -> bool:
    """True if nothing listens at the endpoint, which the system must report at once."""
    try:
        httpx.get(url, timeout=30.0)
    except httpx.ConnectError:
        return True
    return False


async def test_running_jobs_survive_the_loss_of_the_ray_head_and_new_work_resumes(tmp_path: Path) -> None:
    storage = {"RAY_gcs_storage": "rocksdb", "RAY_gcs_storage_path": str(tmp_path / "storage")}
    with (
        ray_head(storage) as head,
        serving(tmp_path, "--ray-address", head.address, "--workers", "2", environment=head.environment) as service,
    ):
        async with staged(tmp_path, service.jobs, service.stream) as stage:
            for number in range(4):
                await stage.reference.complete(number)
            kill_once = once_after(20, head.kill_server)
            await asyncio.gather(*(stage.reference.stream(number, kill_once) for number in range(4)))
            await until(lambda: service.said("control_plane_down"))
            kill_a_worker(head)
            await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
            assert num_local(await stage.operator.status()) == 1
            head.start_server_again()
            started_at = time.monotonic()
            await until_status(stage.operator, lambda status: num_local(status) == 2, RESTORED_WITHIN_S)
            print(f"a worker was replaced {time.monotonic() - started_at:.1f} s after the server came back")
            assert service.said("Ray's server is back")
            await asyncio.gather(*(stage.reference.stream(number) for number in range(4)))
            status = await stage.judge()
            assert status.jobs.failed == 0


async def test_the_service_ends_after_the_loss_of_ray_and_the_next_one_has_its_jobs(
    tmp_path: Path,
) -> None:
    jobs, stream = free_endpoints(2)
    places = ("--jobs-endpoint", jobs, "--stream-endpoint", stream)
    with ray_head() as head:
        joined = (*places, "--ray-address", head.address)
        with serving(tmp_path, *joined, environment=head.environment) as service:
            async with staged(tmp_path, jobs, stream) as stage:
                await stage.reference.complete(1)
                expected = await stage.operator.complete("Tell me a story.", seed=1, max_tokens=100)
                head.kill_server()
                await stage.reference.stream(1)
                await stage.judge()
                accepted = await stage.operator.submit("Tell me a story.", seed=1, max_tokens=100)
                await stage.operator.result(accepted)
            router = Path(f"/proc/{head.pid('RouterActor')}")
            os.kill(head.pid("raylet"), signal.SIGKILL)
            await until(lambda: not router.exists(), 60.0)
            async with AsyncClient(jobs, stream, timeout=2.0) as client:
                requested_at = time.monotonic()
                with pytest.raises(Unavailable):
                    await client.complete("hello")
                assert time.monotonic() - requested_at < 30.0
            assert is_deaf(f"{service.http}/health")
            assert service.ends(ENDS_WITHIN_S) == EXIT_UNAVAILABLE
            assert "control_plane_down" in service.log.read_text().splitlines()[-1]
            wait_for_nothing({service.process.pid}, NOTHING_LEFT_S)
    with serving(tmp_path, *places):
        async with AsyncClient(jobs, stream, timeout=60.0) as client:
            assert (await client.result(accepted)).token_ids == expected.token_ids


async def test_the_service_ends_with_the_raylet_on_its_machine(tmp_path: Path) -> None:
    with (
        ray_head() as head,
        serving(tmp_path, "--ray-address", head.address, environment=head.environment) as service,
    ):
        os.kill(head.pid("raylet"), signal.SIGKILL)
        killed_at = time.monotonic()
        assert service.ends(ENDS_WITHIN_S) == EXIT_UNAVAILABLE
        ended_s = time.monotonic() - killed_at
        print(f"it ended after {ended_s:.1f} s")
        assert ended_s < control_plane.LOST_AFTER_S / 2
        assert "Ray's process on this machine exited" in service.log.read_text()
        wait_for_nothing({service.process.pid}, NOTHING_LEFT_S)


async def test_the_service_ends_at_once_with_its_own_head_node(tmp_path: Path) -> None:
    with (
        ray_head() as head,
        serving(tmp_path, "--ray-address", head.address, environment=head.environment) as service,
    ):
        for program in ("gcs_server", "raylet"):
            os.kill(head.pid(program), signal.SIGKILL)
        killed_at = time.monotonic()
        assert service.ends(ENDS_WITHIN_S) == EXIT_UNAVAILABLE
        ended_s = time.monotonic() - killed_at
        print(f"it ended after {ended_s:.1f} s")
        assert ended_s < control_plane.LOST_AFTER_S / 2
        assert "Ray's process on this machine exited" in service.log.read_text()
        wait_for_nothing({service.process.pid}, NOTHING_LEFT_S)


@pytest.mark.parametrize("victim", ["gcs_server", "raylet"])
async def test_a_killed_private_ray_cluster_is_restarted_and_the_service_continues(tmp_path: Path, victim: str) -> None:
    with serving(tmp_path, *RAY, "--workers", "2") as service:
        async with staged(tmp_path, service.jobs, service.stream) as stage:
            for number in range(4):
                await stage.reference.complete(number)
            killed = service.pid(victim)
            kill_once = once_after(20, lambda: os.kill(killed, signal.SIGKILL))
            started_at = time.monotonic()
            await asyncio.gather(*(stage.reference.stream(number, kill_once) for number in range(4)))
            # The streams may end, and the old workers still be listed, before the loss is noticed.
            await until(lambda: any(pid != killed for pid in service.pids(victim)), RESTORED_WITHIN_S)
            await until_status(stage.operator, lambda status: num_local(status) == 2, RESTORED_WITHIN_S)
            print(f"the streams had ended and all was there again {time.monotonic() - started_at:.1f} s later")
            assert service.pid(victim) != killed
            assert len(ray_directories(service)) == 1  # the one of the Ray instance that runs
            status = await stage.judge()
            assert status.jobs.failed == 0
        assert "state-dump" not in service.log.read_text()
        if victim == "raylet":  # its last output is reported by another process
            assert "state-dump" in (tmp_path / "state" / "ray.log").read_text()
        directories, sessions = ray_directories(service), sessions_of(service.process.pid)
        service.process.kill()
        service.process.wait()
        wait_for_nothing(sessions, NOTHING_LEFT_S)
        assert [path for path in directories if path.exists()] == []


async def test_a_private_ray_cluster_that_ends_during_its_start_is_started_again(tmp_path: Path) -> None:
    with (
        tempfile.TemporaryDirectory(prefix="cactus-") as directory,
        killing_the_first(f"/ray/raylet/raylet\0--raylet_socket_name={directory}") as killed,
        serving(tmp_path, *RAY, environment={"RAY_TMPDIR": directory}) as service,
    ):
        assert killed
        assert service.said("Ray did not start (raylet exited); it is started again")
        assert len(entries(directory)) == len(ray_directories(service)) == 1
        async with AsyncClient(service.jobs, service.stream, timeout=60.0) as client:
            await client.complete("hello", max_tokens=4)
        service.process.terminate()
        assert service.ends(60.0) == 0
        assert entries(directory) == []


def entries(directory: str) -> list[Path]:
    return list(Path(directory).iterdir())


@contextmanager
def killing_the_first(words: str) -> Iterator[list[int]]:
    """Kill the first process that appears with these words in its command line; yields its process id then."""
    killed: list[int] = []
    has_ended = threading.Event()

    def look() -> None:
        while not killed and not has_ended.wait(0.01):
            for process in Path("/proc").glob("[0-9]*"):
                with contextlib.suppress(OSError):
                    if words in (process / "cmdline").read_text() and not killed:
                        os.kill(int(process.name), signal.SIGKILL)
                        killed.append(int(process.name))

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield killed
    finally:
        has_ended.set()
        thread.join()


async def test_lost_or_delayed_ray_calls_are_not_executed_twice(tmp_path: Path) -> None:
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
