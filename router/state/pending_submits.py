"""Requests that are being prepared: their clients have no answer yet."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.journal_records import AcceptedRecord
from cactus_actors.router.state.reservation import Reservation


@dataclass(slots=True, eq=False)
class PendingSubmit:
    """A request from its arrival to the end of its preparation.

    `content` is the request in MessagePack: decoded, a few bytes may be a hundred times as large. `record` is
    set for a job that an earlier router accepted. `account` is the API key that pays for it, empty without
    one. `requesters` are the connections that wait for an answer. A request with a `refusal` is refused
    whatever its preparation gives.
    """

    job_id: str
    content: bytes
    digest: bytes
    encoding: Encoding
    tenant: str
    arrived_at: float
    reservation: Reservation
    requesters: dict[bytes, Encoding] = field(default_factory=dict)
    record: AcceptedRecord | None = None
    refusal: CactusError | None = None
    traceparent: str | None = None
    account: str = ""
    grants: KeyGrants = DEFAULT_GRANTS
    is_keyed: bool = False


class PendingSubmits:
    """Pending submits by job, in the order of their arrival."""

    def __init__(self) -> None:
        self._by_job: dict[str, PendingSubmit] = {}

    def __len__(self) -> int:
        return len(self._by_job)

    def __iter__(self) -> Iterator[PendingSubmit]:
        return iter(self._by_job.values())

    def add(self, pending: PendingSubmit) -> None:
        self._by_job[pending.job_id] = pending

    def get(self, job_id: str) -> PendingSubmit | None:
        return self._by_job.get(job_id)

    def is_known(self, job_id: str, caller: Caller) -> bool:
        """Whether the job is pending and belongs to this caller's tenant."""
        pending = self._by_job.get(job_id)
        return pending is not None and pending.tenant == caller.tenant

    def take(self, job_id: str) -> PendingSubmit:
        """Remove a request whose preparation has ended."""
        return self._by_job.pop(job_id)

    def take_all(self) -> list[PendingSubmit]:
        pending = list(self._by_job.values())
        self._by_job.clear()
        return pending
