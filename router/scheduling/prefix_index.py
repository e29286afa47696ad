"""The blocks that each worker reports to hold in its prefix cache."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

MAX_BLOCKS = 1 << 16
"""The most blocks of one worker; reports of more are ignored."""

_NOBODY: tuple[str, ...] = ()


class PrefixIndex:
    """Workers by the short hashes of their blocks, and the other way round."""

    def __init__(self) -> None:
        self._holders: dict[int, tuple[str, ...]] = {}
        self._hashes: dict[str, set[int]] = {}

    def __len__(self) -> int:
        return sum(map(len, self._hashes.values()))

    def update(self, worker_id: str, stored: Iterable[int], evicted: Iterable[int]) -> None:
        """Record the blocks that a worker stored and evicted."""
        held = self._hashes.setdefault(worker_id, set())
        for block in evicted:
            if block in held:
                held.remove(block)
                self._remove_holder(block, worker_id)
        alone = (worker_id,)
        for block in stored:
            if block not in held and len(held) < MAX_BLOCKS:
                held.add(block)
                others = self._holders.get(block)
                self._holders[block] = alone if others is None else (*others, worker_id)

    def forget(self, worker_id: str) -> None:
        """Remove a worker that is gone, and its cache with it."""
        for block in self._hashes.pop(worker_id, ()):
            self._remove_holder(block, worker_id)

    def num_held(self, hashes: Sequence[int]) -> int:
        """The most leading blocks that any worker holds."""
        return self.longest(hashes)[0] if hashes and hashes[0] in self._holders else 0

    def longest(self, hashes: Sequence[int], counts: Callable[[str], bool] | None = None) -> tuple[int, list[str]]:
        """The most leading blocks that any worker holds, and the workers that hold them; `counts` filters workers.

        A binary search: a cache reuses the end of a prefix before its beginning.
        """
        num_held, holders = 0, list(_NOBODY)
        num_missing = len(hashes) + 1 if hashes and hashes[0] in self._holders else 1
        while num_held + 1 < num_missing:
            middle = (num_held + num_missing) // 2
            found = [
                worker_id
                for worker_id in self._holders.get(hashes[middle - 1], _NOBODY)
                if counts is None or counts(worker_id)
            ]
            if found:
                num_held, holders = middle, found
            else:
                num_missing = middle
        return num_held, holders

    def _remove_holder(self, block: int, worker_id: str) -> None:
        left = tuple(holder for holder in self._holders[block] if holder != worker_id)
        if left:
            self._holders[block] = left
        else:
            del self._holders[block]
