"""The order of requests in preparation, and delays between users."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from cactus_actors.protocol.errors import InvalidRequest, Overloaded, ServerFailure, StorageFailure
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.wire import decode_submit, encode
from cactus_actors.router.effects import PrepareRequest
from cactus_actors.router.preparation.preparation_pool import (
    LARGE_BYTES,
    MAX_BYTES_TOGETHER,
    MAX_TOGETHER,
    PoolTiming,
    PreparationPool,
    Prepared,
)
from cactus_actors.router.preparation.preparer import Outcome, outcome_of
from cactus_actors.router.preparation.preparer_frames import EncodedRequest
from cactus_actors.router.state.user_round_robin import UserRoundRobin
from tests.support.router.core_harness import job_id

SLOW, EXPLODING = "slow", "exploding"
PATIENCE_S = 60.0


class Gate:
    """A preparer that refuses every request; a slow one waits for the test."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.frames: list[list[bytes]] = []
        self.together: list[int] = []
        self.num_rests = 0
        self.is_let = threading.Event()
        self.has_begun = threading.Event()
        self.is_ready = threading.Event()
        self.is_ready.set()

    def prepare(self, content: bytes, sources: Any = None, frames: Sequence[bytes] = (), *_: str) -> Any:
        submit = decode_submit(content)
        self.frames.append(list(frames))
        assert isinstance(submit.prompt, str)
        if submit.prompt == SLOW:
            self.has_begun.set()
            assert self.is_let.wait(PATIENCE_S)
        if submit.prompt == EXPLODING:
            raise RuntimeError("0xdeadbeef")
        self.prepared.append(submit.prompt)
        raise InvalidRequest(submit.prompt)

    def prepare_together(self, requests: Sequence[EncodedRequest]) -> list[Outcome]:
        self.together.append(len(requests))
        if any(decode_submit(request.submit).prompt == EXPLODING for request in requests):
            raise EOFError
        return [outcome_of(self, request) for request in requests]

    def make_ready(self) -> None:
        assert self.is_ready.wait(PATIENCE_S)

    def rest(self) -> None:
        self.num_rests += 1

    def close(self) -> None:
        pass


class Scene:
    """Two gates as the preparers of the lanes, and the replies in order."""

    def __init__(self, timing: PoolTiming) -> None:
        self.first, self.spare = Gate(), Gate()
        self.answers: queue.SimpleQueue[tuple[str, Outcome]] = queue.SimpleQueue()
        self.lanes = PreparationPool(self.first, self.spare, self.on_prepared, timing, load=self.load)
        self._num_sent = 0

    def send(self, user: str, prompt: str, *, is_background: bool = False, **pictures: Any) -> int:
        self._num_sent += 1
        content = encode(Submit(job_id=job_id(self._num_sent), prompt=prompt))[1]
        request = PrepareRequest(job_id(self._num_sent), content, user=user, is_background=is_background, **pictures)
        self.lanes.add(request)
        return self._num_sent

    def on_prepared(self, outcomes: Sequence[Prepared]) -> None:
        for outcome in outcomes:
            self.answers.put(outcome)

    def load(self, digests: Sequence[bytes]) -> list[bytes]:
        """The journal's pictures: each is its digest in upper case; one is missing."""
        if b"missing" in digests:
            raise StorageFailure("a picture is missing")
        return [digest.upper() for digest in digests]

    def answered(self) -> int:
        return int(self.answers.get(timeout=PATIENCE_S)[0], 16)

    def is_silent(self, seconds: float) -> bool:
        try:
            self.answers.get(timeout=seconds)
        except queue.Empty:
            return True
        return False

    def hold(self, user: str) -> int:
        """Let the user block the first lane."""
        ticket = self.send(user, SLOW)
        assert self.first.has_begun.wait(PATIENCE_S)
        return ticket


PATIENT = PoolTiming(slow_s=1.0, max_wait_s=PATIENCE_S)
"""With these limits no user counts as slow, and no request as late, because of other load on the machine."""


@pytest.fixture
def scene() -> Iterator[Scene]:
    with running(PATIENT) as scene:
        yield scene


@contextmanager
def running(timing: PoolTiming) -> Iterator[Scene]:
    scene = Scene(timing)
    try:
        yield scene
    finally:
        scene.first.is_let.set()
        scene.spare.is_let.set()
        scene.lanes.close()


