"""The router actor over real sockets: fake workers on one side, subscribers on the other."""

from __future__ import annotations

import multiprocessing
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import msgspec

from benchmarks.quiet import Others
from benchmarks.router_loop.core import Load
from benchmarks.router_loop.fleet import run_fleet
from benchmarks.router_loop.readers import Counts, run_readers
from cactus_actors.config import RouterSettings
from cactus_actors.process.health import Endpoints

TICKS_A_SECOND = os.sysconf("SC_CLK_TCK")
ENDPOINT = "tcp://127.0.0.1:*"
WARM_UP_S = 2.0
FASTEST_STEP_S = 0.00026
"""The router treats more than 4,000 reports per second of a worker as a flood."""
MOST_A_SECOND = 400_000.0
"""Tokens per second of all workers: more than the router can process."""


class Cpu(msgspec.Struct, frozen=True, kw_only=True):
    """Microseconds of CPU time per token: of the router, of its edge process, of the edge's ZeroMQ thread alone, and of
    the two processes that make the load.
    """

    router_us: float
    edge_us: float
    edge_io_us: float
    workers_us: float
    readers_us: float


class SocketFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The throughput of `seconds`; delays are from a worker's send to a subscriber's read.

    `others` is the share of all cores that other processes took; `cores` are shared by router, edge
    process, workers and readers.
    """

    tokens_per_second: float
    tokens_per_message: float
    wished_per_second: float | None
    delay_ms: dict[str, float]
    cpu: Cpu
    jobs_ended: int
    seconds: float
    cores: int
    others: float


class Processes:
    """A router, a fleet and readers, each in its own process; `step_s` controls the rate of the fleet."""

    def __init__(self, load: Load) -> None:
        num_running = load.workers * load.sequences
        settings = RouterSettings(
            jobs_endpoint=ENDPOINT,
            stream_endpoint=ENDPOINT,
            workers_endpoint=ENDPOINT,
            max_queued_jobs=load.waiting + 2 * num_running + 64,
            retention_s=5.0,
        )
        command = [sys.executable, "-m", "benchmarks.router_loop.router_process"]
        self.router = subprocess.Popen(
            [*command, msgspec.json.encode(settings).decode()], stdout=subprocess.PIPE, text=True
        )
        assert self.router.stdout is not None
        self.endpoints = msgspec.json.decode(self.router.stdout.readline(), type=Endpoints)
        context = multiprocessing.get_context("spawn")
        self._step_s = context.Value("d", 1.0)
        self.control, theirs = context.Pipe()
        self.fleet = context.Process(
            target=_run_fleet,
            args=(self.endpoints.workers, load.workers, load.sequences, self._step_s),
            daemon=True,
        )
        num_jobs = num_running + load.waiting
        self.readers = context.Process(
            target=run_readers,
            args=(self.endpoints.jobs, self.endpoints.stream, num_jobs, load.job_tokens, theirs),
            daemon=True,
        )
        self._load = load
        self.fleet.start()
        self.readers.start()

    def set_rate(self, tokens_per_second: float | None) -> None:
        """Set the token rate of all workers together; None is the highest that the router takes."""
        num_running = self._load.workers * self._load.sequences
        step_s = num_running / (tokens_per_second or MOST_A_SECOND)
        self._step_s.value = max(FASTEST_STEP_S, step_s)

    def counts(self) -> Counts:
        """The counts since the last call."""
        self.control.send(None)
        return msgspec.msgpack.decode(self.control.recv_bytes(), type=Counts)

    def cpu_seconds(self) -> dict[str, float]:
        """CPU time of each process so far."""
        assert self.router.pid is not None
        edge = _child(self.router.pid, b"cactus_actors.router.edge.edge_child")
        return {
            "router_us": _cpu_s(Path(f"/proc/{self.router.pid}")),
            "edge_us": _cpu_s(Path(f"/proc/{edge}")),
            "edge_io_us": sum(map(_cpu_s, _io_threads(edge))),
            "workers_us": _cpu_s(Path(f"/proc/{self.fleet.pid}")),
            "readers_us": _cpu_s(Path(f"/proc/{self.readers.pid}")),
        }

    def end(self) -> None:
        for process in (self.fleet, self.readers):
            process.kill()
            process.join()
        self.router.kill()
        self.router.wait()
        if self.router.stdout is not None:
            self.router.stdout.close()


@contextmanager
def running(load: Load) -> Iterator[Processes]:
    """The processes, with every slot taken and the wanted number of jobs waiting."""
    processes = Processes(load)
    try:
        assert processes.control.recv() is True
        yield processes
    finally:
        processes.end()


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """The figures at the highest possible rate, and at half of it or at the wanted rate."""

    peak: SocketFigures
    half: SocketFigures


def measure_sockets(load: Load, rate: float | None, seconds: float) -> Measured:
    """Measure both loads; `rate` in tokens per second replaces half of the highest possible rate."""
    with running(load) as processes:
        peak = _measure(processes, None, seconds)
        half = _measure(processes, rate or peak.tokens_per_second / 2, seconds)
        return Measured(peak=peak, half=half)


def _measure(processes: Processes, rate: float | None, seconds: float) -> SocketFigures:
    processes.set_rate(rate)
    time.sleep(WARM_UP_S)
    processes.counts()
    before, started, others = processes.cpu_seconds(), time.monotonic(), Others(None)
    time.sleep(seconds)
    counts = processes.counts()
    elapsed, after = time.monotonic() - started, processes.cpu_seconds()
    num_tokens = max(1, counts.tokens)
    each = {name: round(1e6 * (after[name] - before[name]) / num_tokens, 2) for name in after}
    return SocketFigures(
        tokens_per_second=round(counts.tokens / elapsed),
        tokens_per_message=round(num_tokens / max(1, counts.messages), 2),
        wished_per_second=rate,
        delay_ms=_percentiles(counts.delays),
        cpu=Cpu(**each),
        jobs_ended=counts.jobs,
        seconds=round(elapsed, 2),
        cores=os.cpu_count() or 1,
        others=round(others.share(), 3),
    )


def _run_fleet(endpoint: str, num_workers: int, slots: int, step_s: Connection) -> None:
    run_fleet(endpoint, num_workers, slots, lambda: step_s.value)  # type: ignore[attr-defined]


def _percentiles(delays: list[float]) -> dict[str, float]:
    ordered = sorted(delays)
    shares = {"p50": 0.5, "p90": 0.9, "p99": 0.99, "max": 1.0}
    last = len(ordered) - 1
    return {
        name: round(1000 * ordered[min(last, int(share * len(ordered)))], 3) if ordered else 0.0
        for name, share in shares.items()
    }


def _cpu_s(directory: Path) -> float:
    fields = (directory / "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_A_SECOND


def _io_threads(pid: int) -> list[Path]:
    """The /proc directories of ZeroMQ's IO threads."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [task for task in tasks if (task / "comm").read_text().startswith("ZMQbg/IO")]


def _child(parent: int, title: bytes) -> int:
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            fields = (directory / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and title in (directory / "cmdline").read_bytes():
                return int(directory.name)
        except OSError:
            continue
    raise AssertionError(f"{parent} has no child {title.decode()}")
