"""Half a minute after any process is killed no process, port, socket or shared memory of it is left."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient, Client
from tests.support.processes.open_sockets import socket_files_of, sockets_of
from tests.support.processes.serve_command import Serving, below, in_sessions, serving, sessions_of, wait_for_nothing
from tests.support.processes.waiting import until, until_status

pytestmark = [
    pytest.mark.chaos,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at /proc"),
]

NOTHING_LEFT_S = 30.0
"""A second or two was measured; the rest is allowance for a busy machine."""
LISTENS = "0A"  # the state of a socket in /proc/net/tcp: proc_pid_net(5)


def ports_of(pids: set[int]) -> set[tuple[int, str]]:
    """The ports among `listening` that these processes own."""
    inodes = sockets_of(pids)
    return {(port, inode) for port, inode in listening() if inode in inodes}


def listening() -> set[tuple[int, str]]:
    """Every TCP port of this machine with a listener, and the inode of its socket."""
    rows = [
        line.split() for table in ("tcp", "tcp6") for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    return {(int(row[1].rpartition(":")[2], 16), row[9]) for row in rows if row[3] == LISTENS}


def shared_memory_of(pids: set[int]) -> set[Path]:
    """The files in shared memory that these processes have open or mapped; those of other programs are left out."""
    found = set()
    for pid in pids:
        with suppress(OSError):
            rows = [line.split(maxsplit=5) for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
            found |= {row[5] for row in rows if len(row) > 5}
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                found.add(str(link.readlink()))
    return {Path(name) for name in found if name.startswith("/dev/shm/")}


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.fixture(scope="module", params=["local", "ray"])
def service(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    directory = tmp_path_factory.mktemp("orphans")
    with serving(directory, "--placement", request.param, "--workers", "2") as service:
        yield service


@pytest.mark.parametrize(
    "victim",
    [
        "WorkerActor",
        "HandoffActor",
        "GatewayActor",
        "RouterActor",
        "cactus_actors.router.preparation.preparer_child",
        "cactus_actors.router.edge.edge_child",
    ],
)
async def test_a_killed_process_leaves_nothing_and_is_restarted(service: Serving, victim: str) -> None:
    async with AsyncClient(service.jobs, service.stream, timeout=60.0) as client:
        await client.complete("hello", max_tokens=4)
        parts = Counter(parts_of(service).values())
        num_ports = len(ports_of(set(parts_of(service))))
        files = socket_files_of(set(parts_of(service)))
        killed = next(pid for pid, part in parts_of(service).items() if part == victim)
        dead = {killed, *below(killed)}
        memory = shared_memory_of(dead)
        os.kill(killed, signal.SIGKILL)
        killed_at = time.monotonic()
        while left := [pid for pid in dead if is_alive(pid)]:
            assert time.monotonic() < killed_at + NOTHING_LEFT_S, left
            await asyncio.sleep(0.05)
        print(f"{victim}: {time.monotonic() - killed_at:.1f} s")
        await client.complete("hello", max_tokens=4)
        await until_status(client, lambda status: len(status.workers) == 3)
        while Counter(parts_of(service).values()) != parts or len(ports_of(set(parts_of(service)))) != num_ports:
            assert time.monotonic() < killed_at + 60.0, (parts_of(service), num_ports)
            await asyncio.sleep(0.1)
        assert socket_files_of(set(parts_of(service))) <= files
        shared = shared_memory_of(set(in_sessions(*sessions_of(service.process.pid))))
        await until(lambda: {path for path in memory if path.exists()} <= shared, NOTHING_LEFT_S)


def parts_of(service: Serving) -> dict[int, str]:
    """The service's own processes by kind."""
    names = ("WorkerActor", "HandoffActor", "GatewayActor", "RouterActor")
    names += ("cactus_actors.router.preparation.preparer_child", "cactus_actors.router.edge.edge_child")
    processes = below(service.process.pid)
    return {pid: name for pid, command in processes.items() for name in names if name in command}


def test_the_jobs_of_a_killed_prompt_file_run_end(service: Serving, tmp_path: Path) -> None:
    source = tmp_path / "prompts.jsonl"
    line = {"prompt": "Tell me a story.", "max_tokens": 400, "ignore_eos": True}
    source.write_text("".join(json.dumps(line) + "\n" for _ in range(40)))
    command = [sys.executable, "-m", "cactus_actors.cli.main", "batch", str(source), "-o", f"{source}.out"]
    command += ["--endpoint", service.jobs, "--stream-endpoint", service.stream]
    running = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)
    with Client(service.jobs, service.stream, timeout=60.0) as client:
        while not client.status().jobs.running:
            assert running.poll() is None
            time.sleep(0.05)
        running.kill()
        running.wait()
        assert in_sessions(running.pid) == {}
        killed_at = time.monotonic()
        while (jobs := client.status().jobs).running or jobs.queued:  # they were accepted, so they end
            assert time.monotonic() < killed_at + 60.0, jobs
            time.sleep(0.1)
        assert all(worker.num_running == 0 for worker in client.status().workers)


@pytest.mark.parametrize("placement", ["local", "ray"])
def test_a_service_that_is_stopped_leaves_nothing(tmp_path: Path, placement: str) -> None:
    with serving(tmp_path, "--placement", placement) as service:
        check_nothing_is_left_by(service, signal.SIGTERM)


def test_a_service_that_is_killed_leaves_nothing(service: Serving) -> None:
    """This is the last test: the service of this file ends with it."""
    check_nothing_is_left_by(service, signal.SIGKILL)


def check_nothing_is_left_by(service: Serving, ending: signal.Signals) -> None:
    sessions = sessions_of(service.process.pid)
    pids = set(in_sessions(*sessions))
    assert len(pids) >= 5  # the service, a router, a gateway, a handoff actor and a worker
    ports, files, memory = ports_of(pids), socket_files_of(pids), shared_memory_of(pids)
    assert len(ports) >= 3  # jobs, stream and HTTP
    assert files
    service.process.send_signal(ending)
    service.process.wait(timeout=30.0)
    print(f"the last process ended {wait_for_nothing(sessions, NOTHING_LEFT_S):.1f} s later")
    deadline = time.monotonic() + NOTHING_LEFT_S
    # A process counts as ended with its first thread; the last one closes its ports.
    while left := {path for path in files | memory if path.exists()} | (ports & listening()):
        assert time.monotonic() < deadline, left
        time.sleep(0.1)
