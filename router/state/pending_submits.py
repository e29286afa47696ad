"""Requests that are being prepared: nobody was answered yet, and what concerns them waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cactus_actors.protocol.errors import CactusError, Overloaded
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.journal_records import AcceptedRecord
from cactus_actors.router.state.queue_load import QueueLoad, load_of_request

MAX_DEFERRED = 64

Deferred = Callable[[float], None]
"""What a client asked about a job before it was prepared; called with the time then."""


@dataclass(slots=True, eq=False)
class PendingSubmit:
    """A request from its arrival to its preparation; `record` is what an earlier router accepted.

    `account` is the API key whose share it takes, empty without one; `grants` are what its job gets, `user` is
    whose it will be, `work` what it is expected to take.
    `deferred` has who asked beside what they asked. With a `refusal` it is refused however its preparation ends.

    It is held as bytes, `content`: decoded, a few bytes may be a hundred times as large.
    """

    job_id: str
    content: bytes
    digest: bytes
    encoding: Encoding
    tenant: str
    arrived_at: float
    requesters: dict[bytes, Encoding] = field(default_factory=dict)
    deferred: list[tuple[bytes, Deferred]] = field(default_factory=list)
    record: AcceptedRecord | None = None
    refusal: CactusError | None = None
    traceparent: str | None = None
    account: str = ""
    grants: KeyGrants = DEFAULT_GRANTS
    is_keyed: bool = False
    user: str = ""
    work: float = 0.0
    is_background: bool = False

    @property
    def load(self) -> QueueLoad:
        return load_of_request(self.content)

    def defer(self, identity: bytes, deferred: Deferred) -> None:
        """Keep what a client asks until this is prepared; raises Overloaded when that is too much."""
        if len(self.deferred) >= MAX_DEFERRED:
            raise Overloaded("too many questions wait until this job is prepared", retry_after=1.0)
        self.deferred.append((identity, deferred))


class PendingSubmits:
    """The pending submits by ticket and by job."""

    def __init__(self) -> None:
        self._by_ticket: dict[int, PendingSubmit] = {}
        self._by_job: dict[str, PendingSubmit] = {}
        self._next_ticket = 1

    def __len__(self) -> int:
        return len(self._by_ticket)

    def __iter__(self) -> Iterator[PendingSubmit]:
        return iter(self._by_ticket.values())

    def add(self, pending: PendingSubmit) -> int:
        """The ticket that it gets."""
        ticket = self._next_ticket
        self._next_ticket += 1
        self._by_ticket[ticket] = pending
        self._by_job[pending.job_id] = pending
        return ticket

    def of(self, job_id: str, caller: Caller) -> PendingSubmit | None:
        """The pending submit of a job that this caller may know of."""
        pending = self._by_job.get(job_id)
        return pending if pending is not None and pending.tenant == caller.tenant else None

    def holding(self, job_id: str) -> PendingSubmit | None:
        """The pending submit of a job, whoever sent it."""
        return self._by_job.get(job_id)

    def take(self, ticket: int) -> PendingSubmit:
        """Remove a pending submit that is prepared."""
        pending = self._by_ticket.pop(ticket)
        del self._by_job[pending.job_id]
        return pending

    def take_all(self) -> list[PendingSubmit]:
        pending = list(self._by_ticket.values())
        self._by_ticket.clear()
        self._by_job.clear()
        return pending
