"""Returns memory to the system that a flood of large requests has left free in the process."""

from __future__ import annotations

import asyncio

from cactus_actors.process.resident_memory import resident_bytes, return_memory

CHECK_INTERVAL_S = 2.0
MIN_GROWTH_BYTES = 32 << 20
"""Growth since the last return that justifies the milliseconds of another."""


class MemoryTrimmer:
    """Knows the size of the process after the last return: memory in use then is no reason to try again."""

    def __init__(self, num_bytes: int) -> None:
        """`num_bytes` is the present size of the process."""
        self._usual_bytes = num_bytes

    async def run(self) -> None:
        """Check every CHECK_INTERVAL_S, forever."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_S)
            if self.is_due(resident_bytes()):
                await asyncio.to_thread(return_memory)
                self.settle(resident_bytes())

    def is_due(self, num_bytes: int) -> bool:
        """True if a process of that size may have much free memory; call it once an interval."""
        self._usual_bytes = min(self._usual_bytes, num_bytes)
        return num_bytes - self._usual_bytes >= MIN_GROWTH_BYTES

    def settle(self, num_bytes: int) -> None:
        """Record the size of the process after a return."""
        self._usual_bytes = num_bytes
