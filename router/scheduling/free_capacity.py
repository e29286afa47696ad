"""Workers that can take one more job, indexed by their free capacity."""

from __future__ import annotations

from bisect import bisect_left, insort

from cactus_actors.router.state.worker import WorkerRecord

UNLIMITED_BLOCKS = 1 << 62
"""The block count of a worker that takes jobs of any size."""

NO_CAPACITY = -(1 << 62)


class FreeCapacity:
    """Free slots and free cache blocks of workers, each in order; every change costs a binary search."""

    def __init__(self) -> None:
        self._offers: dict[str, tuple[WorkerRecord, int, int]] = {}
        self._by_slots: list[tuple[int, int, str]] = []  # most slots first, then the oldest worker
        self._by_blocks: list[tuple[int, str]] = []  # fewest blocks first

    def __len__(self) -> int:
        return len(self._offers)

    def put(self, worker: WorkerRecord, num_slots: int, num_blocks: int) -> None:
        """Set the free capacity of a worker."""
        worker_id = worker.worker_id
        known = self._offers.get(worker_id)
        if known == (worker, num_slots, num_blocks):
            return
        if known is not None:
            self.drop(worker)
        self._offers[worker_id] = (worker, num_slots, num_blocks)
        insort(self._by_slots, (-num_slots, worker.number, worker_id))
        insort(self._by_blocks, (num_blocks, worker_id))

    def drop(self, worker: WorkerRecord) -> None:
        """Remove a worker without free capacity; a second time changes nothing."""
        worker_id = worker.worker_id
        known = self._offers.pop(worker_id, None)
        if known is not None:
            _, num_slots, num_blocks = known
            del self._by_slots[bisect_left(self._by_slots, (-num_slots, worker.number, worker_id))]
            del self._by_blocks[bisect_left(self._by_blocks, (num_blocks, worker_id))]

    def has_blocks(self, num_blocks: int) -> bool:
        """True if any worker has at least this number of free blocks."""
        return bool(self._by_blocks) and self._by_blocks[-1][0] >= num_blocks

    def num_slots(self, worker_id: str, num_blocks: int) -> int:
        """The free slots of a worker with at least this number of free blocks; NO_CAPACITY without such a worker."""
        offer = self._offers.get(worker_id)
        return offer[1] if offer is not None and offer[2] >= num_blocks else NO_CAPACITY

    def worker(self, worker_id: str) -> WorkerRecord:
        return self._offers[worker_id][0]

    def emptiest(self, num_blocks: int) -> str:
        """The worker with most free slots among those with enough free blocks; there must be one."""
        return next(worker_id for *_, worker_id in self._by_slots if self._offers[worker_id][2] >= num_blocks)
