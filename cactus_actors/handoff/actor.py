"""The handoff actor: the calls of the placement around the cloud worker."""

from __future__ import annotations

import asyncio
import os

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.cloud_worker import CloudWorker
from cactus_actors.process.health import HandoffHealth


class HandoffActor:
    """`run` lasts until the worker drains or stops; `drain`, `stop` and `health` are control calls.

    No method is a coroutine: Ray would run the whole actor on a loop of its own. Raises ConfigurationInvalid for an
    unusable endpoint. Key and switches are read from this process's environment.
    """

    def __init__(self, settings: HandoffSettings) -> None:
        self._worker = CloudWorker(settings, os.environ)

    def run(self, router_endpoint: str) -> str:
        """Work for the router; returns "drained" or "stopped"."""
        return asyncio.run(self._worker.serve(router_endpoint))

    def drain(self) -> None:
        """Finish running jobs, then leave."""
        self._worker.drain()

    def stop(self) -> None:
        """Leave now and give up running jobs."""
        self._worker.stop()

    def health(self) -> HandoffHealth:
        return self._worker.health()
