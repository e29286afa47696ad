"""The Ray actor around the cloud worker."""

from __future__ import annotations

import asyncio
import os

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_worker import CloudWorker
from cactus_actors.process.health import HandoffHealth


class HandoffActor:
    """`run` works until it is left; `drain`, `stop` and `health` belong to the `control` concurrency group.

    It has no coroutine among its methods: Ray would make all of it asynchronous, on a loop of its own. Raises
    ConfigurationInvalid for settings that name no usable endpoint. Key and switches are read from this
    process's environment.
    """

    def __init__(self, settings: HandoffSettings) -> None:
        self._worker = CloudWorker(settings, os.environ)

    def run(self, router_endpoint: str) -> str:
        """Work for the router; returns "drained" or "stopped"."""
        return asyncio.run(self._worker.serve(router_endpoint))

    def drain(self) -> None:
        """Finish what runs, then leave."""
        self._worker.drain()

    def stop(self) -> None:
        """Leave now; what runs is given up."""
        self._worker.stop()

    def health(self) -> HandoffHealth:
        """The handoff at a glance."""
        return self._worker.health()
