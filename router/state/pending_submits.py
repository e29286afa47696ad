"""Requests that are being prepared: nobody was answered yet, and what concerns them waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from cactus_actors.protocol.errors import CactusError, Overloaded
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.journal_records import AcceptedRecord
from cactus_actors.router.state.load import Load, load_of

MAX_LATER = 64

Later = Callable[[float], None]
"""What a client asked about a job before it was prepared; called with the time then."""


@dataclass(slots=True, eq=False)
class Arrival:
    """A request from its arrival to its preparation; `record` is what an earlier router accepted.

    `account` is the API key whose share it takes, empty without one; `terms` are what its job gets, `user` is
    whose it will be, `work` what it is expected to take.
    `later` has who asked beside what they asked. With a `refusal` it is refused however its preparation ends.

    It is held as bytes, `content`: decoded, a few bytes may be a hundred times as large.
    """

    job_id: str
    content: bytes
    digest: bytes
    encoding: Encoding
    tenant: str
    arrived_at: float
    askers: dict[bytes, Encoding] = field(default_factory=dict)
    later: list[tuple[bytes, Later]] = field(default_factory=list)
    record: AcceptedRecord | None = None
    refusal: CactusError | None = None
    traceparent: str | None = None
    account: str = ""
    terms: KeyGrants = DEFAULT_GRANTS
    is_keyed: bool = False
    user: str = ""
    work: float = 0.0
    is_background: bool = False

    @property
    def load(self) -> Load:
        return load_of(self.content)

    def ask_later(self, identity: bytes, later: Later) -> None:
        """Keep what a client asks until this is prepared; raises Overloaded when that is too much."""
        if len(self.later) >= MAX_LATER:
            raise Overloaded("too many questions wait until this job is prepared", retry_after=1.0)
        self.later.append((identity, later))


class Arrivals:
    """Arrivals by ticket and by job."""

    def __init__(self) -> None:
        self._by_ticket: dict[int, Arrival] = {}
        self._by_job: dict[str, Arrival] = {}
        self._next_ticket = 1

    def __len__(self) -> int:
        return len(self._by_ticket)

    def __iter__(self) -> Iterator[Arrival]:
        return iter(self._by_ticket.values())

    def add(self, arrival: Arrival) -> int:
        """The ticket that it gets."""
        ticket = self._next_ticket
        self._next_ticket += 1
        self._by_ticket[ticket] = arrival
        self._by_job[arrival.job_id] = arrival
        return ticket

    def of(self, job_id: str, caller: Caller) -> Arrival | None:
        """The arrival of a job that this caller may know of."""
        arrival = self._by_job.get(job_id)
        return arrival if arrival is not None and arrival.tenant == caller.tenant else None

    def holding(self, job_id: str) -> Arrival | None:
        """The arrival of a job, whoever sent it."""
        return self._by_job.get(job_id)

    def take(self, ticket: int) -> Arrival:
        """Remove an arrival that is prepared."""
        arrival = self._by_ticket.pop(ticket)
        del self._by_job[arrival.job_id]
        return arrival

    def take_all(self) -> list[Arrival]:
        arrivals = list(self._by_ticket.values())
        self._by_ticket.clear()
        self._by_job.clear()
        return arrivals
