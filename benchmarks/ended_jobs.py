"""Memory and disk used by ended jobs, and the start time of the next router.

python -m benchmarks.ended_jobs --jobs 100000 --tokens 100

The router's core with a journal, without sockets; the next router is a process of its own.
"""

from __future__ import annotations

import argparse
import json
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from benchmarks.journal import PROMPT
from cactus_actors.api.params import resolve_options
from cactus_actors.config import RouterSettings
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import (
    CloudRequest,
    Dispatch,
    Finish,
    Hello,
    Report,
    SequenceDelta,
)
from cactus_actors.router.core import RouterCore
from cactus_actors.router.effects import Effect, PrepareRequest, SendWorker, WriteJournal
from cactus_actors.router.journal.job_journal import JobJournal
from cactus_actors.router.router_state import RouterOptions
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.service_facts import ServiceFacts

WORKER = b"worker"
NUM_SLOTS = 500
MIB = 1024 * 1024


class Router:
    """A core, its journal, and a worker that answers immediately."""

    def __init__(self, directory: Path, num_tokens: int) -> None:
        self._num_tokens = num_tokens
        self._num_dispatches = 0
        self._written: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()
        self._kept: queue.SimpleQueue[Sequence[str]] = queue.SimpleQueue()
        self._journal = JobJournal(directory)
        now = time.monotonic()
        self._core = RouterCore(
            RouterSettings(),
            ServiceFacts(epoch=1, started_at=now),
            RouterOptions(unix_offset=self._journal.unix_offset),
        )
        self._perform(self._core.recover(self._journal.recover(24 * 3600.0), now))
        self._journal.start(self._written.put, _fail, self._kept.put)
        hello = Hello("w", "local", "bench", NUM_SLOTS, 1 << 20, 16, 1 << 20, "here", 1)
        self._perform(self._core.on_worker(WORKER, hello, now))

    @property
    def num_ended(self) -> int:
        return self._core.status(time.monotonic()).held.ended_jobs

    def run(self, first: int, num_jobs: int) -> None:
        """Run this number of jobs to their ends, as many at a time as there are slots."""
        for start in range(first, first + num_jobs, NUM_SLOTS):
            numbers = range(start, min(start + NUM_SLOTS, first + num_jobs))
            for number in numbers:
                submit = Submit(
                    job_id=f"{number:032x}",
                    prompt=PROMPT,
                    options=Options(seed=number),
                    keyed=bool(number % 2),
                )
                self._perform(self._core.on_client(b"client", submit, "m", time.monotonic()))
            for _ in _all_of(self._written, len(numbers)):
                pass
            self._perform(self._core.on_journaled([f"{number:032x}" for number in numbers], time.monotonic()))
            for job_ids in _all_of(self._kept, len(numbers)):
                self._core.on_results_written(job_ids)

    def close(self) -> None:
        self._journal.close()

    def _perform(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            match effect:
                case PrepareRequest(job_id):
                    params, policy = resolve_options(Options(seed=int(job_id, 16) % (1 << 53)), context_left=1 << 20)
                    prepared = PreparedRequest(list(range(64)), params, policy, CloudRequest(prompt=""), "bench")
                    self._perform(self._core.on_prepared(job_id, prepared, time.monotonic()))
                case WriteJournal(entry):
                    self._journal.add(entry)
                case SendWorker(_, Dispatch() as dispatch):
                    self._answer(dispatch)

    def _answer(self, dispatch: Dispatch) -> None:
        tokens = list(range(1000, 1000 + self._num_tokens))
        self._num_dispatches += 1
        delta = SequenceDelta(
            dispatch.dispatch_id,
            0,
            tokens,
            " word" * self._num_tokens,
            [0.1] * self._num_tokens,
            [-0.1] * self._num_tokens,
            finish=Finish("length"),
            cuts=list(range(5, 5 * self._num_tokens, 5)),
        )
        report = Report(self._num_dispatches, NUM_SLOTS, 1 << 20, 0, [delta])
        self._perform(self._core.on_worker(WORKER, report, time.monotonic()))


def _fail(_: Sequence[str], reason: str) -> None:
    raise OSError(reason)


def _all_of(said: queue.SimpleQueue[Sequence[str]], num_jobs: int) -> list[Sequence[str]]:
    batches: list[Sequence[str]] = []
    while sum(map(len, batches)) < num_jobs:
        batches.append(said.get(timeout=60))
    return batches


def resident_mib() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / MIB


def fill(directory: Path, num_jobs: int, num_tokens: int) -> None:
    """Run the jobs, half of them with an idempotency key."""
    with closing(Router(directory, num_tokens)) as router:
        router.run(0, NUM_SLOTS)  # the router is warm from here on
        before = resident_mib()
        router.run(NUM_SLOTS, num_jobs)
        grown, num_ended = resident_mib() - before, router.num_ended
    on_disk = sum(path.stat().st_size for path in directory.iterdir())
    print(
        json.dumps({"ended_jobs": num_ended, "memory_mib": round(grown, 1), "journal_mib": round(on_disk / MIB, 1)}),
        flush=True,
    )


def follow(directory: Path) -> None:
    """Start as the next router, and report the time and the memory."""
    before, started = resident_mib(), time.perf_counter()
    with closing(Router(directory, 0)) as router:
        seconds, num_recovered = time.perf_counter() - started, router.num_ended
        grown = resident_mib() - before
    print(
        json.dumps(
            {
                "recovered_jobs": num_recovered,
                "seconds": round(seconds, 2),
                "memory_mib": round(grown, 1),
            }
        ),
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--jobs", type=int, default=100_000)
    parser.add_argument("--tokens", type=int, default=100)
    parser.add_argument("--follow", type=Path, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.follow is not None:
        follow(arguments.follow)
        return
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name), arguments.jobs, arguments.tokens)
        subprocess.run([sys.executable, "-m", "benchmarks.ended_jobs", "--follow", name], check=True)


if __name__ == "__main__":
    main()
