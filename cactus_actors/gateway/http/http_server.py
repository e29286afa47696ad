"""uvicorn's server with an event for its end; uvicorn polls ten times a second, even when idle."""

from __future__ import annotations

import asyncio
import contextlib

import uvicorn

DATE_INTERVAL_S = 1.0
"""Interval between updates of the Date header."""


class HttpServer(uvicorn.Server):
    """Serves until `end`; belongs to one event loop."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._has_ended = asyncio.Event()

    def end(self) -> None:
        """Close the listening sockets; `serve` returns once the connections are closed."""
        self.should_exit = True
        self._has_ended.set()

    async def main_loop(self) -> None:
        while not await self.on_tick(0):
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(DATE_INTERVAL_S):
                    await self._has_ended.wait()
