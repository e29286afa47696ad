"""The gateway actor: a GatewayServer in a process of its own."""

from __future__ import annotations

import os

from cactus_actors.config import GatewaySettings
from cactus_actors.gateway.server import GatewayServer
from cactus_actors.process.health import GatewayHealth


class GatewayActor:
    """`start` it, then `run` it; the other methods may be called from any thread meanwhile."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._server: GatewayServer | None = None

    def start(self) -> str:
        """Bind, and return the address as HOST:PORT; raises ConfigurationInvalid naming the fault."""
        self._server = GatewayServer(self._settings)
        return self._server.address

    def run(self, jobs_endpoint: str, stream_endpoint: str) -> str:
        """Serve until `stop`; returns why it ended."""
        assert self._server is not None
        self._server.run(jobs_endpoint, stream_endpoint)
        return "stopped"

    def health(self) -> GatewayHealth:
        """The state, answered by the event loop, so that a hanging one gives no answer."""
        assert self._server is not None
        num_open = self._server.num_open()
        return GatewayHealth(pid=os.getpid(), address=self._server.address, num_open=num_open)

    def drain(self) -> bool:
        """Refuse new requests; open ones continue. Returns True if none is open."""
        return self._server is not None and self._server.drain()

    def stop(self) -> None:
        """Let `run` end."""
        if self._server is not None:
            self._server.stop()
