"""Recording clients of one service, and the check of their history."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Status
from tests.chaos.soak.checker import violations
from tests.chaos.soak.history import History, read
from tests.chaos.soak.witness import Request, Witness
from tests.support.processes.waiting import is_free

SETTLED_S = 60.0
NUM_TOKENS = 600


def story(number: int) -> tuple[str, dict[str, Any]]:
    """A request that takes long enough for a fault to hit it, at one of two temperatures."""
    options = {
        "seed": number,
        "max_tokens": NUM_TOKENS,
        "ignore_eos": True,
        "temperature": 0.9 * (number % 2),
    }
    return f"Tell me story number {number} about a fox.", options


class Stage:
    """The recording clients of a service; `operator` is a client whose connection has no faults."""

    def __init__(self, path: Path, operator: AsyncClient, request: Request = story) -> None:
        self._path = path
        self._request = request
        self.history = History(path)
        self.operator = operator
        self.reference = self.witness("reference", operator)

    def witness(self, name: str, client: AsyncClient, request: Request | None = None) -> Witness:
        chance = random.Random(name + str(random.getrandbits(64)))
        return Witness(name, client, self.operator, self.history, chance, request or self._request)

    async def judge(self) -> Status:
        """Wait until nothing runs, then check that the history violates no guarantee."""
        status = await self._settled()
        self.history.note("status", **msgspec.to_builtins(status))
        self.history.close()
        assert violations(read(self._path)) == []
        return status

    async def _settled(self) -> Status:
        deadline = asyncio.get_running_loop().time() + SETTLED_S
        while True:
            status = await self.operator.status()
            if is_free(status) or asyncio.get_running_loop().time() > deadline:
                return status
            await asyncio.sleep(0.1)


@asynccontextmanager
async def staged(
    directory: Path, jobs: str, stream: str, *, request: Request = story, key_file: str | None = None
) -> AsyncIterator[Stage]:
    """A stage in front of the service at these endpoints."""
    async with AsyncClient(jobs, stream, timeout=60.0, key_file=key_file) as operator:
        stage = Stage(directory / "history.jsonl", operator, request)
        try:
            yield stage
        finally:
            stage.history.close()
