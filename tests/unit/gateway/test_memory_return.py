"""The times at which the gateway checks for memory that it can return to the system."""

from __future__ import annotations

import sys

import pytest

from cactus_actors.gateway.memory_trimming import MIN_GROWTH_BYTES, MemoryTrimmer
from cactus_actors.process.resident_memory import STATM, resident_bytes, return_memory


def test_memory_is_checked_after_growth_and_not_again_while_in_use() -> None:
    memory = MemoryTrimmer(1000 * MIN_GROWTH_BYTES)
    assert not memory.is_due(100 * MIN_GROWTH_BYTES)
    assert not memory.is_due(101 * MIN_GROWTH_BYTES - 1)
    assert memory.is_due(101 * MIN_GROWTH_BYTES)
    memory.settle(101 * MIN_GROWTH_BYTES)  # all of it is in use
    assert not memory.is_due(101 * MIN_GROWTH_BYTES)
    assert not memory.is_due(99 * MIN_GROWTH_BYTES)  # freed without a check, and then allocated again
    assert memory.is_due(100 * MIN_GROWTH_BYTES)


@pytest.mark.skipif(sys.platform != "linux" or not STATM.exists(), reason="the system does not tell it")
def test_freed_memory_is_returned_to_the_system() -> None:
    # Below the size from which the C library allocates each block from the system separately.
    pieces = [bytes([1]) * 60_000 for _ in range(2000)]
    kept = pieces[-1]
    held = resident_bytes()
    del pieces
    return_memory()
    assert held - resident_bytes() > 60_000_000
    assert len(kept) == 60_000
