"""Frames of clients, workers and routers: they decode, or raise InvalidMessage; odd messages are handled."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol import wire
from cactus_actors.protocol.errors import CactusError, InvalidMessage, MediaTooLarge
from cactus_actors.protocol.messages import ClientMessage, RouterReply, StreamMessage
from cactus_actors.protocol.worker_messages import RouterCommand, WorkerMessage
from tests.support.fuzzing.damage import damaged
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.fuzzing.values import encodable, of_type

HEADERS = {"m": b"\x01m", "j": b"\x01j"}
UNIONS: dict[str, Any] = {
    "client": (ClientMessage, wire.client_message_decoder()),
    "reply": (RouterReply, wire.router_reply_decoder()),
    "stream": (StreamMessage, wire.stream_message_decoder()),
    "worker": (WorkerMessage, wire.worker_message_decoder()),
    "command": (RouterCommand, wire.router_command_decoder()),
}


def framed(message: msgspec.Struct, encoding: str) -> bytes:
    encode = msgspec.msgpack.encode if encoding == "m" else msgspec.json.encode
    return encode(message)


@pytest.mark.parametrize("side", UNIONS)
@fuzzed(10)
@given(data=st.data())
def test_damaged_messages_are_decoded_or_refused(side: str, data: st.DataObject) -> None:
    union, decoder = UNIONS[side]
    encoding = data.draw(st.sampled_from("mj"))
    message = data.draw(of_type(union).filter(encodable))
    whole = framed(message, encoding)
    payload = data.draw(damaged(whole)) if data.draw(st.booleans()) else whole
    frames = [HEADERS[encoding], payload]
    decoded = answer(decoder.decode, frames)
    if isinstance(decoded, CactusError):
        assert isinstance(decoded, InvalidMessage)
    else:
        wire.encode(decoded) if encodable(decoded) else None
    wire.message_ids_of(frames)


@fuzzed(20)
@given(data=st.data())
def test_any_frames_of_a_client_are_decoded_or_refused(data: st.DataObject) -> None:
    message = data.draw(of_type(ClientMessage).filter(encodable))
    encoding = data.draw(st.sampled_from("mj"))
    others = data.draw(st.lists(st.binary(max_size=20), max_size=40))
    frames = data.draw(st.sampled_from([[HEADERS[encoding], framed(message, encoding)], []])) + others
    decoded = answer(wire.RequestDecoder().decode, frames)
    if isinstance(decoded, CactusError):
        assert isinstance(decoded, InvalidMessage | MediaTooLarge)
    else:
        assert list(decoded[1]) == frames[2:]
    wire.message_ids_of(frames)
