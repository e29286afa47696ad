"""Giving back what a flood of large requests has left free in the process."""

from __future__ import annotations

import asyncio

from cactus_actors.process.resident_memory import give_back_memory, resident_bytes

LOOK_INTERVAL_S = 2.0
MUCH_BYTES = 32 << 20
"""Growth since the last time that is worth the milliseconds that it takes."""


class MemoryTrimmer:
    """Knows what the process has when all is given back: what is in use then is no reason to try again."""

    def __init__(self, num_bytes: int) -> None:
        """The process has so many by now."""
        self._usual_bytes = num_bytes

    async def run(self) -> None:
        """Look every LOOK_INTERVAL_S, for ever."""
        while True:
            await asyncio.sleep(LOOK_INTERVAL_S)
            if self.is_due(resident_bytes()):
                await asyncio.to_thread(give_back_memory)
                self.settle(resident_bytes())

    def is_due(self, num_bytes: int) -> bool:
        """True if a process of that size may have much free memory; call it once an interval."""
        self._usual_bytes = min(self._usual_bytes, num_bytes)
        return num_bytes - self._usual_bytes >= MUCH_BYTES

    def settle(self, num_bytes: int) -> None:
        """The process has so many with everything given back."""
        self._usual_bytes = num_bytes
