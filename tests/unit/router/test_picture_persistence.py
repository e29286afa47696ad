"""Pictures of jobs are in the journal as long as the jobs need them, and jobs run again from the same bytes."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from cactus_actors.protocol.content_part import ContentPart
from cactus_actors.protocol.messages import Accepted, Cancel, ChatMessage, Fetch, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.pictures import PictureFrame
from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS
from cactus_actors.protocol.worker_messages import Dispatch, Finish
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.encoded_picture import EncodedPicture
from tests.support.router.core_harness import RouterHarness, error_of, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.picture_letters import PictureLetters, png

PICTURES = [png(seed) for seed in range(4)]


@pytest.fixture
def disk() -> Disk:
    return Disk()


def router_on(disk: Disk, **settings: Any) -> RouterHarness:
    router = RouterHarness(disk=disk, model=PictureLetters(), **settings)
    router.connect()
    return router


def asking(number: int, *images: str | PictureFrame) -> Submit:
    prompt = "".join(f"{at}<__media__>" for at in range(len(images)))
    return Submit(job_id=job_id(number), prompt=prompt, images=list(images), options=Options(seed=3))


def url(content: bytes) -> str:
    return f"data:;base64,{base64.b64encode(content).decode()}"


def frames(*numbers: int) -> list[PictureFrame]:
    return [PictureFrame(number) for number in numbers]


def submit(router: RouterHarness, message: Submit, *contents: bytes) -> Any:
    """Send a request, and write it to disk; returns the answer."""
    before = len(router.replies)
    router.client(message, frames=contents)
    router.write_to_disk()
    return router.replies[before][1]


def dispatched(router: RouterHarness, number: int) -> tuple[list[int], list[bytes]]:
    dispatch: Dispatch = router.running(number)[1]
    return dispatch.prompt_ids, [picture.digest for picture in dispatch.pictures]


def stored(disk: Disk) -> set[bytes]:
    return set(disk.pictures.values())


def end(router: RouterHarness, number: int) -> None:
    router.generate(number, "abc", finish=Finish("stop"))
    router.write_to_disk()


def test_pictures_in_a_request_are_kept_as_files_and_not_in_base64(disk: Disk) -> None:
    router = router_on(disk)
    assert isinstance(submit(router, asking(1, url(PICTURES[0]), url(PICTURES[1]), url(PICTURES[0]))), Accepted)
    assert stored(disk) == {*PICTURES[:2]}
    [record] = disk.accepted.values()
    assert record.submit.images == frames(0, 1, 0)
    assert record.pictures == [EncodedPicture.of(content).reference for content in PICTURES[:2]]
    assert router.core.status(router.now).held.picture_bytes == sum(map(len, PICTURES[:2]))


def test_frames_and_pictures_from_other_places_keep_their_order(disk: Disk) -> None:
    message = asking(1, url(PICTURES[0]), *frames(1, 0), url(PICTURES[1]))
    router = router_on(disk)
    submit(router, message, PICTURES[2], PICTURES[3])
    [record] = disk.accepted.values()
    assert record.submit.images == frames(2, 1, 0, 3)
    expected = dispatched(router, 1)
    assert len(expected[1]) == 4
    assert dispatched(router_on(disk), 1) == expected


def test_pictures_of_messages_keep_their_places(disk: Disk) -> None:
    part = ContentPart(type="image_url", image_url={"url": url(PICTURES[0]), "detail": "low"})
    framed = ContentPart(type="input_image", image_url={"frame": 0})
    text = ContentPart(type="text", text="a")
    messages = [
        ChatMessage(role="user", content=[part, text, framed], images=[url(PICTURES[1])]),
        ChatMessage(role="assistant", content="b"),
        ChatMessage(role="user", content="c", images=[PictureFrame(0), url(PICTURES[0])]),
    ]
    router = router_on(disk)
    submit(router, Submit(job_id=job_id(1), messages=messages, options=Options(seed=3)), PICTURES[2])
    [record] = disk.accepted.values()
    first, answer, second = record.submit.messages or []
    assert first.images == frames(1)
    assert [one.image_url for one in first.content or [] if isinstance(one, ContentPart)] == [
        *({"frame": 2}, None, {"frame": 0}),
    ]
    assert answer == messages[1]
    assert second.images == frames(0, 2)


def test_the_next_router_runs_a_job_from_the_same_bytes(disk: Disk) -> None:
    first = router_on(disk)
    submit(first, asking(1, *frames(0, 1)), *PICTURES[:2])
    expected = dispatched(first, 1)
    second = router_on(disk)
    assert dispatched(second, 1) == expected
    assert isinstance(second.client(asking(1, *frames(0, 1)), frames=PICTURES[:2])[0], Accepted)
    assert error_of(second.client(asking(1, *frames(0, 1)), frames=PICTURES[1::-1])[0]).type == "idempotency_conflict"


def test_a_job_whose_picture_is_lost_ends_with_the_reason(disk: Disk) -> None:
    submit(router_on(disk), asking(1, *frames(0)), PICTURES[0])
    disk.pictures.clear()
    second = router_on(disk)
    [finished] = second.client(Fetch(job_id=job_id(1)))
    assert (finished.result.success, finished.result.error.type) == (False, "storage_error")


def test_jobs_about_the_same_picture_store_it_once(disk: Disk) -> None:
    router = router_on(disk)
    submit(router, asking(1, *frames(0)), PICTURES[0])
    for number, images, contents in ((2, frames(0), PICTURES[:1]), (3, [url(PICTURES[0])], ())):
        router.client(asking(number, *images), frames=contents)
        [entry] = disk.waiting
        assert entry.pictures == ()
        router.write_to_disk()
    assert stored(disk) == {PICTURES[0]}


def test_pictures_are_forgotten_with_their_last_job_and_results_stay_readable(disk: Disk) -> None:
    router = router_on(disk, retention_s=10.0)
    submit(router, asking(1, *frames(0, 1)), *PICTURES[:2])
    end(router, 1)
    router.pass_time(6.0)
    submit(router, asking(2, *frames(0)), PICTURES[1])
    end(router, 2)
    router.pass_time(6.0)
    router.write_to_disk()
    assert stored(disk) == {PICTURES[1]}, "the first job is forgotten"
    second = router_on(disk, retention_s=10.0)
    [finished] = second.client(Fetch(job_id=job_id(2)))
    assert finished.result.text == "abc"
    second.pass_time(11.0)
    second.write_to_disk()
    assert stored(disk) == set()
    assert second.core.status(second.now).held.picture_bytes == 0


def test_without_room_for_its_pictures_a_request_is_refused_until_a_job_has_ended(disk: Disk) -> None:
    room = sum(map(len, PICTURES[:2]))
    router = router_on(disk, max_journal_picture_bytes=room)
    submit(router, asking(1, *frames(0, 1)), *PICTURES[:2])
    error = error_of(router.client(asking(2, *frames(0)), frames=PICTURES[2:3])[0])
    assert (error.type, error.status) == ("rate_limit_error", 429)
    assert error.retry_after
    too_large = error_of(router.client(asking(3, *frames(0, 1, 2)), frames=PICTURES[:3])[0])
    assert (too_large.type, too_large.status) == ("media_too_large", 400)
    assert disk.waiting == []
    end(router, 1)
    assert isinstance(submit(router, asking(2, *frames(0)), PICTURES[2]), Accepted)
    assert PICTURES[2] in stored(disk)
    assert sum(map(len, stored(disk))) <= room
    [finished] = router.client(Fetch(job_id=job_id(1)))
    assert finished.result.text == "abc"


def test_a_refused_write_keeps_no_picture_and_later_jobs_write_theirs(disk: Disk) -> None:
    router = router_on(disk)
    router.client(asking(1, *frames(0)), frames=PICTURES[:1])
    router.fail_to_write("disk full")
    assert router.core.status(router.now).held.picture_bytes == 0
    submit(router, asking(2, *frames(0)), PICTURES[0])
    assert stored(disk) == {PICTURES[0]}


def test_a_job_cancelled_before_its_sync_keeps_no_picture_from_others(disk: Disk) -> None:
    router = router_on(disk)
    router.client(asking(1, *frames(0)), frames=PICTURES[:1])
    router.client(Cancel(job_id=job_id(1)))
    router.fail_to_write("disk full")
    submit(router, asking(2, *frames(0)), PICTURES[0])
    assert stored(disk) == {PICTURES[0]}
    assert dispatched(router_on(disk), 2)


def test_a_request_names_each_of_its_frames_and_no_other() -> None:
    router = RouterHarness(model=PictureLetters())
    for images, contents, message, param in (
        (frames(1), PICTURES[:1], "picture 0: there is no frame 1, 1 came with the request", "images[0]"),
        (frames(0, -1), PICTURES[:1], "picture 1: there is no frame -1", "images[1]"),
        (frames(0), (), "picture 0: there is no frame 0, 0 came with the request", "images[0]"),
        (frames(1), PICTURES[:2], "frame 0 is no picture of the request", "images"),
        ([url(PICTURES[0])], PICTURES[:1], "frame 0 is no picture of the request", "images"),
    ):
        error = error_of(router.client(asking(1, *images), frames=contents)[0])
        assert (error.type, error.param) == ("invalid_message", param)
        assert error.message.startswith(message)
    assert isinstance(router.client(asking(1, *frames(0, 0)), frames=PICTURES[:1])[0], Accepted)


def test_the_bytes_of_frames_count_while_the_request_waits(disk: Disk) -> None:
    router = RouterHarness(disk=disk, model=PictureLetters(), max_queued_bytes=5000)
    large = png(1, side=64)
    assert len(large) > 3000
    error = error_of(router.client(asking(1, *frames(0)), frames=[large])[0])
    assert (error.type, "bytes wait" in error.message) == ("rate_limit_error", True)
    assert isinstance(submit(router, asking(2, *frames(0)), PICTURES[0]), Accepted)


def test_tenants_share_nothing_of_the_same_picture(disk: Disk) -> None:
    """Workers find blocks by their hashes, and embeddings by the cache salt and the picture."""
    router = router_on(disk)
    router.connect("w2")
    callers = [Caller(name, "client", tenant, MAX_TOPICS) for name, tenant in (("a", "x"), ("b", "y"), ("c", "x"))]
    prompt = f"<__media__>{'?' * 40}"
    for number, caller in enumerate(callers):
        message = Submit(job_id=job_id(number), prompt=prompt, images=[PictureFrame(0)], options=Options(seed=3))
        router.client(message, caller=caller, frames=PICTURES[:1])
        router.write_to_disk()
    jobs = [router.core.state.jobs.live[job_id(number)] for number in range(3)]
    one, other, same = [router.running(number)[1] for number in range(3)]
    assert one.pictures == other.pictures == same.pictures
    assert one.cache_salt == same.cache_salt != other.cache_salt
    hashes = [job.prepared.block_hashes for job in jobs]
    assert hashes[0] == hashes[2] != ()
    assert set(hashes[0]).isdisjoint(hashes[1])
    assert stored(disk) == {PICTURES[0]}
