"""Loads the results of ended jobs from the journal for messages that wait for them."""

from __future__ import annotations

from cactus_actors.router.effects import LoadResult, Outbox
from cactus_actors.router.state.deferred_messages import DeferralLimits, DeferredMessage, DeferredMessages
from cactus_actors.router.state.user_round_robin import UserRoundRobin

MAX_LOADING = 4
"""Results that are loaded at a time; a requester waits at most for these, however many others request."""


class ResultLoader:
    """Loads results for one requester after the other; `waiting` holds the messages until then."""

    def __init__(self, outbox: Outbox, limits: DeferralLimits) -> None:
        self.waiting = DeferredMessages(limits, "too many results are being read from the journal", merges_repeats=True)
        self._outbox = outbox
        self._requesters: UserRoundRobin[str] = UserRoundRobin()
        self._loading: set[str] = set()

    def load(self, job_id: str, message: DeferredMessage) -> None:
        """Load a result for this message; raises Overloaded when too many messages wait."""
        # Another requester may already wait for the same job; the first turn of either loads it.
        if self.waiting.defer(job_id, message):
            self._requesters.put(job_id, message.requester, is_background=False)
        self._load_next()

    def on_loaded(self, job_id: str) -> None:
        """Record that the journal was read for a job, and that the messages about it were handled."""
        self._loading.discard(job_id)
        self._load_next()

    def _load_next(self) -> None:
        while len(self._loading) < MAX_LOADING and (job_id := self._requesters.take()) is not None:
            if job_id in self.waiting and job_id not in self._loading:
                self._loading.add(job_id)
                self._outbox.add(LoadResult(job_id))
