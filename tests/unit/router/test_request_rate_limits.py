"""Requests beyond a client's rate are refused with a retry time, and delay no other client."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import pytest

from cactus_actors.protocol.errors import Overloaded
from cactus_actors.protocol.messages import (
    ClientMessage,
    Fetch,
    Finished,
    Rejected,
    Restart,
    Resume,
    Scale,
    Status,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.auth.request_rate_limits import RATE_LIMITS, RequestRateLimits
from cactus_actors.router.auth.token_buckets import MAX_BUCKETS
from cactus_actors.router.core import RouterCore
from cactus_actors.router.edge.client_traffic import MAX_REQUESTS, ClientTraffic
from cactus_actors.router.edge.edge_messages import ClientRequest, FromEdge, RequestsTaken
from cactus_actors.router.edge.edge_process import EdgeProcess
from cactus_actors.router.effects import Effect, LoadResult, SendClient
from cactus_actors.router.lifecycle.result_loader import MAX_LOADING
from cactus_actors.router.router_state import LOAD_LIMITS
from cactus_actors.router.state.caller import ANONYMOUS, Caller
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk

FLOODER, NEIGHBOUR = b"flooder", b"neighbour"
ALICE = Caller(name="alice", role="client", tenant="alice", max_topics=8)
ASKED: Sequence[ClientMessage] = (
    StatusRequest(request_id="r"),
    Fetch(job_id=job_id(1)),
    Resume(job_id=job_id(1), next_index=0, credit=1),
    Scale(num_workers=1, request_id="r"),
    Restart(request_id="r"),
)


@pytest.mark.parametrize("message", ASKED, ids=lambda it: type(it).__name__)
def test_a_request_above_the_rate_is_refused_with_retry_after_and_affects_no_other_client(
    message: ClientMessage,
) -> None:
    rates, allowance = RequestRateLimits(), RATE_LIMITS[type(message)]
    for _ in range(int(allowance.burst)):
        rates.check("flooder", message, 1.0)
    for _ in range(3):  # a refused request costs nothing
        with pytest.raises(Overloaded, match="at most") as refused:
            rates.check("flooder", message, 1.0)
    assert refused.value.retry_after == pytest.approx(1.0 / allowance.rate)
    rates.check("neighbour", message, 1.0)
    rates.check("flooder", message, 1.0 + 1.001 / allowance.rate)
    with pytest.raises(Overloaded):
        rates.check("flooder", message, 1.0 + 1.002 / allowance.rate)


def test_kinds_of_messages_are_counted_separately() -> None:
    rates, many = RequestRateLimits(), Scale(num_workers=1, request_id="r")
    for _ in range(int(RATE_LIMITS[Scale].burst)):
        rates.check("a", many, 0.0)
    with pytest.raises(Overloaded):
        rates.check("a", many, 0.0)
    rates.check("a", StatusRequest(), 0.0)


def test_a_flooder_is_remembered_among_many_other_clients() -> None:
    rates, many = RequestRateLimits(), Scale(num_workers=1, request_id="r")
    for _ in range(int(RATE_LIMITS[Scale].burst)):
        rates.check("flooder", many, 0.0)
    for number in range(2 * MAX_BUCKETS):
        now = 5e-6 * number  # in total less than the flooder needs for one more, enough for others
        rates.check(f"connection {number}", StatusRequest(), now)
        with pytest.raises(Overloaded):
            rates.check("flooder", many, now)
    assert len(rates._buckets) <= MAX_BUCKETS


def test_the_refusal_names_the_kind_and_the_request() -> None:
    router = RouterHarness()
    asked = StatusRequest(request_id="mine")
    for _ in range(int(RATE_LIMITS[StatusRequest].burst)):
        assert isinstance(router.client(asked)[0], Status)
    [refused] = router.client(asked)
    assert isinstance(refused, Rejected)
    assert (refused.error.type, refused.error.status, refused.request_id) == ("rate_limit_error", 429, "mine")
    assert "`status`" in refused.error.message
    assert refused.error.retry_after == pytest.approx(0.0005)
    assert isinstance(router.client(asked, NEIGHBOUR)[0], Status)


def test_connections_of_one_key_share_its_rate() -> None:
    router = RouterHarness()
    for number in range(int(RATE_LIMITS[StatusRequest].burst)):
        router.client(StatusRequest(), bytes([number % 7]), ALICE)
    assert isinstance(router.client(StatusRequest(), NEIGHBOUR, ALICE)[0], Rejected)
    assert isinstance(router.client(StatusRequest(), NEIGHBOUR)[0], Status)


class Edge:
    """The messages of an edge process, all at once, and the replies to it."""

    is_congested = False

    def __init__(self, said: Sequence[FromEdge]) -> None:
        self._said = list(said)
        self.num_taken: list[int] = []

    def identity(self, identity: bytes) -> bytes:
        return identity

    def receive(self) -> list[FromEdge]:
        said, self._said = self._said, []
        return said

    def put(self, message: RequestsTaken) -> None:
        self.num_taken.append(message.num_requests)


def test_a_single_request_is_answered_before_the_rest_of_a_flood() -> None:
    frames = encode(StatusRequest())
    flood = [ClientRequest(bytes([number]), ANONYMOUS, frames) for number in range(3) for _ in range(200)]
    edge = Edge([*flood, ClientRequest(NEIGHBOUR, ANONYMOUS, frames)])
    answered: list[bytes] = []

    def perform(effects: Sequence[Effect]) -> None:
        answered.extend(effect.identity for effect in effects if isinstance(effect, SendClient))

    traffic = ClientTraffic(cast(EdgeProcess, edge), RouterHarness().core, Counter(), perform)
    traffic.handle_requests()
    traffic.answer()
    assert answered[:5] == [b"\0", b"\1", b"\2", NEIGHBOUR, b"\0"]
    assert len(answered) == MAX_REQUESTS
    while traffic.has_waiting:
        traffic.answer()
    assert Counter(answered) == {b"\0": 200, b"\1": 200, b"\2": 200, NEIGHBOUR: 1}
    assert sum(edge.num_taken) == 601


class Archive:
    """Ended jobs whose results are in the journal; reads complete when the test requests it."""

    def __init__(self, num_jobs: int) -> None:
        self._router = RouterHarness(disk=Disk(), max_result_bytes=1)
        self._router.connect()
        for number in range(num_jobs):
            self._router.client(Submit(job_id=job_id(number), prompt="hello", options=Options(seed=3)))
            self._router.write_to_disk()
            self._router.generate(number, "abc", finish=Finish("stop"))
        self._router.write_to_disk()
        self.core: RouterCore = self._router.core
        self.reading: list[str] = []
        self.replies: list[tuple[bytes, Any]] = []

    def ask(self, identity: bytes, message: ClientMessage) -> None:
        self._take(self.core.on_client(identity, message, "m", self._router.now, ANONYMOUS))

    def read_one(self) -> None:
        assert self._router.disk is not None
        known = self.reading.pop(0)
        found = self._router.disk.read(known)
        self._take(self.core.on_result_loaded(known, found, self._router.now))

    def _take(self, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, LoadResult):
                self.reading.append(effect.job_id)
            elif isinstance(effect, SendClient):
                self.replies.append((effect.identity, effect.message))


def test_a_read_of_a_result_does_not_wait_for_a_flood_of_others() -> None:
    archive = Archive(201)
    for number in range(200):
        archive.ask(FLOODER, Fetch(job_id=job_id(number)))
    archive.ask(NEIGHBOUR, Fetch(job_id=job_id(200)))
    num_read = 0
    while NEIGHBOUR not in dict(archive.replies):
        assert len(archive.reading) <= MAX_LOADING
        archive.read_one()
        num_read += 1
    assert num_read <= MAX_LOADING + 2
    while archive.reading:
        archive.read_one()
    assert Counter(identity for identity, _ in archive.replies) == {FLOODER: 200, NEIGHBOUR: 1}


def test_a_repeated_read_does_not_wait_behind_a_flood_for_the_same_result() -> None:
    archive = Archive(100)
    for number in range(100):
        archive.ask(FLOODER, Fetch(job_id=job_id(number)))
    archive.ask(NEIGHBOUR, Fetch(job_id=job_id(99)))
    for _ in range(MAX_LOADING + 2):
        archive.read_one()
    assert isinstance(dict(archive.replies)[NEIGHBOUR], Finished)
    while archive.reading:
        archive.read_one()
    assert len(archive.replies) == 101


def test_repeated_requests_during_a_read_are_answered_once() -> None:
    archive = Archive(1)
    for _ in range(1000):
        archive.ask(FLOODER, Fetch(job_id=job_id(0)))
    archive.ask(NEIGHBOUR, Fetch(job_id=job_id(0)))
    archive.read_one()
    assert archive.reading == []
    assert [identity for identity, _ in archive.replies] == [FLOODER, NEIGHBOUR]


def test_requests_per_job_and_per_client_are_bounded() -> None:
    archive = Archive(1)
    for number in range(2 * LOAD_LIMITS.of_requester_about_job):
        archive.ask(FLOODER, Resume(job_id=job_id(0), next_index=number, credit=1))
    refused = [it.error.type for _, it in archive.replies]
    assert refused == ["rate_limit_error"] * LOAD_LIMITS.of_requester_about_job
    many = Archive(LOAD_LIMITS.of_requester + 5)
    for number in range(LOAD_LIMITS.of_requester + 5):
        many.ask(FLOODER, Fetch(job_id=job_id(number)))
    assert [it.error.type for _, it in many.replies] == ["rate_limit_error"] * 5
    many.ask(NEIGHBOUR, Fetch(job_id=job_id(0)))
    assert len(many.replies) == 5
