"""Pictures that follow a submit as frames of their own, through the edge process to a worker."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Accepted, Finished, Rejected, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.pictures import MAX_PICTURE_BYTES, PictureFrame
from cactus_actors.protocol.wire import JSON, encode
from cactus_actors.protocol.worker_messages import Dispatch, Finish
from cactus_actors.router.auth.large_messages import OF_ONE_CLIENT
from tests.support.router.core_harness import job_id
from tests.support.router.picture_letters import PictureLetters, png
from tests.support.router.running_router import Service, serving
from tests.support.router.secured_router import Generation

MIB = 1 << 20


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    with serving(PictureLetters(), journal_dir=str(tmp_path)) as service:
        yield service


def asking(number: int, num_frames: int = 1) -> Submit:
    images = [PictureFrame(frame) for frame in range(num_frames)]
    prompt = "<__media__>" * num_frames + "?"
    return Submit(job_id=job_id(number), prompt=prompt, images=list(images), options=Options(seed=3))


def large(seed: int, num_bytes: int) -> bytes:
    """A picture in a file of that size: what follows the end of a PNG is ignored."""
    return png(seed).ljust(num_bytes, b"\0")


def test_a_client_without_this_package_sends_json_and_frames(service: Service) -> None:
    worker, client = service.worker(), service.client()
    message = {
        "type": "submit",
        "job_id": job_id(1),
        "messages": [
            {"role": "user", "content": "a", "images": [{"frame": 1}]},
            {"role": "user", "content": [{"type": "image_url", "image_url": {"frame": 0}}]},
        ],
    }
    client.send_frames(b"\x01j", json.dumps(message).encode(), png(0), png(1))
    dispatch = worker.receive(Dispatch)
    tiles = [picture.tiles[0].pixels for picture in dispatch.pictures]
    assert tiles == [PictureLetters.pixels_of(png(seed)) for seed in (1, 0)]
    assert isinstance(client.receive(), Accepted)


def test_eight_megabytes_of_picture_pass_unchanged_and_others_are_answered_meanwhile(service: Service) -> None:
    worker, client, other = service.worker(), service.client(), service.client()
    client.socket.send_multipart([*encode(asking(1, 2), JSON), large(0, 8 * MIB), large(1, 3 * MIB)])
    other.send(StatusRequest(request_id="r"))
    assert other.receive().request_id == "r"
    assert len(worker.receive(Dispatch).pictures) == 2
    assert client.receive(Accepted).durable
    assert service.status().held.picture_bytes == 11 * MIB


def test_the_same_frames_again_are_the_same_job(service: Service) -> None:
    worker, client = service.worker(), service.client()
    for contents, kind in (((png(0),), Accepted), ((png(0),), Accepted), ((png(1),), Rejected)):
        client.socket.send_multipart([*encode(asking(1)), *contents])
        reply = client.receive()
        assert isinstance(reply, kind)
    assert reply.error.type == "idempotency_conflict"
    Generation(worker).say("yes", Finish("stop"))
    assert client.receive(Finished).result.text == "yes"


def test_frames_that_are_too_large_together_are_refused_at_once(service: Service) -> None:
    client = service.client()
    client.socket.send_multipart([*encode(asking(1, 2)), bytes(13 * MIB), bytes(12 * MIB)])
    rejected = client.receive(Rejected)
    assert (rejected.job_id, rejected.error.type) == (job_id(1), "media_too_large")
    assert rejected.error.retry_after is None
    client.socket.send_multipart([*encode(asking(2)), bytes(MAX_PICTURE_BYTES + 1)])
    assert client.receive(Rejected).error.message.startswith("frame 0: ")
    assert service.status().jobs.rejected == 0, "the router has not seen them"


def test_bytes_of_frames_count_towards_the_rate_of_large_messages(service: Service) -> None:
    client = service.client()
    num_sent = 5
    assert OF_ONE_CLIENT.burst < num_sent * 12 * MIB
    for number in range(num_sent):
        client.socket.send_multipart([*encode(asking(number)), bytes(12 * MIB)])
    replies = [client.receive(Rejected) for _ in range(num_sent)]
    assert {reply.job_id for reply in replies} == {job_id(number) for number in range(num_sent)}
    refused = [reply.error for reply in replies if reply.error.type == "rate_limit_error"]
    assert 0 < len(refused) < num_sent
    assert all(error.retry_after for error in refused)
    assert {reply.error.type for reply in replies} == {"media_invalid", "rate_limit_error"}
    assert service.status().refused == {"large_messages": len(refused)}


async def test_the_python_client_sends_frames(service: Service, tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(large(1, 5 * MIB))
    messages = [{"role": "user", "content": "a", "images": [tmp_path / "a.png", png(0), tmp_path / "a.png"]}]
    worker = service.worker()
    async with AsyncClient(service.endpoints.jobs, service.endpoints.stream) as client:
        await client.submit(messages=messages)
    digests = [picture.digest for picture in worker.receive(Dispatch).pictures]
    assert digests[0] == digests[2] != digests[1]
    assert service.status().held.picture_bytes == 5 * MIB + len(png(0))
