"""The messages between a placement and an actor's process: four bytes of length, then msgpack."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from cactus_actors.protocol.error_info import ErrorInfo

_LENGTH_BYTES = 4


class ActorSpec(msgspec.Struct, frozen=True, array_like=True):
    """The first message to a process, which names its actor.

    Classes are given by module and name; `settings` is the encoded struct. The process begins on `cpus`,
    if there are some.
    """

    module: str
    name: str
    settings_module: str
    settings_name: str
    settings: bytes
    cpus: list[int] = []


class Call(msgspec.Struct, frozen=True, array_like=True):
    """Call a method; `number` is the answer's."""

    number: int
    method: str
    arguments: list[Any] = []


class CallReply(msgspec.Struct, frozen=True, array_like=True):
    """The reply to a call: the encoded value, or an error."""

    number: int
    value: bytes = b""
    error: ErrorInfo | None = None


def frame_of(message: object) -> bytes:
    """A message with its length prefix."""
    body = msgspec.msgpack.encode(message)
    return len(body).to_bytes(_LENGTH_BYTES, "big") + body


class FrameDecoder:
    """Splits received bytes into messages."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def messages(self, received: bytes) -> Iterator[bytes]:
        """The messages that are complete now."""
        self._waiting += received
        while len(self._waiting) >= _LENGTH_BYTES:
            end = _LENGTH_BYTES + int.from_bytes(self._waiting[:_LENGTH_BYTES], "big")
            if len(self._waiting) < end:
                return
            body = bytes(self._waiting[_LENGTH_BYTES:end])
            del self._waiting[:end]
            yield body