def test_a_new_request_that_waited_too_long_is_refused_and_a_recovered_one_is_prepared() -> None:
    with running(PoolTiming(slow_s=PATIENCE_S, max_wait_s=0.2)) as scene:
        scene.send("a", SLOW, sources=[])
        assert scene.first.has_begun.wait(PATIENCE_S)
        new, recovered = scene.send("a", "new"), scene.send("a", "recovered", sources=[])
        time.sleep(0.3)
        scene.first.is_let.set()
        outcomes = dict(scene.answers.get(timeout=PATIENCE_S) for _ in range(3))
    late = outcomes[job_id(new)]
    assert isinstance(late, Overloaded)
    assert late.retry_after == 2.0
    assert isinstance(outcomes[job_id(recovered)], InvalidRequest)
    assert "new" not in scene.first.prepared + scene.spare.prepared


def test_an_exception_fails_its_request_without_internal_details(scene: Scene) -> None:
    scene.send("a", EXPLODING)
    scene.send("a", "as said")
    (_, failure), (_, refusal) = scene.answers.get(timeout=PATIENCE_S), scene.answers.get(timeout=PATIENCE_S)
    assert isinstance(failure, ServerFailure)
    assert "deadbeef" not in failure.message
    assert isinstance(refusal, InvalidRequest)
    assert refusal.message == "as said"


def test_pictures_come_with_the_request_or_from_the_journal(scene: Scene) -> None:
    for pictures in ({}, {"frames": (b"one", b"two")}, {"kept": (b"one", b"two")}, {"kept": (b"one", b"missing")}):
        scene.send("a", "x", **pictures)
    outcomes = [scene.answers.get(timeout=PATIENCE_S)[1] for _ in range(4)]
    assert sorted(scene.first.frames) == [[], [b"ONE", b"TWO"], [b"one", b"two"]]
    assert [type(outcome) for outcome in outcomes].count(StorageFailure) == 1


def test_other_users_do_not_wait_for_a_slow_request(scene: Scene) -> None:
    held = scene.hold("slow")
    others = [scene.send("other", "x"), scene.send("third", "x"), scene.send("other", "x")]
    assert [scene.answered() for _ in others] == others
    scene.first.is_let.set()
    assert scene.answered() == held


def test_a_user_s_own_requests_keep_their_order(scene: Scene) -> None:
    own = [scene.hold("slow"), scene.send("slow", "x"), scene.send("slow", "y")]
    other = scene.send("other", "x")
    assert scene.answered() == other
    scene.first.is_let.set()
    assert [scene.answered() for _ in own] == own


def test_small_requests_of_a_user_do_not_wait_for_large_ones(scene: Scene) -> None:
    held = scene.hold("other")
    large = [scene.send("one", "x" * (LARGE_BYTES + n)) for n in range(3)]
    small = scene.send("one", "x")
    answered = [scene.answered() for _ in range(4)]
    assert answered.index(small) < 2
    assert [ticket for ticket in answered if ticket in large] == large
    scene.first.is_let.set()
    assert scene.answered() == held


def test_a_slow_user_does_not_overtake_another_slow_user(scene: Scene) -> None:
    own = scene.hold("slow")
    time.sleep(1.2 * PATIENT.slow_s)
    scene.first.is_let.set()
    assert scene.answered() == own
    scene.first.is_let.clear()
    scene.first.has_begun.clear()
    held = scene.hold("as slow")
    waiting = scene.send("slow", SLOW)
    others = [scene.send("other", "x") for _ in range(3)]
    assert [scene.answered() for _ in others] == others
    assert not scene.spare.has_begun.is_set()
    scene.first.is_let.set()
    assert [scene.answered(), scene.answered()] == [held, waiting]


def test_the_order_of_each_slow_user_is_kept(scene: Scene) -> None:
    held = scene.hold("slow")
    beside, after = scene.send("unknown", SLOW), scene.send("unknown", "x")
    assert scene.spare.has_begun.wait(PATIENCE_S)
    scene.first.is_let.set()
    assert scene.answered() == held
    assert scene.is_silent(0.2)
    scene.spare.is_let.set()
    assert [scene.answered(), scene.answered()] == [beside, after]


