"""Server-sent events: frames as bytes, comments during silence, and an end when the reader has left."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import msgspec
from litestar.response.base import ASGIResponse
from litestar.types import HTTPResponseBodyEvent, Receive, Send

from cactus_actors.gateway.answers.disconnects import wait_for_disconnect
from cactus_actors.gateway.http.request_body import ClientDisconnected

DONE = b"data: [DONE]\n\n"
PING = b": ping\n\n"

_encode = msgspec.json.Encoder().encode


@dataclass(frozen=True, kw_only=True)
class StreamFormat:
    """What is around the data of a stream's events.

    `done` ends the stream, `ping` keeps it open in silence, if there is one. With `is_named` an event's name is the
    `type` of its data. Without `has_frames` it is the data alone, on a line. Without `has_ids` its data say where a
    reader can continue.
    """

    done: bytes = DONE
    ping: bytes = PING
    is_named: bool = False
    has_frames: bool = True
    has_ids: bool = True

    @property
    def media_type(self) -> str:
        return "text/event-stream" if self.has_frames else "application/x-ndjson"

    def event(self, data: dict[str, Any], event_id: str | None = None) -> bytes:
        """One frame; a reader continues after it by sending `event_id` as Last-Event-ID."""
        if not self.has_frames:
            return _encode(data) + b"\n"
        name = b"event: %b\n" % data["type"].encode() if self.is_named else b""
        position = b"" if event_id is None else b"id: %b\n" % event_id.encode()
        return b"%b%bdata: %b\n\n" % (name, position, _encode(data))


OPENAI_STREAM = StreamFormat()
LLAMA_CPP_STREAM = StreamFormat(done=b"")
ANTHROPIC_STREAM = StreamFormat(done=b"", ping=b'event: ping\ndata: {"type":"ping"}\n\n', is_named=True)
RESPONSES_STREAM = StreamFormat(done=b"", is_named=True, has_ids=False)
OLLAMA_STREAM = StreamFormat(done=b"", ping=b"", has_frames=False)


class ByteStreamResponse(ASGIResponse):
    """Sends the bytes of `frames`; closes it when the reader leaves."""

    __slots__ = ("_frames",)

    _should_set_content_length = False

    def __init__(self, frames: AsyncIterator[bytes], media_type: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(media_type=media_type, headers=headers)
        self._frames = frames

    async def send_body(self, send: Send, receive: Receive) -> None:
        sending = asyncio.current_task()
        assert sending is not None
        reader = _Reader(sending, receive)
        try:
            async with contextlib.aclosing(self._frames) as frames:  # type: ignore[type-var]
                async for frame in frames:
                    await send(_body(frame, is_more=True))
            reader.release()
            await send(_body(b"", is_more=False))
        except asyncio.CancelledError:
            if reader.is_disconnected and not sending.uncancel():
                raise ClientDisconnected from None
            raise
        finally:
            reader.release()


class EventStreamResponse(ByteStreamResponse):
    """A stream of events."""

    __slots__ = ()

    def __init__(self, frames: AsyncIterator[bytes], media_type: str) -> None:
        super().__init__(frames, media_type, {"cache-control": "no-cache", "x-accel-buffering": "no"})


class _Reader:
    """Cancels the sending task when its reader has left."""

    def __init__(self, sending: asyncio.Task[Any], receive: Receive) -> None:
        self.is_disconnected = False
        self._sending = sending
        self._watching = asyncio.create_task(wait_for_disconnect(receive))
        self._watching.add_done_callback(self._leave)

    def release(self) -> None:
        """Stop watching."""
        self._watching.remove_done_callback(self._leave)
        self._watching.cancel()

    def _leave(self, _: asyncio.Task[None]) -> None:
        self.is_disconnected = True
        self._sending.cancel()


def _body(frame: bytes, *, is_more: bool) -> HTTPResponseBodyEvent:
    return {"type": "http.response.body", "body": frame, "more_body": is_more}
