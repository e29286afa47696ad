"""Frames that are not a message get one typed error with the reason."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol import errors, wire
from cactus_actors.protocol.errors import (
    CactusError,
    InvalidMessage,
    MediaTooLarge,
    Overloaded,
    ServerFailure,
    UnsupportedVersion,
    error_from_info,
)
from cactus_actors.protocol.messages import StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.pictures import (
    MAX_PICTURE_BYTES,
    MAX_PICTURES,
    MAX_REQUEST_PICTURE_BYTES,
    PictureFrame,
)

DECODER = wire.client_message_decoder()
MSGPACK_HEADER = b"\x01m"
JSON_HEADER = b"\x01j"
JOB_ID = "0123456789abcdef" * 2


@pytest.mark.parametrize("encoding", [wire.MSGPACK, wire.JSON])
def test_a_message_is_decoded_from_its_frames(encoding: wire.Encoding) -> None:
    submit = Submit(job_id=JOB_ID, prompt=[1, "a", 2], options=Options(stop=["x"], seed=2**64 - 1))
    assert DECODER.decode(wire.encode(submit, encoding)) == submit


@pytest.mark.parametrize("header", [b"", b"\x00m", b"\xffj", b"\x01", b"\x01x", b"GET / HTTP/1.1", b"\x01mm"])
def test_an_unknown_header_names_the_supported_one(header: bytes) -> None:
    with pytest.raises(UnsupportedVersion, match="0x01"):
        DECODER.decode([header, b"\x80"])


@pytest.mark.parametrize("count", [0, 1, 3, 1000])
def test_a_wrong_number_of_frames_is_counted(count: int) -> None:
    with pytest.raises(InvalidMessage, match=f"got {count}"):
        DECODER.decode([MSGPACK_HEADER] * count)


@pytest.mark.parametrize(
    ("header", "payload", "words"),
    [
        (MSGPACK_HEADER, b"\xdd\xff\xff\xff\xff", "object"),
        (MSGPACK_HEADER, b"\xdf\xff\xff\xff\xff", "not decodable"),
        (MSGPACK_HEADER, b"\xdb\xff\xff\xff\xff", "^not decodable: it ends too early$"),
        (MSGPACK_HEADER, b"\x91" * 10_000, "object"),
        (MSGPACK_HEADER, b"\x82\xa4type\xa6submit\xa6job_id\xa2\xff\xfe", "UTF-8"),
        (MSGPACK_HEADER, b"\x81\xa4type\xa6status\x00", "trailing"),
        (MSGPACK_HEADER, b"\x80\x04\x95\x10.", "type is required"),
        (JSON_HEADER, b'{"type":"submit","job_id":"a","fruit":1}', "fruit"),
        (JSON_HEADER, b'{"type":"submit"}', "job_id"),
        (JSON_HEADER, b'{"type":"bribe"}', "bribe"),
        (JSON_HEADER, b'{"type":"submit","job_id":7}', "^job_id must be a string"),
        (JSON_HEADER, b'{"type":"submit","job_id":"a","options":{"top_k":1.5}}', "^top_k must be an integer"),
        (JSON_HEADER, b'{"type":"submit","job_id":"a","options":{"top_k":true}}', "^top_k must be an int"),
        (JSON_HEADER, b'{"type":"submit","job_id":"a","options":{"topk":1}}', "topk"),
        (JSON_HEADER, b'{"type":"submit","job_id":"a","tools":' + b"[" * 100_000, "tools|deep"),
        (JSON_HEADER, b'{"type":"status"', "^not decodable: it ends too early$"),
        (JSON_HEADER, b"\xef\xbb\xbf{}", r"^not decodable: invalid character \(byte 0\)$"),
    ],
)
def test_a_bad_payload_is_explained(header: bytes, payload: bytes, words: str) -> None:
    with pytest.raises(InvalidMessage, match=words):
        DECODER.decode([header, payload])


def test_an_oversized_payload_is_refused_by_its_size() -> None:
    with pytest.raises(InvalidMessage, match=str(wire.MAX_MESSAGE_BYTES)):
        DECODER.decode([JSON_HEADER, b" " * (wire.MAX_MESSAGE_BYTES + 1)])


def test_pictures_follow_a_submit_alone() -> None:
    decoder = wire.RequestDecoder()
    submit = Submit(job_id=JOB_ID, prompt="<__media__>", images=[PictureFrame(0), "a.png"])
    for encoding in (wire.MSGPACK, wire.JSON):
        frames = wire.encode(submit, encoding)
        assert decoder.decode([*frames, b"one"]) == (submit, [b"one"])
        assert decoder.decode(frames) == (submit, [])
    with pytest.raises(InvalidMessage, match="only a submit has more than 2 frames; got 3"):
        decoder.decode([*wire.encode(StatusRequest()), b"one"])
    for count in (0, 1):
        with pytest.raises(InvalidMessage, match=f"got {count}"):
            decoder.decode([MSGPACK_HEADER] * count)


@pytest.mark.parametrize(
    ("sizes", "kind"),
    [
        ([2, wire.MAX_MESSAGE_BYTES, MAX_PICTURE_BYTES, MAX_REQUEST_PICTURE_BYTES - MAX_PICTURE_BYTES], None),
        ([2, 10, *[0] * MAX_PICTURES], None),
        ([2, wire.MAX_MESSAGE_BYTES + 1], InvalidMessage),
        ([2, 10, *[0] * (MAX_PICTURES + 1)], InvalidMessage),
        ([2, 10, 0, MAX_PICTURE_BYTES + 1], MediaTooLarge),
        ([2, 10, MAX_PICTURE_BYTES, MAX_REQUEST_PICTURE_BYTES - MAX_PICTURE_BYTES + 1], MediaTooLarge),
        ([], None),
    ],
)
def test_the_sizes_of_a_request_have_exact_limits(sizes: list[int], kind: type[CactusError] | None) -> None:
    if kind is None:
        wire.check_sizes(sizes)
        return
    with pytest.raises(kind):
        wire.check_sizes(sizes)


@given(st.sampled_from([MSGPACK_HEADER, JSON_HEADER]), st.binary(max_size=200))
def test_arbitrary_bytes_raise_only_typed_errors(header: bytes, payload: bytes) -> None:
    try:
        message = DECODER.decode([header, payload])
    except InvalidMessage:
        return
    assert isinstance(message, msgspec.Struct)


def test_errors_are_restored_with_their_type() -> None:
    error = error_from_info(Overloaded("full", retry_after=1.5).info())
    assert type(error) is Overloaded
    assert error.retry_after == 1.5


def test_every_message_is_decoded_to_its_class() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, CactusError)]
    assert len(kinds) > 15
    for kind in set(kinds) - {ServerFailure}:  # ServerFailure travels as the general CactusError
        assert type(error_from_info(kind("why").info())) is kind
