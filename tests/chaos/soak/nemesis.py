"""Faults that need no root: killed and stopped processes, changed fleet sizes, and the faults of other files."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Collection, Mapping

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from tests.chaos.soak.history import History
from tests.chaos.soak.links import Fault
from tests.chaos.soak.prompt_files import PromptFiles
from tests.support.processes.serve_command import below


class Nemesis:
    """Injects a fault every few seconds; `root` is the process of the service, `batch` runs next to it.

    `others` are further faults by name.
    """

    def __init__(
        self,
        root: int,
        client: AsyncClient,
        history: History,
        chance: random.Random,
        batch: PromptFiles,
        others: Mapping[str, Fault],
    ) -> None:
        self._root = root
        self._batch = batch
        self._client = client
        self._history = history
        self._chance = chance
        self._others = others

    async def run(self, pause_s: float, wanted: Collection[str] = ()) -> None:
        """Inject the `wanted` faults one after the other, or any, until cancelled."""
        faults: dict[str, Fault] = {
            "kill worker": self._kill("WorkerActor"),
            "stop worker": self._stop("WorkerActor", 8.0),
            "kill router": self._kill("RouterActor"),
            "stop router": self._stop("RouterActor", 3.0),
            "kill preparing": self._kill("cactus_actors.router.preparation.preparer_child"),
            "kill edge": self._kill("cactus_actors.router.edge.edge_child"),
            "stop edge": self._stop("cactus_actors.router.edge.edge_child", 3.0),
            "kill handoff": self._kill("HandoffActor"),
            "stop handoff": self._stop("HandoffActor", 4.0),
            "kill gateway": self._kill("GatewayActor"),
            "stop gateway": self._stop("GatewayActor", 4.0),
            "kill batch": self._kill_batch,
            "scale": self._scale,
            "restart": self._restart,
            **self._others,
        }
        while True:
            await asyncio.sleep(self._chance.uniform(0.3, 1.7) * pause_s)
            name = self._chance.choice(list(wanted or faults))
            self._history.note("fault", name=name)
            with contextlib.suppress(CactusError):
                await faults[name]()

    def _kill(self, title: str) -> Fault:
        async def kill() -> None:
            if pids := processes_of(self._root, title):
                _signal(self._chance.choice(pids), signal.SIGKILL)

        return kill

    def _stop(self, title: str, seconds: float) -> Fault:
        async def stop() -> None:
            if pids := processes_of(self._root, title):
                pid = self._chance.choice(pids)
                _signal(pid, signal.SIGSTOP)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    _signal(pid, signal.SIGCONT)

        return stop

    async def _kill_batch(self) -> None:
        self._batch.kill()

    async def _scale(self) -> None:
        await self._client.scale(self._chance.randint(1, 3))

    async def _restart(self) -> None:
        await self._client.restart_workers()


def processes_of(root: int, title: str) -> list[int]:
    """Processes below `root` with `title` in their command line (those of actors contain their kind)."""
    return sorted(pid for pid, command in below(root).items() if title in command.replace("\0", " "))


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
