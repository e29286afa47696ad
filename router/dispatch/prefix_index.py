"""Which chained prompt-block hashes went to which worker: a guess at what its prefix cache holds."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Sequence

BLOCK_SIZE = 16
MAX_ENTRIES = 131_072


def block_hashes(token_ids: Sequence[int], salt: str = "") -> tuple[int, ...]:
    """One hash a full block of BLOCK_SIZE tokens, each over the salt, the block and everything before it."""
    hashes: list[int] = []
    chained = hash(salt)
    for start in range(0, len(token_ids) - BLOCK_SIZE + 1, BLOCK_SIZE):
        chained = hash((chained, *token_ids[start : start + BLOCK_SIZE]))
        hashes.append(chained)
    return tuple(hashes)


class PrefixIndex:
    """Bounded memory of (worker, block); the least recently used is forgotten first."""

    def __init__(self, max_entries: int = MAX_ENTRIES) -> None:
        self._max_entries = max_entries
        self._entries: OrderedDict[tuple[str, int], None] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def record(self, worker_id: str, hashes: Iterable[int]) -> None:
        """The worker computes, or has computed, these blocks."""
        for block in hashes:
            entry = (worker_id, block)
            self._entries[entry] = None
            self._entries.move_to_end(entry)
        while len(self._entries) > self._max_entries:
            self._entries.popitem(last=False)

    def num_cached(self, worker_id: str, hashes: Sequence[int]) -> int:
        """How many leading blocks the worker probably holds."""
        for count, block in enumerate(hashes):
            if (worker_id, block) not in self._entries:
                return count
        return len(hashes)

    def forget(self, worker_id: str) -> None:
        """The worker is gone, and its cache with it."""
        for entry in [entry for entry in self._entries if entry[0] == worker_id]:
            del self._entries[entry]
