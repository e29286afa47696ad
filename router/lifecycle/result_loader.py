"""Ended jobs looked up: in memory, else in the journal, while those who asked wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable

import msgspec

from cactus_actors.protocol.errors import Overloaded, ResultDropped, StorageFailure
from cactus_actors.router.effects import Outbox
from cactus_actors.router.state.journal_records import StoredResult
from cactus_actors.router.state.result_store import ResultStore
from cactus_actors.router.state.user_round_robin import UserRoundRobin

MAX_READING = 4
"""Results that are read at a time: who asks for one waits for these at most, whatever others ask for."""
MAX_WAITING, MAX_OF_ONE = 4096, 1024
"""Questions that wait, and those of one requester."""
MAX_ABOUT_ONE_JOB = 8
"""Questions of one requester about one job: all are answered in one turn."""

Deferred = Callable[[float], None]
"""A client's question about an ended job; called with the time when its result is at hand."""


class ResultLoader:
    """Brings results back, requesters in turn; `epoch` is told with them, whichever router they come from."""

    def __init__(self, store: ResultStore, outbox: Outbox, epoch: int, *, has_journal: bool) -> None:
        self._store = store
        self._outbox = outbox
        self._epoch = epoch
        self._has_journal = has_journal
        self._waiting: dict[str, dict[tuple[str, Hashable], Deferred]] = {}
        self._num_of_requester: Counter[str] = Counter()
        self._turns: UserRoundRobin[str] = UserRoundRobin()
        self._num_waiting = 0
        self._reading: set[str] = set()
        self._at_hand: tuple[str, StoredResult | None] | None = None

    def must_load(self, job_id: str) -> bool:
        """Whether the result has to be read from the journal first."""
        is_at_hand = self._at_hand is not None and self._at_hand[0] == job_id
        return self._has_journal and not is_at_hand and job_id not in self._store

    def ask(self, job_id: str, requester: str, question: Hashable, deferred: Deferred) -> None:
        """Call `deferred` when the result is at hand; the same question asked again meanwhile is one question.

        Raises Overloaded when too many wait for theirs.
        """
        waiting = self._waiting.get(job_id, {})
        if (requester, question) in waiting:
            return
        num_about_it = sum(it == requester for it, _ in waiting)
        if (
            self._num_waiting >= MAX_WAITING
            or self._num_of_requester[requester] >= MAX_OF_ONE
            or num_about_it >= MAX_ABOUT_ONE_JOB
        ):
            raise Overloaded("too many results are being read from the journal", retry_after=1.0)
        self._waiting.setdefault(job_id, waiting)[requester, question] = deferred
        self._num_waiting += 1
        self._num_of_requester[requester] += 1
        if not num_about_it:  # it may wait for somebody else's turn, too: the first one counts
            self._turns.put(job_id, requester, is_background=False)
        self._read_next()

    def on_result_loaded(self, job_id: str, found: StoredResult | None, now: float) -> None:
        """The journal was read; None if the job cannot be read there."""
        self._reading.discard(job_id)
        self._at_hand = job_id, found
        for (requester, _), deferred in self._waiting.pop(job_id, {}).items():
            self._forget(requester)
            deferred(now)
        self._at_hand = None
        self._read_next()

    def result_of(self, job_id: str) -> StoredResult:
        """All that can be read of an ended job; raises ResultDropped, or StorageFailure."""
        found = self._store.get(job_id)
        if found is None and self._at_hand is not None and self._at_hand[0] == job_id:
            found = self._at_hand[1]
        if found is None and self._has_journal:
            raise StorageFailure("the job has ended, and its result cannot be read from the journal")
        if found is None:
            raise ResultDropped("the job has ended, and its result was dropped: newer ones needed the room")
        return msgspec.structs.replace(found, accepted=msgspec.structs.replace(found.accepted, epoch=self._epoch))

    def _read_next(self) -> None:
        while len(self._reading) < MAX_READING and (job_id := self._turns.take()) is not None:
            if job_id in self._waiting and job_id not in self._reading:
                self._reading.add(job_id)
                self._outbox.load_result(job_id)

    def _forget(self, requester: str) -> None:
        self._num_waiting -= 1
        self._num_of_requester[requester] -= 1
        if not self._num_of_requester[requester]:
            del self._num_of_requester[requester]
