"""Frames that no correct peer sends: each is refused, and the router keeps running."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import pytest

from cactus_actors.protocol.messages import Accepted, Finished, Rejected, Status, StatusRequest
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES
from cactus_actors.protocol.wire import MAX_MESSAGE_BYTES, encode
from cactus_actors.protocol.worker_messages import Dispatch, Finish, Welcome
from tests.support.router.core_harness import job_id
from tests.support.router.running_router import Service, serving, submit
from tests.support.router.worker_messages import make_delta, make_hello, report

BAD_FRAMES: dict[str, tuple[Sequence[bytes], str]] = {
    "empty frame": ([b""], "invalid_message"),
    "one frame": ([b"\x01m"], "invalid_message"),
    "three frames": ([b"\x01m", b"\x80", b""], "invalid_message"),
    "a thousand frames": ([b"\x01m"] * 1000, "invalid_message"),
    "an HTTP request": ([b"GET / HTTP/1.1\r\n\r\n", b""], "unsupported_version"),
    "version 0": ([b"\x00m", b"\x80"], "unsupported_version"),
    "version 255": ([b"\xffm", b"\x80"], "unsupported_version"),
    "unknown encoding": ([b"\x01x", b"\x80"], "unsupported_version"),
    "unknown type": ([b"\x01j", b'{"type":"explode"}'], "invalid_message"),
    "no type": ([b"\x01j", b"{}"], "invalid_message"),
    "array of 4 G items": ([b"\x01m", b"\xdd\xff\xff\xff\xff"], "invalid_message"),
    "map of 4 G items": ([b"\x01m", b"\xdf\xff\xff\xff\xff"], "invalid_message"),
    "string of 4 G bytes": ([b"\x01m", b"\xdb\xff\xff\xff\xff"], "invalid_message"),
    "nested 10 k deep": ([b"\x01m", b"\x91" * 10_000], "invalid_message"),
    "JSON nested 100 k deep": (
        [b"\x01j", b'{"type":"submit","tools":' + b"[" * 100_000],
        "invalid_message",
    ),
    "not UTF-8": ([b"\x01m", b"\x81\xa4type\xa2\xff\xfe"], "invalid_message"),
    "pickle": ([b"\x01m", pickle.dumps({"type": "submit"})], "invalid_message"),
    "protobuf": ([b"\x01m", b"\x0a\x06submit\x12\x01x"], "invalid_message"),
    "an extension type": (
        [b"\x01m", msgspec.msgpack.encode({"type": "cancel", "job_id": msgspec.msgpack.Ext(1, b"x")})],
        "invalid_message",
    ),
    "an extension type where anything goes": (
        [
            b"\x01m",
            msgspec.msgpack.encode(
                {
                    "type": "submit",
                    "job_id": job_id(8),
                    "messages": [{"role": "user", "tool_calls": [msgspec.msgpack.Ext(1, b"x")]}],
                }
            ),
        ],
        "invalid_message",
    ),
    "nested deep where anything goes": (
        [b"\x01m", b"\x82\xa4type\xa6submit\xa5tools\x91\x81\xa1a" + b"\x91" * 100_000],
        "invalid_message",
    ),
    "gzip": ([b"\x01m", b"\x1f\x8b\x08\x00" + bytes(20)], "invalid_message"),
    "bin where str": (
        [b"\x01m", msgspec.msgpack.encode({"type": "cancel", "job_id": b"x"})],
        "invalid_message",
    ),
    "float where int": (
        [b"\x01j", b'{"type":"resume","job_id":"x","next_index":1.5}'],
        "invalid_message",
    ),
    "bool where int": (
        [b"\x01j", b'{"type":"resume","job_id":"x","next_index":true}'],
        "invalid_message",
    ),
    "trailing bytes": (
        [b"\x01m", msgspec.msgpack.encode({"type": "status"}) + b"\x00"],
        "invalid_message",
    ),
    "frames after a status": ([b"\x01j", b'{"type":"status"}', b"\x89PNG"], "invalid_message"),
    "more frames than pictures": (
        [b"\x01j", f'{{"type":"submit","job_id":"{job_id(8)}","prompt":"x"}}'.encode(), b"\x89PNG"],
        "invalid_message",
    ),
    "more pictures than frames": (
        [b"\x01j", f'{{"type":"submit","job_id":"{job_id(8)}","prompt":"x","images":[{{"frame":0}}]}}'.encode()],
        "invalid_message",
    ),
    "33 frames with pictures": (
        [b"\x01j", f'{{"type":"submit","job_id":"{job_id(8)}","prompt":"x"}}'.encode(), *[b"x"] * 33],
        "invalid_message",
    ),
    "a frame that is no number": (
        [b"\x01j", f'{{"type":"submit","job_id":"{job_id(8)}","images":[{{"frame":"0"}}]}}'.encode(), b"x"],
        "invalid_message",
    ),
    "unknown field": ([b"\x01j", b'{"type":"status","colour":"red"}'], "invalid_message"),
    "missing field": ([b"\x01j", b'{"type":"cancel"}'], "invalid_message"),
    "unknown option": (
        [b"\x01j", b'{"type":"submit","job_id":"x","prompt":"x","options":{"temprature":1}}'],
        "invalid_message",
    ),
    "integer of 400 digits": (
        [
            b"\x01j",
            f'{{"type":"submit","job_id":"{job_id(8)}","prompt":[1{"0" * 400}]}}'.encode(),
        ],
        "invalid_request_error",
    ),
    "huge option": (
        [
            b"\x01j",
            f'{{"type":"submit","job_id":"{job_id(8)}","options":{{"seed":1{"0" * 300}}}}}'.encode(),
        ],
        "invalid_request_error",
    ),
    "bad job id": ([b"\x01j", b'{"type":"submit","job_id":"../x","prompt":"x"}'], "invalid_request_error"),
    "resume of nothing": ([b"\x01j", b'{"type":"resume","job_id":"x"}'], "not_found_error"),
    "cancel of nothing": ([b"\x01j", b'{"type":"cancel","job_id":"x"}'], "not_found_error"),
    "a worker's hello": (encode(make_hello()), "invalid_message"),
}


@pytest.fixture(scope="module")
def shared_service() -> Iterator[Service]:
    with serving() as service:
        yield service


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_bad_frames_are_rejected_and_change_nothing(shared_service: Service, name: str) -> None:
    frames, kind = BAD_FRAMES[name]
    client, neighbour = shared_service.client(), shared_service.client()
    num_rejected = shared_service.status().jobs.rejected
    client.send_frames(*frames)
    rejected = client.receive()
    assert isinstance(rejected, Rejected)
    assert rejected.error.type == kind
    assert "Traceback" not in rejected.error.message
    neighbour.send(StatusRequest())
    status = neighbour.receive()
    assert (status.jobs.accepted, status.jobs.rejected, status.workers) == (0, num_rejected + 1, [])


class Canary:
    """An object whose unpickling creates a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_pickles_are_not_executed(service: Service, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    client, worker = service.client(), service.worker()
    for header in (b"\x01m", b"\x01j"):
        client.send_frames(header, pickle.dumps(Canary(canary)))
        assert client.receive().error.type == "invalid_message"
        worker.socket.send_multipart([header, pickle.dumps(Canary(canary))])
    client.send(StatusRequest())
    assert isinstance(client.receive(), Status)
    assert not canary.exists()
    pickle.loads(pickle.dumps(Canary(canary)))
    assert canary.exists()


def test_an_error_names_the_field(shared_service: Service) -> None:
    client = shared_service.client()
    client.send_frames(b"\x01j", b'{"type":"submit","job_id":"x","prompt":"x","options":{"temprature":1}}')
    assert "temprature" in client.receive().error.message
    client.send_frames(b"\x01j", b'{"type":"submit","job_id":"x","prompt":"x","options":{"top_k":"many"}}')
    error = client.receive().error
    assert (error.param, error.message) == ("top_k", "top_k must be an integer or null, not a string")


@pytest.mark.parametrize(
    ("field", "value"), [("job_id", job_id(7)), ("request_id", "r7"), ("job_id", None), ("job_id", 5)]
)
def test_a_message_of_another_version_is_refused_with_the_version(
    shared_service: Service, field: str, value: object
) -> None:
    client = shared_service.client()
    client.send_frames(b"\x01j", json.dumps({"type": "submit", field: value, "new": 1}).encode())
    rejected = client.receive(Rejected)
    assert getattr(rejected, field) == (value if isinstance(value, str) else None)


def test_an_oversized_frame_costs_its_sender_the_connection(service: Service) -> None:
    client = service.client()
    client.send_frames(b"\x01m", bytes(MAX_PICTURE_BYTES + 100_000))
    assert client.is_silent(300)
    assert service.status().jobs.rejected == 0


def test_an_oversized_payload_is_refused_before_it_reaches_the_router(service: Service) -> None:
    client = service.client()
    client.send_frames(b"\x01m", bytes(MAX_MESSAGE_BYTES + 1))
    assert client.receive().error.type == "invalid_message"
    assert service.status().jobs.rejected == 0


def test_garbage_on_the_worker_socket_changes_nothing(service: Service) -> None:
    stranger = service.stranger()
    for frames in ([b""], [b"\x01m", b"\xc1"], [b"\x00m", b"\x90"], encode(StatusRequest())):
        stranger.send_frames(*frames)
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    assert isinstance(worker.receive(), Dispatch)
    stranger.send(report())
    assert isinstance(stranger.receive(), Welcome)  # "say Hello first"


@pytest.mark.parametrize("token_id", [10**40, 2**64 - 1])
def test_false_numbers_of_a_worker_do_not_end_the_router(service: Service, token_id: int) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch_id = worker.receive(Dispatch).dispatch_id
    delta = f'[{dispatch_id},0,[{token_id}],"x",[0.5],[-0.5],0,["stop"]]'
    worker.send_frames(b"\x01j", f"[2,{token_id},{token_id},1,1,[{delta}],{token_id}]".encode())
    worker.send(report(make_delta(dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    client.receive(Accepted)
    assert client.receive(Finished).result.text == "yo"
    assert service.status().workers[0].tokens_generated == 0
