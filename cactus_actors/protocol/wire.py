"""Frames <-> messages.

A message is two frames, `[header, payload]`; a published one is three, `[topic, header, payload]`. The header
is two bytes: the protocol version and the payload's encoding, `m` for msgpack or `j` for JSON. A Submit may be
followed by pictures, a frame each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Generic, Literal, TypeVar

import msgspec

from cactus_actors.protocol.errors import InvalidMessage, MediaTooLarge, UnsupportedVersion
from cactus_actors.protocol.messages import ClientMessage, RouterReply, StreamMessage, Submit
from cactus_actors.protocol.pictures import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    MAX_PREPARED_BYTES,
    MAX_REQUEST_PICTURE_BYTES,
)
from cactus_actors.protocol.syntax_reason import syntax_reason
from cactus_actors.protocol.type_mismatch import mismatch_of
from cactus_actors.protocol.worker_messages import RouterCommand, WorkerMessage

PROTOCOL_VERSION = 1
Encoding = Literal["m", "j"]
MSGPACK: Encoding = "m"
JSON: Encoding = "j"
MAX_MESSAGE_BYTES = 4 * 1024 * 1024
MAX_COMMAND_BYTES = MAX_MESSAGE_BYTES + MAX_PREPARED_BYTES
"""The limit of the router's commands to workers, which carry pictures."""
JOB_ID_LENGTH = 32

SEARCHED_BYTES = 4096
"""The number of bytes at either end that are searched for the job id of an undecoded message."""
_JOB_ID = re.compile(rb"job_id[^0-9a-f]{1,8}([0-9a-f]{32})(?![0-9a-f])")
_JOB_ID_TEXT = re.compile(rf"[0-9a-f]{{{JOB_ID_LENGTH}}}")
_HEADERS: dict[Encoding, bytes] = {code: bytes([PROTOCOL_VERSION]) + code.encode() for code in (MSGPACK, JSON)}
_ENCODINGS: dict[bytes, Encoding] = {header: code for code, header in _HEADERS.items()}
_MSGPACK_ENCODER = msgspec.msgpack.Encoder()
_JSON_ENCODER = msgspec.json.Encoder()

decode_submit = msgspec.msgpack.Decoder(Submit).decode
"""Decodes a request that `encode` made."""

M = TypeVar("M")


def encode(message: msgspec.Struct, encoding: Encoding = MSGPACK) -> list[bytes]:
    """The two frames of `message`."""
    encoder = _MSGPACK_ENCODER if encoding == MSGPACK else _JSON_ENCODER
    return [_HEADERS[encoding], encoder.encode(message)]


def check_sizes(sizes: Sequence[int]) -> None:
    """Raise InvalidMessage or MediaTooLarge if the frames of a request, of these bytes each, are too many or large."""
    payload, pictures = sum(sizes[1:2]), sizes[2:]
    if payload > MAX_MESSAGE_BYTES:
        raise InvalidMessage(f"payload of {payload} bytes is above {MAX_MESSAGE_BYTES}")
    if len(pictures) > MAX_PICTURES:
        raise InvalidMessage(f"{len(pictures)} frames with pictures, {MAX_PICTURES} are allowed")
    for frame, size in enumerate(pictures):
        if size > MAX_PICTURE_BYTES:
            raise MediaTooLarge(f"frame {frame}: {size} bytes, {MAX_PICTURE_BYTES} are allowed", param="images")
    if (num_bytes := sum(pictures)) > MAX_REQUEST_PICTURE_BYTES:
        raise MediaTooLarge(
            f"the frames with pictures have {num_bytes} bytes, {MAX_REQUEST_PICTURE_BYTES} are allowed", param="images"
        )


def encode_published(topic: str, message: msgspec.Struct, encoding: Encoding = MSGPACK) -> list[bytes]:
    """The three frames of a message on the stream socket."""
    return [topic.encode(), *encode(message, encoding)]


def encoding_of(header: bytes) -> Encoding:
    """The encoding that a header frame announces; raises UnsupportedVersion."""
    encoding = _ENCODINGS.get(header)
    if encoding is None:
        raise UnsupportedVersion(
            f"unsupported header frame {header[:8].hex() or 'empty'}; "
            f"send {PROTOCOL_VERSION:#04x} followed by 'm' (msgpack) or 'j' (JSON)"
        )
    return encoding


