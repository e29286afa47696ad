"""One run: a service of its own, clients, faults, quiet at the end, and the last look."""

from __future__ import annotations

import asyncio
import contextlib
import random
import re
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Status
from tests.chaos.soak.clients import Worker, request
from tests.chaos.soak.history import History
from tests.chaos.soak.nemesis import Nemesis
from tests.chaos.soak.witness import Witness

ANYWHERE = "tcp://127.0.0.1:*"
QUIET_S = 90.0
RECONNECT_S = 60.0


@contextmanager
def service(directory: Path, *options: str) -> Iterator[tuple[subprocess.Popen[str], str, str]]:
    """The process of `cactus serve`, and where its clients connect."""
    command = [
        sys.executable,
        "-m",
        "cactus_actors.cli.main",
        "serve",
        "--state-dir",
        str(directory / "state"),
    ]
    with (directory / "service.log").open("w") as log:
        process = subprocess.Popen(
            [
                *command,
                "--workers",
                "2",
                "--jobs-endpoint",
                ANYWHERE,
                "--stream-endpoint",
                ANYWHERE,
                *options,
            ],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    assert process.stdout is not None
    try:
        ready = next(line for line in process.stdout if line.startswith("ready"))
        jobs, stream = re.findall(r"(?:jobs|stream)=(\S+)", ready)
        yield process, jobs, stream
    finally:
        process.terminate()
        process.wait(timeout=60.0)
        process.stdout.close()


async def soak(
    directory: Path,
    *,
    seconds: float,
    seed: int,
    num_clients: int = 8,
    fault_every_s: float = 5.0,
    faults: Collection[str] = (),
    options: tuple[str, ...] = (),
) -> Path:
    """Run for so long; the path of the history, in `directory`."""
    path = directory / "history.jsonl"
    history = History(path)
    chance = random.Random(seed)
    try:
        with service(directory, *options) as (process, jobs, stream):
            async with AsyncClient(jobs, stream, reconnect_timeout=RECONNECT_S) as operator:
                clients = [
                    AsyncClient(jobs, stream, reconnect_timeout=RECONNECT_S) for _ in range(num_clients)
                ]
                async with contextlib.AsyncExitStack() as stack:
                    workers = [
                        Worker(
                            Witness(
                                f"client-{n}",
                                await stack.enter_async_context(client),
                                operator,
                                history,
                                _fork(chance),
                                request,
                            ),
                            _fork(chance),
                        )
                        for n, client in enumerate(clients)
                    ]
                    nemesis = Nemesis(process.pid, operator, history, _fork(chance))
                    breaking = asyncio.create_task(nemesis.run(fault_every_s, faults))
                    working = [asyncio.create_task(worker.run()) for worker in workers]
                    await asyncio.sleep(seconds)
                    breaking.cancel()
                    await asyncio.wait([breaking])
                    for worker in workers:
                        worker.is_finishing = True
                    await asyncio.wait(working, timeout=QUIET_S)
                    for task in working:
                        if task.done():
                            task.result()  # a client that broke is a failure of the run
                        task.cancel()
                status = await _settled(operator)
                history.note("status", **msgspec.to_builtins(status))
    finally:
        history.close()
    return path


async def _settled(operator: AsyncClient) -> Status:
    """The status once every wished worker is there and nothing runs, or as it is after a while."""
    for _ in range(int(QUIET_S)):
        with contextlib.suppress(CactusError):
            status = await operator.status()
            local = [worker for worker in status.workers if worker.kind == "local"]
            is_busy = status.jobs.queued or status.jobs.running or any(w.num_running for w in local)
            if len(local) == status.desired_workers and not is_busy:
                await asyncio.sleep(2.0)  # a worker's last report tells what it has let go of
                return await operator.status()
        await asyncio.sleep(1.0)
    return await operator.status()


def _fork(chance: random.Random) -> random.Random:
    return random.Random(chance.getrandbits(64))
