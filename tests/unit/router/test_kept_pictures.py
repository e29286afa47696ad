"""The journal's pictures: each once, within a bound, and none longer than jobs refer to it."""

from __future__ import annotations

import random

import pytest

from cactus_actors.protocol.errors import MediaTooLarge, Overloaded
from cactus_actors.router.state.encoded_picture import EncodedPicture, PictureReference
from cactus_actors.router.state.kept_pictures import KeptPictures


def picture(name: str, num_bytes: int = 10) -> EncodedPicture:
    return EncodedPicture.of(name.encode().ljust(num_bytes, b"."))


A, B, C = picture("a"), picture("b"), picture("c")


def add(kept: KeptPictures, job_id: str, *pictures: EncodedPicture) -> list[bytes]:
    return kept.add(job_id, [one.reference for one in pictures])


def test_a_picture_of_two_jobs_is_counted_and_written_once() -> None:
    kept = KeptPictures(100)
    add(kept, "one", A, A)
    assert kept.unwritten("one", [A, A]) == (A,)
    add(kept, "two", A, B)
    assert kept.unwritten("two", [A, B]) == (A, B), "the first job may not be on disk yet"
    kept.on_written("one")
    assert kept.unwritten("two", [A, B]) == (B,)
    assert kept.num_bytes == 20


def test_a_picture_is_forgotten_with_the_last_job_that_refers_to_it() -> None:
    kept = KeptPictures(100)
    add(kept, "one", A, B)
    add(kept, "two", A)
    for job_id in ("one", "two"):
        kept.on_ended(job_id)
    assert kept.forget("one") == [B.digest]
    assert kept.forget("two") == [A.digest]
    assert (len(kept), kept.num_bytes) == (0, 0)
    assert kept.forget("two") == []


def test_pictures_of_ended_jobs_make_room_oldest_end_first() -> None:
    kept = KeptPictures(30)
    for job_id, one in (("first", A), ("second", B), ("third", C)):
        add(kept, job_id, one)
    kept.on_ended("second")
    kept.on_ended("first")
    assert add(kept, "more", picture("d")) == [B.digest]
    kept.on_ended("more")
    assert add(kept, "again", A) == [], "the first one's picture serves again"
    assert add(kept, "last", picture("e")) == [picture("d").digest]
    assert kept.num_bytes == 30


def test_without_room_a_job_is_refused_and_nothing_is_dropped() -> None:
    kept = KeptPictures(30)
    add(kept, "ended", A)
    kept.on_ended("ended")
    add(kept, "runs", B)
    with pytest.raises(Overloaded, match="the 30 bytes that the journal keeps") as caught:
        add(kept, "large", picture("x", 25))
    assert caught.value.retry_after
    with pytest.raises(MediaTooLarge, match="31 bytes"):
        add(kept, "too large", picture("x", 31))
    assert (len(kept), kept.num_bytes) == (2, 20)
    assert add(kept, "fits", A, C) == []


def test_a_picture_that_was_dropped_is_written_again() -> None:
    kept = KeptPictures(10)
    add(kept, "one", A)
    kept.on_ended("one")
    assert add(kept, "two", B) == [A.digest]
    kept.on_ended("two")
    assert add(kept, "three", A) == [B.digest]
    kept.on_written("one")  # of the earlier copy, which is gone
    assert kept.unwritten("three", [A]) == (A,)
    assert kept.forget("one") == []


def test_pictures_of_an_earlier_router_are_on_disk() -> None:
    kept = KeptPictures(10)
    kept.restore("waiting", [A.reference], is_live=True)
    kept.restore("ended", [B.reference], is_live=False)
    assert kept.num_bytes == 20, "accepted jobs are never lost, though the bound is lower now"
    assert kept.unwritten("waiting", [A]) == ()
    with pytest.raises(Overloaded):
        add(kept, "new", C)
    kept.on_ended("waiting")
    assert add(kept, "new", C) == [B.digest, A.digest]


@pytest.mark.parametrize("seed", range(10))
def test_counts_are_those_of_all_jobs_counted_again(seed: int) -> None:
    choice = random.Random(seed)
    kept = KeptPictures(60)
    sizes = {f"{size}".encode(): size for size in range(1, 20)}
    stored: set[bytes] = set()
    wanted: dict[str, set[bytes]] = {}
    live: set[str] = set()
    for turn in range(400):
        match choice.randrange(3):
            case 0:
                digests = {*choice.sample(sorted(sizes), choice.randrange(1, 5))}
                references = [PictureReference(digest, sizes[digest]) for digest in digests]
                needed = {digest for job_id in live for digest in wanted[job_id]} | digests
                try:
                    stored -= {*kept.add(f"{turn}", references)}
                except (Overloaded, MediaTooLarge):
                    assert sum(sizes[digest] for digest in needed) > 60
                    continue
                assert sum(sizes[digest] for digest in needed) <= 60
                stored |= digests
                wanted[f"{turn}"] = digests
                live.add(f"{turn}")
            case 1 if live:
                live.discard(ended := choice.choice(sorted(live)))
                kept.on_ended(ended)
            case 2 if wanted:
                forgotten = choice.choice(sorted(wanted))
                live.discard(forgotten)
                del wanted[forgotten]
                stored -= {*kept.forget(forgotten)}
        assert kept.num_bytes == sum(sizes[digest] for digest in stored) <= 60
        assert {digest for job_id in live for digest in wanted[job_id]} <= stored
        assert stored <= {digest for digests in wanted.values() for digest in digests}
