"""One run: a service of its own, clients, faults, quiet at the end, and the last look."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import Collection
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Status
from tests.chaos.serving import serving
from tests.chaos.soak.clients import Worker, request
from tests.chaos.soak.history import History
from tests.chaos.soak.http_readers import HttpReader
from tests.chaos.soak.memory import watch_memory
from tests.chaos.soak.nemesis import Nemesis
from tests.chaos.soak.prompt_files import PromptFiles
from tests.chaos.soak.witness import Witness

NUM_HTTP_READERS = 2
QUIET_S = 90.0
RECONNECT_S = 60.0


class Endless(Protocol):
    """Work without end, until it is told to finish."""

    is_finishing: bool

    async def run(self) -> None: ...


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
        with serving(directory, "--workers", "2", *options) as service:
            assert service.http is not None
            async with AsyncExitStack() as stack:
                operator, *clients = [
                    await stack.enter_async_context(
                        AsyncClient(service.jobs, service.stream, reconnect_timeout=RECONNECT_S)
                    )
                    for _ in range(1 + num_clients)
                ]
                batch = PromptFiles(directory, service.jobs, service.stream, history)
                workers: list[Endless] = [batch]
                for number, client in enumerate(clients):
                    name = f"client-{number}"
                    witness = Witness(name, client, operator, history, _fork(chance), request)
                    workers.append(Worker(witness, _fork(chance)))
                workers += [
                    HttpReader(f"http-{number}", service.http, history, _fork(chance))
                    for number in range(NUM_HTTP_READERS)
                ]
                nemesis = Nemesis(service.process.pid, operator, history, _fork(chance), batch)
                breaking = asyncio.create_task(nemesis.run(fault_every_s, faults))
                watching = asyncio.create_task(watch_memory(service.process.pid, history))
                working = [asyncio.create_task(worker.run()) for worker in workers]
                await asyncio.sleep(seconds)
                for task in (breaking, watching):
                    task.cancel()
                await asyncio.wait([breaking, watching])
                for worker in workers:
                    worker.is_finishing = True
                await asyncio.wait(working, timeout=QUIET_S)
                for task in working:
                    if task.done():
                        task.result()  # a client that broke is a failure of the run
                    task.cancel()
                await asyncio.wait(working)
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