def test_without_slow_requests_the_spare_process_is_idle_and_rests() -> None:
    with running(PoolTiming(slow_s=PATIENCE_S, rest_after_s=0.1, max_wait_s=PATIENCE_S)) as scene:
        for number in range(200):
            scene.send(str(number % 7), "x")
        assert [scene.answered() for _ in range(200)]
        until = time.monotonic() + PATIENCE_S
        while not scene.spare.num_rests:
            assert time.monotonic() < until
            time.sleep(0.01)
        assert scene.spare.prepared == []


def test_requests_do_not_wait_for_the_start_of_the_spare_process(scene: Scene) -> None:
    scene.spare.is_ready.clear()
    held = scene.hold("slow")
    other = scene.send("other", "x")
    assert scene.is_silent(1.5 * PATIENT.slow_s)
    scene.first.is_let.set()
    assert [scene.answered(), scene.answered()] == [held, other]
    scene.spare.is_ready.set()


def test_waiting_requests_are_prepared_at_the_end() -> None:
    with running(PATIENT) as scene:
        held = scene.hold("slow")
        waiting = scene.send("slow", "x")
        scene.first.is_let.set()
    assert [scene.answered(), scene.answered()] == [held, waiting]


def test_background_requests_of_a_user_are_prepared_together_and_interactive_ones_one_by_one(scene: Scene) -> None:
    held = scene.hold("other")
    own = [scene.send("file", "x", is_background=True) for _ in range(MAX_TOGETHER + 2)]
    usual = [scene.send("other", "x") for _ in range(2)]
    large = [scene.send("large", "x" * (MAX_BYTES_TOGETHER // 2), is_background=True) for _ in range(2)]
    scene.lanes.add(PrepareRequest(job_id(99), b"", user="large", is_background=True, kept=(b"missing",)))
    scene.first.is_let.set()
    answers = [scene.answered() for _ in range(len([held, *own, *usual, *large]) + 1)]
    assert sorted(answers) == sorted([held, *own, *usual, *large, 99])
    assert [ticket for ticket in answers if ticket in own] == own
    assert sorted(scene.first.together + scene.spare.together) == [2, MAX_TOGETHER]


def test_background_requests_wait_for_others_until_many_wait_or_an_interactive_one_comes() -> None:
    with running(replace(PATIENT, gather_s=PATIENCE_S)) as scene:
        assert scene.send("file", "x", is_background=True) == scene.answered()
        own = [scene.send("file", "x", is_background=True) for _ in range(MAX_TOGETHER - 1)]
        assert scene.is_silent(0.1)
        assert scene.send("chat", "x") == scene.answered()
        own.append(scene.send("file", "x", is_background=True))
        assert [scene.answered() for _ in own] == own
    assert scene.first.together == [MAX_TOGETHER]


def test_background_requests_are_prepared_soon_without_others() -> None:
    with running(PATIENT) as scene:
        sent = []
        for _ in range(3):
            sent.append(scene.send("file", "x", is_background=True))
            sent.append(scene.send("file", "x", is_background=True))
            assert [scene.answered(), scene.answered()] == sent[-2:]


def test_requests_that_cannot_be_prepared_together_are_prepared_alone(scene: Scene) -> None:
    scene.hold("slow")
    prompts = {scene.send("slow", prompt, is_background=True): prompt for prompt in ("x", EXPLODING, "y")}
    scene.first.is_let.set()
    outcomes = dict(scene.answers.get(timeout=PATIENCE_S) for _ in range(1 + len(prompts)))
    for ticket, prompt in prompts.items():
        kind = ServerFailure if prompt == EXPLODING else InvalidRequest
        assert isinstance(outcomes[job_id(ticket)], kind)


def test_users_take_turns_and_background_work_comes_last() -> None:
    turns: UserRoundRobin[str] = UserRoundRobin()
    for number in range(3):
        turns.put(f"file {number}", "file", is_background=True)
    for number in range(4):
        turns.put(f"busy {number}", "busy", is_background=False)
    turns.put("rare", "rare", is_background=False)
    assert turns.take(lambda user: user == "file") == "file 0"
    got = list(iter(turns.take, None))
    assert got[:6] == ["busy 0", "rare", "busy 1", "busy 2", "busy 3", "file 1"]
    assert got[6:] == ["file 2"]
    assert not turns
