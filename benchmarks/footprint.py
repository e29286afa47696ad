"""Resources of an idle service, its start time, and the recovery time after `kill -9` of each process.

python -m benchmarks.footprint --json footprint.json
python -m benchmarks.footprint --placement ray

One worker with the embedded model and the HTTP gateway, on an idle machine: ready with nothing compiled or
packed, and then with all of that; resident memory of all its processes; the processor's time that they take
at rest; for each kind of process the time from its `kill -9` until the service does what it is for again; and
the time from `kill -9` of the service until nothing of it is left.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import msgspec
from rich.console import Console
from rich.table import Table

from benchmarks.process_tree import KINDS, Memory, cpu_seconds, kind_of, memory_of, processes_of_kind, tree
from benchmarks.server_process import CactusService, cactus_serve, end_servers_on_signal
from cactus_actors.client import Client
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Status

CHECKOUT = Path(__file__).parents[1]
MIB = 1 << 20
SETTLE_S = 5.0
BACK_WITHIN_S = 120.0
POLL_S = 0.01
STARTS_WITH_A_REQUEST = "cactus_actors.router.preparation.preparer_child"
PROMPT = "Tell me a story."


class Process(msgspec.Struct, frozen=True, kw_only=True):
    """One process at rest."""

    kind: str
    memory: Memory
    cpu_percent: float


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """All results of one run: seconds, bytes, percent of one core."""

    placement: str
    ready_cold_s: float
    ready_warm_s: list[float]
    processes: list[Process]
    resident_bytes: int
    proportional_bytes: int
    idle_cpu_percent: float
    back_s: dict[str, float]
    nothing_left_s: float


def at_rest(service: CactusService, seconds: float) -> list[Process]:
    """Measure every process of a service that answered once and was then idle."""
    with Client(service.jobs, service.stream) as client:
        client.complete(PROMPT, max_tokens=16)
    time.sleep(SETTLE_S)
    before = {pid: cpu_seconds(pid) for pid in tree(service.pid)}
    time.sleep(seconds)
    return [
        Process(
            kind=kind_of(command),
            memory=memory_of(pid),
            cpu_percent=100 * (cpu_seconds(pid) - before.get(pid, 0.0)) / seconds,
        )
        for pid, command in tree(service.pid).items()
    ]


def seconds_until_back(service: CactusService, kind: str) -> float:
    """Kill the first process of a kind; return the time until another one exists and the service answers."""
    victim = processes_of_kind(kind, service.pid)[0]
    with Client(service.jobs, service.stream) as client:
        whole: set[str] = {worker.kind for worker in client.status().workers}
    killed_at = time.perf_counter()
    os.kill(victim, signal.SIGKILL)
    if kind != STARTS_WITH_A_REQUEST:
        wait_until(lambda: any(pid != victim for pid in processes_of_kind(kind, service.pid)))
    with Client(service.jobs, service.stream, timeout=BACK_WITHIN_S) as client:
        wait_until(lambda: is_whole(client, victim, whole) and is_ready(service))
        client.complete(PROMPT, max_tokens=1)
    return time.perf_counter() - killed_at


def is_whole(client: Client, victim: int, kinds: set[str]) -> bool:
    """True if workers of these kinds exist and are ready, and none is the killed one."""
    with contextlib.suppress(CactusError):
        status: Status = client.status()
        there = {worker.kind for worker in status.workers if worker.state == "ready" and worker.pid != victim}
        return there == kinds
    return False


def is_ready(service: CactusService) -> bool:
    """True if the gateway accepts requests."""
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{service.http}/readyz", timeout=1.0).status_code == httpx.codes.OK
    return False


def wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + BACK_WITHIN_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"it did not come true within {BACK_WITHIN_S:g} s")
        time.sleep(POLL_S)


def seconds_until_nothing_is_left(service: CactusService) -> float:
    """Kill the service itself; return the time until none of its processes is left."""
    pids = set(tree(service.pid)) - {service.pid}
    killed_at = time.perf_counter()
    os.kill(service.pid, signal.SIGKILL)
    wait_until(lambda: not any(map(is_alive, pids)))
    return time.perf_counter() - killed_at


def is_alive(pid: int) -> bool:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    return False


def measure(placement: str, rounds: int, seconds: float) -> Record:
    options = ["--placement", placement, "--http", "127.0.0.1:0"]
    with tempfile.TemporaryDirectory() as folder:
        caches = {"NUMBA_CACHE_DIR": f"{folder}/compiled", "CACTUS_CACHE_DIR": f"{folder}/packed"}
        with cactus_serve(options, CHECKOUT, caches) as service:
            cold_s = service.ready_s
        warm_s = []
        for _ in range(rounds):
            with cactus_serve(options, CHECKOUT, caches) as service:
                warm_s.append(service.ready_s)
        with cactus_serve(options, CHECKOUT, caches) as service:
            processes = at_rest(service, seconds)
            kinds = [kind for kind in KINDS if processes_of_kind(kind, service.pid)]
            back_s = {
                kind: statistics.median(seconds_until_back(service, kind) for _ in range(rounds)) for kind in kinds
            }
            nothing_left_s = seconds_until_nothing_is_left(service)
    return Record(
        placement=placement,
        ready_cold_s=cold_s,
        ready_warm_s=warm_s,
        processes=processes,
        resident_bytes=sum(process.memory.resident for process in processes),
        proportional_bytes=sum(process.memory.proportional for process in processes),
        idle_cpu_percent=sum(process.cpu_percent for process in processes),
        back_s=back_s,
        nothing_left_s=nothing_left_s,
    )


def print_record(record: Record) -> None:
    """Print the result as text."""
    console = Console()
    warm = statistics.median(record.ready_warm_s)
    console.print(f"placement {record.placement}: ready after {record.ready_cold_s:.1f} s with nothing compiled")
    console.print(f"ready after {warm:.1f} s warm (median of {len(record.ready_warm_s)})")
    table = Table("process", "resident MiB", "proportional MiB", "CPU % of a core", "back after s")
    for process in record.processes:
        back = record.back_s.get(process.kind)
        table.add_row(
            process.kind,
            f"{process.memory.resident / MIB:.0f}",
            f"{process.memory.proportional / MIB:.0f}",
            f"{process.cpu_percent:.2f}",
            "" if back is None else f"{back:.2f}",
        )
    resident, proportional = record.resident_bytes / MIB, record.proportional_bytes / MIB
    table.add_row("in all", f"{resident:.0f}", f"{proportional:.0f}", f"{record.idle_cpu_percent:.2f}", "")
    console.print(table)
    console.print(f"nothing was left {record.nothing_left_s:.2f} s after kill -9 of the service")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--placement", choices=("local", "ray"), default="local")
    parser.add_argument("--rounds", type=int, default=3, help="number of warm starts, and of kills per kind of process")
    parser.add_argument("--seconds", type=float, default=20.0, help="seconds to measure the idle service")
    parser.add_argument("--json", type=Path, help="write the results to this file")
    arguments = parser.parse_args()
    end_servers_on_signal()
    record = measure(arguments.placement, arguments.rounds, arguments.seconds)
    print_record(record)
    if arguments.json:
        arguments.json.write_bytes(msgspec.json.format(msgspec.json.encode(record)))


if __name__ == "__main__":
    main()
