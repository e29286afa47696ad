"""One run: a service, clients, faults, a quiet phase at the end, and the final status."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Collection, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Protocol

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.messages import Status
from tests.chaos.soak.bad_peer import BadPeer
from tests.chaos.soak.clients import Worker, request_of_client
from tests.chaos.soak.history import History
from tests.chaos.soak.http_readers import HttpReader
from tests.chaos.soak.links import LINKS, Links, linked
from tests.chaos.soak.memory import watch_memory
from tests.chaos.soak.nemesis import Nemesis
from tests.chaos.soak.prompt_files import PromptFiles
from tests.chaos.soak.witness import Witness
from tests.support.processes.separate_actors import free_endpoints
from tests.support.processes.serve_command import serving
from tests.support.processes.waiting import is_free

NUM_HTTP_READERS = 2
QUIET_S = 90.0
RECONNECT_S = 60.0


class Endless(Protocol):
    """Endless work, until it is asked to finish."""

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
) -> Path:
    """Run for this time; returns the path of the history, in `directory`.

    Every other client, the prompt files, the HTTP readers and the service's own actors reach the service
    through links that faults disturb; the other clients and the final check reach it directly.
    """
    path = directory / "history.jsonl"
    history = History(path)
    chance = random.Random(seed)
    near = dict(zip(LINKS, free_endpoints(len(LINKS)), strict=True))
    try:
        async with (
            linked(near, _fork(chance)) as links,
            _served(directory, near, links) as pid,
            AsyncExitStack() as stack,
        ):
            far = {name: links.far(name) for name in LINKS}
            operator = await stack.enter_async_context(_client(near))
            clients = [
                await stack.enter_async_context(_client(far if number % 2 else near)) for number in range(num_clients)
            ]
            witnesses = [
                Witness(f"client-{number}", client, operator, history, _fork(chance), request_of_client)
                for number, client in enumerate(clients)
            ]
            batch = PromptFiles(directory, far["jobs"], far["stream"], history)
            url = far["http"].replace("tcp", "http")
            workers: list[Endless] = [
                batch,
                *(Worker(witness, _fork(chance)) for witness in witnesses),
                *(HttpReader(f"http-{number}", url, history, _fork(chance)) for number in range(NUM_HTTP_READERS)),
            ]
            others = {**links.faults, "bad peer": BadPeer(near, _fork(chance)).harm}
            nemesis = Nemesis(pid, operator, history, _fork(chance), batch, others)
            working = [asyncio.create_task(worker.run()) for worker in workers]
            await _for(seconds, nemesis.run(fault_every_s, faults), watch_memory(pid, history))
            for worker in workers:
                worker.is_finishing = True
            await _ended(working)
            status = await _settled(operator)
            history.note("status", **msgspec.to_builtins(status))
    finally:
        history.close()
    return path


@asynccontextmanager
async def _served(directory: Path, near: Mapping[str, str], links: Links) -> AsyncIterator[int]:
    """A service that listens at the `near` endpoints, its actors behind `links`; yields its process.

    It starts and stops in a thread, since the traffic of its actors goes through this loop.
    """
    far = [links.far(name) for name in ("jobs", "stream", "workers")]
    places = [part for name in ("jobs", "stream", "workers") for part in (f"--{name}-endpoint", near[name])]
    places += ["--http", near["http"].removeprefix("tcp://")]
    program = ("-m", "tests.chaos.soak.far_service", *far)
    context = serving(directory, "--model", "cactus-bloom", "--workers", "2", *places, program=program)
    service = await asyncio.to_thread(context.__enter__)
    try:
        yield service.process.pid
    finally:
        await asyncio.to_thread(context.__exit__, None, None, None)


def _client(endpoints: Mapping[str, str]) -> AsyncClient:
    return AsyncClient(endpoints["jobs"], endpoints["stream"], reconnect_timeout=RECONNECT_S)


async def _for(seconds: float, *endless: Coroutine[Any, Any, None]) -> None:
    """Let the tasks run for this time; raises the exception of a task that ended before."""
    tasks = [asyncio.create_task(each) for each in endless]
    await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_EXCEPTION)
    for task in tasks:
        if task.done():
            task.result()
        task.cancel()
    await asyncio.wait(tasks)


async def _ended(working: Collection[asyncio.Task[None]]) -> None:
    """Wait until all tasks have finished their current work; the checker reports those that never do."""
    await asyncio.wait(working, timeout=QUIET_S)
    for task in working:
        if task.done():
            task.result()  # a client that broke is a failure of the run
        task.cancel()
    await asyncio.wait(working)


async def _settled(operator: AsyncClient) -> Status:
    """The status once every wanted worker is present and nothing is held, or the last status after a timeout."""
    for _ in range(int(QUIET_S)):
        with contextlib.suppress(CactusError):
            status = await operator.status()
            num_local = sum(worker.kind == "local" for worker in status.workers)
            if num_local == status.desired_workers and is_free(status):
                await asyncio.sleep(2.0)  # the last report of a worker contains what it has released
                return await operator.status()
        await asyncio.sleep(1.0)
    return await operator.status()


def _fork(chance: random.Random) -> random.Random:
    return random.Random(chance.getrandbits(64))
