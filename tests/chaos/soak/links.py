"""Bad links: a proxy in front of every endpoint of a service, and the faults that it injects."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from tests.support.processes.bad_link import WAYS, Proxy, proxied

Fault = Callable[[], Awaitable[None]]

LINKS = ("jobs", "stream", "workers", "http")
CLIENTS = ("jobs", "stream", "http")
HOLD_S = (1.0, 8.0)
"""Shorter and longer than the silence after which the router declares a worker lost, and a client its router."""
SLICE_S = 2.0


class Links:
    """Connections to `far(name)` are forwarded to the endpoint of that name, with the faults that are active."""

    def __init__(self, proxies: Mapping[str, Proxy], chance: random.Random) -> None:
        self._proxies = proxies
        self._chance = chance

    def far(self, name: str) -> str:
        return self._proxies[name].endpoint

    @property
    def faults(self) -> dict[str, Fault]:
        """Faults by name; those of the workers' link are separate, since they may cost a job its worker."""
        return {
            "reset link": lambda: self._reset(*CLIENTS),
            "hold link": lambda: self._hold(*CLIENTS),
            "slice link": lambda: self._slice(*CLIENTS),
            "reset workers": lambda: self._reset("workers"),
            "hold workers": lambda: self._hold("workers"),
            "slice workers": lambda: self._slice("workers"),
        }

    async def _reset(self, *names: str) -> None:
        self._choice(names).reset()

    async def _hold(self, *names: str) -> None:
        """Block one direction or both without closing a connection."""
        link = self._choice(names)
        link.hold(*self._chance.choice([(), *((way,) for way in WAYS)]))
        try:
            await asyncio.sleep(self._chance.uniform(*HOLD_S))
        finally:
            link.release()

    async def _slice(self, *names: str) -> None:
        """Send every byte as a segment of its own."""
        link = self._choice(names)
        whole, link.segment_bytes = link.segment_bytes, 1
        try:
            await asyncio.sleep(SLICE_S)
        finally:
            link.segment_bytes = whole

    def _choice(self, names: tuple[str, ...]) -> Proxy:
        return self._proxies[self._chance.choice(names)]


@asynccontextmanager
async def linked(endpoints: Mapping[str, str], chance: random.Random) -> AsyncIterator[Links]:
    """Links in front of these `tcp://HOST:PORT` endpoints, in the running loop."""
    async with AsyncExitStack() as stack:
        proxies = {name: await stack.enter_async_context(proxied(endpoint)) for name, endpoint in endpoints.items()}
        yield Links(proxies, chance)
