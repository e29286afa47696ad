"""The messages between the router and its edge process."""

from __future__ import annotations

import msgspec

from cactus_actors.router.state.caller import Caller, RevokedKey


class EdgeStruct(msgspec.Struct, frozen=True, array_like=True, gc=False):
    """Base of all messages between the two."""


# router -> edge


class BindSockets(EdgeStruct, frozen=True, tag=1):
    """The first message: bind the two sockets of clients; answered by SocketsBound or BindFailed.

    `keys_dir` has the accepted keys, None for a service without keys. A subscriber may have `max_unread` messages
    waiting for it, and `send_buffer` bytes. The process may allocate `max_memory_bytes` beyond what it starts with.
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
    """Only that tenant may subscribe to the job from now on; None lifts the restriction."""

    topic: str
    tenant: str | None


class RequestsTaken(EdgeStruct, frozen=True, tag=5):
    """The router handled `num_requests` more ClientRequests: the same number may be sent."""

    num_requests: int


class Close(EdgeStruct, frozen=True, tag=6):
    """Send the remaining messages and end."""


# edge -> router


class SocketsBound(EdgeStruct, frozen=True, tag=1):
    """Both sockets are bound; ports are resolved."""

    jobs: str
    stream: str


class BindFailed(EdgeStruct, frozen=True, tag=2):
    """A socket cannot be bound, for the reason that `message` gives."""

    message: str


class ClientRequest(EdgeStruct, frozen=True, tag=3):
    """The frames of a client's message; `caller` is None if its key was revoked.

    On the way from the edge process to the router, `num_attached` of the frames follow the message.
    """

    identity: bytes
    caller: Caller | None
    frames: list[bytes]
    num_attached: int = 0


class Subscription(EdgeStruct, frozen=True, tag=4):
    """A caller subscribed to a job, or was refused for the reason `refusal`."""

    topic: str
    caller: Caller
    refusal: str | None


class Unsubscription(EdgeStruct, frozen=True, tag=5):
    """A subscription ended; `caller` is None if its connection ended."""

    topic: str
    caller: Caller | None


class BadTopic(EdgeStruct, frozen=True, tag=6):
    """A connection subscribed to a topic that is not a job id."""


class Revocation(EdgeStruct, frozen=True, tag=7):
    """A client's key was revoked."""

    revoked: RevokedKey


class Refusals(EdgeStruct, frozen=True, tag=8):
    """The refusals since the last such message, by reason."""

    counts: dict[str, int]


class Heartbeat(EdgeStruct, frozen=True, tag=9):
    """Sent once a second."""


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
