"""The messages between the router and a preparation process: a length of four bytes, then msgpack.

Requests come in lists, each answered by the list of their replies.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence

import msgspec

from cactus_actors.config_models import CascadeSettings
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.model_overrides import NO_OVERRIDES, ModelOverrides
from cactus_actors.protocol.picture_access import DATA_URLS_ALONE, PictureAccess
from cactus_actors.protocol.results import Source
from cactus_actors.router.state.prepared_request import PreparedRequest

_LENGTH_BYTES = 4


class PreparerModel(msgspec.Struct, frozen=True):
    """A model by its path, overrides of its own files, and its name among several."""

    path: str
    overrides: ModelOverrides = NO_OVERRIDES
    name: str = ""


class PreparerSettings(msgspec.Struct, frozen=True):
    """The models, the cascade and the corpus of a child, and sources of pictures.

    With `keeps_pictures` the child returns the pictures that it read.
    """

    models: list[PreparerModel]
    cascade: CascadeSettings
    corpus: str | None
    pictures: PictureAccess = DATA_URLS_ALONE
    keeps_pictures: bool = False


class PreparerReady(msgspec.Struct, frozen=True, array_like=True, tag=1):
    """The process has loaded its model."""


class EncodedRequest(msgspec.Struct, frozen=True, array_like=True):
    """The encoder's form of PreparerRequest: `submit` is already in MessagePack."""

    submit: msgspec.Raw
    sources: list[Source] | None = None
    num_frames: int = 0
    tenant: str = ""
    model: str = ""


class PreparerRequest(msgspec.Struct, frozen=True, array_like=True):
    """A request to prepare, and its documents if they were chosen before; `num_frames` pictures follow it.

    `model` is the name of its model among several, or that of the cascade.
    """

    submit: Submit
    sources: list[Source] | None = None
    num_frames: int = 0
    tenant: str = ""
    model: str = ""


class PreparerReply(msgspec.Struct, frozen=True, array_like=True, tag=2):
    """The outcome of a request; exactly one of the two is set."""

    prepared: PreparedRequest | None = None
    error: ErrorInfo | None = None


def send(connection: socket.socket, message: object, frames: Sequence[bytes] = ()) -> int:
    """Send a message, and the frames that follow it; returns the length of the message's body in bytes."""
    body = msgspec.msgpack.encode(message)
    connection.sendall(len(body).to_bytes(_LENGTH_BYTES, "big") + body)
    for frame in frames:
        connection.sendall(len(frame).to_bytes(_LENGTH_BYTES, "big"))
        connection.sendall(frame)
    return len(body)


def receive(connection: socket.socket) -> bytes:
    """The next message's body, or a frame; EOFError when the other side has ended, TimeoutError when it is late."""
    length = int.from_bytes(_exactly(connection, _LENGTH_BYTES), "big")
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts = bytearray()
    while len(parts) < count:
        part = connection.recv(min(count - len(parts), 1 << 20))
        if not part:
            raise EOFError
        parts += part
    return bytes(parts)