def answer_encoding_of(frames: Sequence[bytes]) -> Encoding:
    """The encoding for the answer to frames that may not be a message."""
    try:
        return encoding_of(frames[0]) if frames else MSGPACK
    except UnsupportedVersion:
        return MSGPACK


class Decoder(Generic[M]):
    """Decodes one side's union of messages from its two frames.

    `decode` raises InvalidMessage (the offending field is its `param`) or UnsupportedVersion, and nothing
    else, whatever the bytes are. Without `takes_json` whatever it returns can be encoded again; JSON has
    integers that fit no frame.
    """

    def __init__(self, union: object, *, takes_json: bool = True, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._union = union
        self._max_bytes = max_bytes
        self._takes_json = takes_json
        self._msgpack: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(union, ext_hook=_refuse_extension)
        self._json: msgspec.json.Decoder[M] = msgspec.json.Decoder(union)

    def decode(self, frames: Sequence[bytes]) -> M:
        if len(frames) != 2:
            raise InvalidMessage(f"a message is 2 frames, header and payload; got {len(frames)}")
        header, payload = frames
        decoder = self._msgpack if encoding_of(header) == MSGPACK else self._json
        if decoder is self._json and not self._takes_json:
            raise InvalidMessage("only msgpack is accepted on this socket")
        if len(payload) > self._max_bytes:
            raise InvalidMessage(f"payload of {len(payload)} bytes is above {self._max_bytes}")
        try:
            return decoder.decode(payload)
        except msgspec.ValidationError as error:
            mismatch = mismatch_of(error, self._union, inside="options")
            raise InvalidMessage(mismatch.message, param=mismatch.param) from None
        except msgspec.DecodeError as error:
            raise InvalidMessage(f"not decodable: {syntax_reason(error)}") from None
        except RecursionError:
            raise InvalidMessage("not decodable: nested too deeply") from None
        except UnicodeDecodeError:
            raise InvalidMessage("not decodable: a string is not UTF-8") from None


class RequestDecoder:
    """Decodes the frames of clients: a message, and the pictures that follow a Submit.

    `decode` raises InvalidMessage, MediaTooLarge or UnsupportedVersion, and nothing else.
    """

    def __init__(self) -> None:
        self._decoder: Decoder[ClientMessage] = Decoder(ClientMessage)

    def decode(self, frames: Sequence[bytes]) -> tuple[ClientMessage, Sequence[bytes]]:
        message, pictures = self._decoder.decode(frames[:2]), frames[2:]
        if pictures and not isinstance(message, Submit):
            raise InvalidMessage(f"only a submit has more than 2 frames; got {len(frames)}")
        check_sizes([*map(len, frames)])
        return message, pictures


def _refuse_extension(code: int, _: memoryview) -> object:
    raise msgspec.ValidationError(f"Extension type {code} has no meaning here")


class MessageIds(msgspec.Struct, frozen=True):
    """Ids that the reply to an unreadable message repeats, so that only that request fails at the client."""

    job_id: str | None = None
    request_id: str | None = None


def message_ids_of(frames: Sequence[bytes]) -> MessageIds:
    """The readable ids of invalid frames; any may be missing."""
    try:
        return Decoder[MessageIds](MessageIds).decode(frames[:2])
    except InvalidMessage:
        return MessageIds()


def job_id_within(payload: memoryview) -> str | None:
    """The id of the job that a message is about, found near its beginning or end without decoding it."""
    for part in (payload[:SEARCHED_BYTES], payload[-SEARCHED_BYTES:]):
        if found := _JOB_ID.search(part):
            return found[1].decode()
    return None


def client_message_decoder() -> Decoder[ClientMessage]:
    """Decoder of the router, for messages of clients."""
    return Decoder(ClientMessage)


def router_reply_decoder() -> Decoder[RouterReply]:
    """Decoder of a client, for the job socket."""
    return Decoder(RouterReply)


def stream_message_decoder() -> Decoder[StreamMessage]:
    """Decoder of a client, for the stream socket, after the topic frame."""
    return Decoder(StreamMessage)


def worker_message_decoder() -> Decoder[WorkerMessage]:
    """Decoder of the router, for messages of workers."""
    return Decoder(WorkerMessage, takes_json=False)


def router_command_decoder() -> Decoder[RouterCommand]:
    """Decoder of a worker, for commands of the router."""
    return Decoder(RouterCommand, max_bytes=MAX_COMMAND_BYTES)


def is_job_id(text: str) -> bool:
    """True for 32 lowercase hexadecimal characters."""
    return _JOB_ID_TEXT.fullmatch(text) is not None
