"""The fingerprints of the service's models, for the lines of a run."""

from __future__ import annotations

import asyncio
import time

from cactus_actors.batch.line_client import LineClient
from cactus_actors.batch.patience import REPEAT_NOTICE_S
from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.system_fingerprint import system_fingerprint


class SystemFingerprints:
    """Asks the service once for each model; after a failure, not again for a while."""

    def __init__(self, client: LineClient) -> None:
        self._client = client
        self._known: dict[str, str] = {}
        self._asking = asyncio.Lock()
        self._failed_at = float("-inf")

    async def of(self, model: str) -> str | None:
        """The system_fingerprint of the model that answered; None while it is unknown."""
        if (known := self._known.get(model)) is not None:
            return known
        async with self._asking:
            if model not in self._known and time.monotonic() - self._failed_at >= REPEAT_NOTICE_S:
                try:
                    status = await self._client.status()
                except CactusError:
                    self._failed_at = time.monotonic()
                    return None
                if status.workers or status.models:
                    self._known[model] = system_fingerprint(status, model)
                else:
                    self._failed_at = time.monotonic()
        return self._known.get(model)
