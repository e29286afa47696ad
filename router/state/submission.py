"""A request on its arrival: what holds until its job ends, and what is kept until it is prepared."""

from __future__ import annotations

from dataclasses import dataclass, field

import msgspec

from cactus_actors.protocol.errors import CactusError
from cactus_actors.protocol.key_grants import DEFAULT_GRANTS, KeyGrants
from cactus_actors.protocol.wire import Encoding
from cactus_actors.router.state.encoded_picture import EncodedPicture
from cactus_actors.router.state.journal_records import AcceptedRecord
from cactus_actors.router.state.reservation import Reservation


class Submission(msgspec.Struct, frozen=True, gc=False):
    """A request as it arrived, without its content.

    `encoding` is that of its stream. `account` is the API key that pays for it, empty without one; `grants` are
    those of its key or account. An `is_keyed` request has a job id that follows from an idempotency key. `adapter` is
    the key of its adapter, or empty; `model` is the name of the model that runs it, empty in a service of one;
    that of an `is_cascade` job may change.
    """

    digest: bytes
    encoding: Encoding
    tenant: str
    arrived_at: float
    account: str = ""
    grants: KeyGrants = DEFAULT_GRANTS
    traceparent: str | None = None
    is_keyed: bool = False
    adapter: str = ""
    model: str = ""
    is_cascade: bool = False


@dataclass(slots=True, eq=False)
class SubmittedRequest:
    """A request that has not ended, and the room that it takes before it runs."""

    job_id: str
    submission: Submission
    reservation: Reservation

    @property
    def digest(self) -> bytes:
        return self.submission.digest

    @property
    def tenant(self) -> str:
        return self.submission.tenant

    @property
    def user(self) -> str:
        return self.reservation.user


@dataclass(slots=True, eq=False)
class PendingSubmit(SubmittedRequest):
    """A request from its arrival to the end of its preparation.

    `content` is the request in MessagePack: decoded, a few bytes may be a hundred times as large. `pictures` came with
    it as frames. `requesters` are the connections that wait for an answer. `record` is set for a job that an earlier
    router accepted. A request with a `refusal` is refused whatever its preparation gives.
    """

    content: bytes
    pictures: tuple[EncodedPicture, ...] = ()
    requesters: dict[bytes, Encoding] = field(default_factory=dict)
    record: AcceptedRecord | None = None
    refusal: CactusError | None = None
