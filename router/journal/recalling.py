"""Ended jobs looked up: in memory, else in the journal, while those who asked wait."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from cactus_actors.protocol.errors import Overloaded, ResultDropped, StorageFailure
from router.effects import Outbox
from router.journal.records import Remembered
from router.journal.result_store import ResultStore

MAX_WAITING = 4096

Later = Callable[[float], None]
"""A client's question about an ended job; called with the time when its result is at hand."""


class Recalling:
    """Brings results back; `epoch` is told with them, whichever router they come from."""

    def __init__(self, store: ResultStore, outbox: Outbox, epoch: int, *, has_journal: bool) -> None:
        self._store = store
        self._outbox = outbox
        self._epoch = epoch
        self._has_journal = has_journal
        self._waiting: dict[str, list[Later]] = {}
        self._num_waiting = 0
        self._at_hand: tuple[str, Remembered | None] | None = None

    def must_wait(self, job_id: str) -> bool:
        """Whether the result has to be read from the journal first."""
        is_at_hand = self._at_hand is not None and self._at_hand[0] == job_id
        return self._has_journal and not is_at_hand and job_id not in self._store

    def ask(self, job_id: str, later: Later) -> None:
        """Call `later` when the result is at hand; raises Overloaded when too many wait for theirs."""
        if self._num_waiting >= MAX_WAITING:
            raise Overloaded("too many results are being read from the journal", retry_after=1.0)
        self._num_waiting += 1
        if job_id not in self._waiting:
            self._waiting[job_id] = []
            self._outbox.recall(job_id)
        self._waiting[job_id].append(later)

    def on_recalled(self, job_id: str, found: Remembered | None, now: float) -> None:
        """The journal was read; None if the job cannot be read there."""
        waiting = self._waiting.pop(job_id, [])
        self._num_waiting -= len(waiting)
        self._at_hand = job_id, found
        for later in waiting:
            later(now)
        self._at_hand = None

    def result_of(self, job_id: str) -> Remembered:
        """All that can be read of an ended job; raises ResultDropped, or StorageFailure."""
        found = self._store.get(job_id)
        if found is None and self._at_hand is not None and self._at_hand[0] == job_id:
            found = self._at_hand[1]
        if found is None and self._has_journal:
            raise StorageFailure("the job has ended, and its result cannot be read from the journal")
        if found is None:
            raise ResultDropped("the job has ended, and its result was dropped: newer ones needed the room")
        return msgspec.structs.replace(
            found, accepted=msgspec.structs.replace(found.accepted, epoch=self._epoch)
        )
