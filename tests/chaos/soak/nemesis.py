"""Faults that need no root: killed and stopped processes, fleets that change their size."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import signal
from collections.abc import Awaitable, Callable, Collection
from pathlib import Path

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.errors import CactusError
from tests.chaos.soak.history import History

Fault = Callable[[], Awaitable[None]]


class Nemesis:
    """Breaks something every few seconds; `root` is the process of the service."""

    def __init__(self, root: int, client: AsyncClient, history: History, chance: random.Random) -> None:
        self._root = root
        self._client = client
        self._history = history
        self._chance = chance

    async def run(self, pause_s: float, wanted: Collection[str] = ()) -> None:
        """Make one of the `wanted` faults after the other, or any, until cancelled."""
        faults: dict[str, Fault] = {
            "kill worker": self._kill("ray::WorkerActor"),
            "stop worker": self._stop("ray::WorkerActor", 8.0),
            "kill router": self._kill("ray::RouterActor"),
            "stop router": self._stop("ray::RouterActor", 3.0),
            "kill handoff": self._kill("ray::HandoffActor"),
            "kill gateway": self._kill("ray::GatewayActor"),
            "scale": self._scale,
            "restart": self._restart,
        }
        while True:
            await asyncio.sleep(self._chance.uniform(0.3, 1.7) * pause_s)
            name = self._chance.choice(list(wanted or faults))
            self._history.note("fault", name=name)
            with contextlib.suppress(CactusError):
                await faults[name]()

    def _kill(self, title: str) -> Fault:
        async def kill() -> None:
            if pids := self._actors(title):
                _signal(self._chance.choice(pids), signal.SIGKILL)

        return kill

    def _stop(self, title: str, seconds: float) -> Fault:
        async def stop() -> None:
            if pids := self._actors(title):
                pid = self._chance.choice(pids)
                _signal(pid, signal.SIGSTOP)
                try:
                    await asyncio.sleep(seconds)
                finally:
                    _signal(pid, signal.SIGCONT)

        return stop

    async def _scale(self) -> None:
        await self._client.scale(self._chance.randint(1, 3))

    async def _restart(self) -> None:
        await self._client.restart_workers()

    def _actors(self, title: str) -> list[int]:
        """Processes below the service that have this title (Ray names them after their actors)."""
        parents: dict[int, int] = {}
        titled: list[int] = []
        for directory in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                pid = int(directory.name)
                parents[pid] = int((directory / "stat").read_text().rpartition(")")[2].split()[1])
                if (directory / "cmdline").read_bytes().startswith(title.encode()):
                    titled.append(pid)
        return sorted(pid for pid in titled if self._is_below(pid, parents))

    def _is_below(self, pid: int, parents: dict[int, int]) -> bool:
        while pid in parents and pid != self._root:
            pid = parents[pid]
        return pid == self._root


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
