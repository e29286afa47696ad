"""The connections to one cloud: each is lent to one request, and one whose request was cancelled is given up."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import httpx


class CloudConnections:
    """Keeps connections that may be used again; the caller limits how many are lent at once.

    Each is an HTTP client of its own. In a pool of several a request that is cancelled at certain moments, or while it
    closes its connection, would leave a connection that counts as busy for good.
    """

    def __init__(self, timeout: httpx.Timeout, *, trust_env: bool) -> None:
        self._timeout = timeout
        self._trust_env = trust_env
        self._tls = httpx.create_ssl_context(trust_env=trust_env)
        self._idle: list[httpx.AsyncClient] = []
        self._closing: set[asyncio.Task[None]] = set()

    @contextlib.asynccontextmanager
    async def lent(self) -> AsyncIterator[httpx.AsyncClient]:
        """A client for one request at a time: the one that was used last, or a new one."""
        client = self._idle.pop() if self._idle else self._opened()
        try:
            yield client
        except asyncio.CancelledError:  # also at the deadline of the request
            self._give_up(client)
            raise
        except Exception:
            self._idle.append(client)
            raise
        else:
            self._idle.append(client)

    async def aclose(self) -> None:
        """Close every connection that is not lent."""
        for client in self._idle:
            self._give_up(client)
        self._idle.clear()
        await asyncio.gather(*self._closing, return_exceptions=True)

    def _opened(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            timeout=self._timeout,
            verify=self._tls,
            limits=httpx.Limits(max_connections=1),
            follow_redirects=False,
            trust_env=self._trust_env,
        )

    def _give_up(self, client: httpx.AsyncClient) -> None:
        """Close a client in a task of its own, which no cancellation of its request reaches."""
        task = asyncio.create_task(client.aclose())
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)
