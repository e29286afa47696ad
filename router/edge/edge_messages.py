"""What the router and its edge process say to each other."""

from __future__ import annotations

import msgspec

from cactus_actors.router.state.caller import Caller, RevokedKey


class EdgeStruct(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of all messages between the two."""


# router -> edge


class BindSockets(EdgeStruct, frozen=True, tag=1):
    """The first message: bind the two sockets of clients; answered by SocketsBound or BindFailed.

    `keys_dir` names the keys to ask for, None for none. A subscriber may have `max_unread` messages waiting
    for it, and `send_buffer` bytes. The process may allocate `max_memory_bytes` beyond what it starts with.
    """

    jobs_endpoint: str
    stream_endpoint: str
    keys_dir: str | None
    max_unread: int
    send_buffer: int
    max_memory_bytes: int


class ClientReply(EdgeStruct, frozen=True, tag=2):
    """Send these frames on the jobs socket to the client of that identity."""

    identity: bytes
    frames: list[bytes]


class Publications(EdgeStruct, frozen=True, tag=3):
    """Publish on the stream socket: topic, header and payload of one message after the other."""

    frames: list[bytes]


class JobOwner(EdgeStruct, frozen=True, tag=4):
    """A job belongs to that tenant, which alone may listen to it; to nobody any more if it is None."""

    topic: str
    tenant: str | None


class RequestsTaken(EdgeStruct, frozen=True, tag=5):
    """So many more Requests were handled: as many may be sent."""

    num_requests: int


class Close(EdgeStruct, frozen=True, tag=6):
    """Send what is left and end."""


# edge -> router


class SocketsBound(EdgeStruct, frozen=True, tag=1):
    """Both sockets are bound; ports are resolved."""

    jobs: str
    stream: str


class BindFailed(EdgeStruct, frozen=True, tag=2):
    """A socket cannot be bound, for the reason that `message` gives."""

    message: str


class ClientRequest(EdgeStruct, frozen=True, tag=3):
    """The frames of a client's message; `caller` is None if its key is accepted no more."""

    identity: bytes
    caller: Caller | None
    frames: list[bytes]


class Subscription(EdgeStruct, frozen=True, tag=4):
    """Somebody listens to a job, or wishes to and may not, for the reason that `refusal` gives."""

    topic: str
    caller: Caller
    refusal: str | None


class Unsubscription(EdgeStruct, frozen=True, tag=5):
    """Somebody listens no longer; `caller` is None for a connection that has ended."""

    topic: str
    caller: Caller | None


class BadTopic(EdgeStruct, frozen=True, tag=6):
    """Somebody wants to listen to what can be no job."""


class Revocation(EdgeStruct, frozen=True, tag=7):
    """A client's key is accepted no more."""

    revoked: RevokedKey


class Refusals(EdgeStruct, frozen=True, tag=8):
    """What connections were refused since the last such message, by reason."""

    counts: dict[str, int]


class Heartbeat(EdgeStruct, frozen=True, tag=9):
    """Said once a second."""


ToEdge = BindSockets | ClientReply | Publications | JobOwner | RequestsTaken | Close
FromEdge = (
    SocketsBound
    | BindFailed
    | ClientRequest
    | Subscription
    | Unsubscription
    | BadTopic
    | Revocation
    | Refusals
    | Heartbeat
)
