"""Cost of the journal: acceptances per second and the latency of one, with and without it.

python -m benchmarks.journal --jobs 2000

The router runs as in the service, with its sockets, beside a client that only submits. Without a worker
nothing is generated. `--dir` names the disk.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode
from cactus_actors.router.actor import RouterActor

ANYWHERE = "tcp://127.0.0.1:*"
PROMPT = "Tell me a story about a fox and a crow who share one piece of cheese. " * 4


@contextmanager
def router(journal_dir: Path | None) -> Iterator[zmq.Socket[bytes]]:
    """A client's socket, connected to a router."""
    actor = RouterActor(
        RouterSettings(
            jobs_endpoint=ANYWHERE,
            stream_endpoint=ANYWHERE,
            journal_dir=None if journal_dir is None else str(journal_dir),
            max_queued_jobs=1_000_000,
        )
    )
    endpoints = actor.start()
    thread = threading.Thread(target=actor.run)
    thread.start()
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    socket = context.socket(zmq.DEALER)
    socket.linger = 0
    socket.connect(endpoints.jobs)
    try:
        yield socket
    finally:
        actor.stop()
        socket.close()
        context.term()
        thread.join()


def submission(number: int) -> list[bytes]:
    job = Submit(job_id=f"{number:032x}", prompt=PROMPT, options=Options(seed=number))
    return encode(job)


def waits(socket: zmq.Socket[bytes], num_jobs: int, first: int) -> list[float]:
    """Milliseconds from each submission to its acceptance, one at a time."""
    durations = []
    for number in range(first, first + num_jobs):
        started = time.perf_counter()
        socket.send_multipart(submission(number))
        socket.recv_multipart()
        durations.append(1000 * (time.perf_counter() - started))
    return durations


def rate(socket: zmq.Socket[bytes], num_jobs: int, first: int, in_flight: int) -> float:
    """Acceptances per second with this number of submissions in flight."""
    started = time.perf_counter()
    for number in range(first, first + num_jobs + in_flight):
        if number < first + num_jobs:
            socket.send_multipart(submission(number))
        if number >= first + in_flight:
            socket.recv_multipart()
    return num_jobs / (time.perf_counter() - started)


def measure(journal_dir: Path | None, num_jobs: int, in_flight: int) -> dict[str, Any]:
    with router(journal_dir) as socket:
        waits(socket, 20, 0)  # the router is warm from here on
        alone = waits(socket, min(num_jobs, 300), 1000)
        together = rate(socket, num_jobs, 10_000, in_flight)
    return {
        "journal": journal_dir is not None,
        "wait_ms_p50": round(statistics.median(alone), 3),
        "wait_ms_p99": round(sorted(alone)[int(len(alone) * 0.99)], 3),
        "accepted_per_second": round(together),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=2000)
    parser.add_argument("--in-flight", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--dir", type=Path, help="a directory on the disk to measure; default: a temporary one")
    arguments = parser.parse_args()
    for _ in range(arguments.rounds):
        directory = Path(tempfile.mkdtemp(dir=arguments.dir))
        try:
            for journal_dir in (None, directory):
                print(json.dumps(measure(journal_dir, arguments.jobs, arguments.in_flight)), flush=True)
        finally:
            shutil.rmtree(directory)


if __name__ == "__main__":
    main()
