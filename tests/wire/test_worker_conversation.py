"""A worker actor on a real socket, with a real engine; the test is the router."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import msgspec
import pytest

from cactus_actors.protocol.block_hashes import block_hashes
from cactus_actors.protocol.errors import ConfigurationInvalid
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import (
    Abort,
    Dispatch,
    Drain,
    Draining,
    Goodbye,
    Hello,
    Refused,
    ReportsTaken,
    Welcome,
)
from cactus_actors.workers.actor import MAX_REPORTS_AHEAD
from tests.support.router.fake_router import DEADLINE_S, FakeRouter


@pytest.fixture
def router() -> Iterator[FakeRouter]:
    fake = FakeRouter()
    yield fake
    fake.close()


def make_dispatch(dispatch_id: int, *, max_tokens: int = 8, emitted: tuple[int, ...] = ()) -> Dispatch:
    prompt = [(5 * i + dispatch_id) % 199 for i in range(20)]
    return Dispatch(dispatch_id, f"{dispatch_id:032x}", prompt, list(emitted), SamplingParams(max_tokens))


def num_steps(router: FakeRouter) -> int:
    """The number of reports of steps before two consecutive heartbeats."""
    found = num_heartbeats = 0
    while num_heartbeats < 2:
        is_step = bool(router.next_report().deltas)
        found, num_heartbeats = found + is_step, 0 if is_step else num_heartbeats + 1
    return found


def test_a_worker_computes_at_most_its_window_ahead_of_the_router(router: FakeRouter) -> None:
    assert router.greet().max_reports_ahead == MAX_REPORTS_AHEAD
    dispatch = make_dispatch(1, max_tokens=400)
    router.send(dispatch)
    expected = [token for delta in router.deltas_of(1) for token in delta.token_ids]
    router.settled_report()

    router.takes_reports = False
    router.send(msgspec.structs.replace(dispatch, dispatch_id=2))
    assert 0 < num_steps(router) <= MAX_REPORTS_AHEAD
    assert router.reports[-1].num_running == 1
    while not router.next_report().deltas:  # heartbeats in flight use some of the allowance
        router.send(ReportsTaken(router.num_reports, 3))
    assert num_steps(router) <= 2 * 3
    router.takes_reports = True
    router.send(ReportsTaken(router.num_reports, MAX_REPORTS_AHEAD))
    assert [token for delta in router.deltas_of(2) for token in delta.token_ids] == expected


def test_hello_describes_the_worker(router: FakeRouter) -> None:
    hello = router.greet()
    assert (hello.worker_id, hello.kind, hello.model) == ("w", "local", "random")
    assert (hello.num_slots, hello.num_blocks, hello.block_size) == (2, 256, 16)
    assert hello.max_context == 4096  # the cache holds less than the model could
    assert (hello.threads, hello.weights, hello.kv_cache) == (1, "int8", "int8")
    assert hello.kernels


def test_a_refused_worker_ends_with_the_reason(router: FakeRouter) -> None:
    router.receive_until(Hello)
    router.send(Refused("weights", "its weights are in int8, not in int4"))
    router.thread.join(DEADLINE_S)
    assert isinstance(router.error, ConfigurationInvalid)
    assert router.error.param == "weights"
    expected = "the router gives this worker no jobs: its weights are in int8, not in int4"
    assert router.error.message == expected


def test_deltas_arrive_once_in_order_with_measures(router: FakeRouter) -> None:
    router.greet()
    router.send(make_dispatch(1), make_dispatch(2, max_tokens=5))
    first, second = router.deltas_of(1), router.deltas_of(2)
    for deltas, length in ((first, 8), (second, 5)):
        assert [delta.position for delta in deltas] == list(range(length))
        assert all(len(d.token_ids) == len(d.entropies) == len(d.logprobs) == 1 for d in deltas)
        assert "".join(delta.text for delta in deltas) == "".join(chr(97 + delta.token_ids[0] % 26) for delta in deltas)
        assert deltas[-1].finish is not None
        assert deltas[-1].finish.reason == "length"


def test_one_message_per_step_has_all_sequences(router: FakeRouter) -> None:
    router.greet()
    deadline = time.monotonic() + DEADLINE_S
    for first in itertools.count(1, 2):  # the first may have ended before the second arrives: again then
        router.send(make_dispatch(first, max_tokens=1000), make_dispatch(first + 1, max_tokens=1000))
        router.deltas_of(first)
        router.deltas_of(first + 1)
        if any(len(report.deltas) == 2 for report in router.reports):
            break
        assert time.monotonic() < deadline, "the two never share a message"


def test_credits_are_consistent(router: FakeRouter) -> None:
    router.greet()
    router.send(*(make_dispatch(i, max_tokens=200) for i in (1, 2, 3)))
    for dispatch_id in (1, 2, 3):
        router.deltas_of(dispatch_id)
    settled = router.settled_report()
    num_ended = 0
    for report in router.reports:
        num_ended += sum(delta.finish is not None for delta in report.deltas)
        assert report.free_slots == 2 - (report.num_accepted - num_ended)
        assert report.num_running <= 2
    assert min(report.free_slots for report in router.reports) == -1  # one waits on deck
    assert (settled.num_accepted, settled.free_slots, settled.free_blocks) == (3, 2, 256)
    assert settled.tokens_generated == 600
    assert settled.prompt_tokens_computed == 60


def test_an_idle_worker_reports_once_a_second(router: FakeRouter) -> None:
    router.greet()
    router.next_report()
    started = time.monotonic()
    router.next_report()
    router.next_report()
    assert 1.0 < time.monotonic() - started < 60.0


def test_a_worker_reports_its_cached_prefixes_and_all_of_them_to_a_new_router(
    router: FakeRouter,
) -> None:
    router.greet()
    dispatch = make_dispatch(1, max_tokens=30)  # of 49 computed tokens three blocks are full
    router.send(dispatch)
    tokens = [token for delta in router.deltas_of(1) for token in delta.token_ids]
    hashes = set(block_hashes([*dispatch.prompt_ids, *tokens[:-1]]))
    assert len(hashes) == 3
    assert {block for report in router.reports for block in report.stored} == hashes
    router.send_frames(b"\x01m", b"\xc1")  # it sends Hello again after a message that it cannot decode
    router.greet()
    first = router.next_report()
    assert (set(first.stored), first.evicted) == (hashes, [])
    for dispatch_id in range(2, 40):  # 256 blocks hold 36 such jobs
        router.send(make_dispatch(dispatch_id, max_tokens=100))
    for dispatch_id in range(2, 40):
        router.deltas_of(dispatch_id)
    assert hashes <= {block for report in router.reports for block in report.evicted}


def test_an_aborted_dispatch_is_not_reported_and_frees_its_slot(router: FakeRouter) -> None:
    router.greet()
    router.send(make_dispatch(1, max_tokens=4000))
    while not (router.reports and router.reports[-1].deltas):
        router.receive()
    router.send(Abort(1))
    settled = router.settled_report()
    assert (settled.free_slots, settled.free_blocks) == (2, 256)
    num_before = len(router.reports) - 1  # the settled one is the last
    router.send(make_dispatch(2))
    router.deltas_of(2)
    after = router.reports[num_before:]
    assert {delta.dispatch_id for report in after for delta in report.deltas} == {2}


def test_a_continued_dispatch_reports_only_new_tokens(router: FakeRouter) -> None:
    router.greet()
    router.send(make_dispatch(1))
    whole = router.deltas_of(1)
    emitted = tuple(delta.token_ids[0] for delta in whole[:3])
    again = make_dispatch(1, emitted=emitted)
    router.send(Dispatch(7, again.job_id, again.prompt_ids, again.emitted_ids, again.params))
    rest = router.deltas_of(7)
    assert [(d.position, d.token_ids, d.text, d.entropies, d.logprobs) for d in rest] == [
        (d.position, d.token_ids, d.text, d.entropies, d.logprobs) for d in whole[3:]
    ]


def test_an_invalid_dispatch_gets_a_typed_error_and_affects_no_other(router: FakeRouter) -> None:
    router.greet()
    params = SamplingParams(4)
    router.send(
        Dispatch(1, "1" * 32, [5000], [], params),
        Dispatch(2, "2" * 32, [1] * 5000, [], params),
        Dispatch(3, "3" * 32, [], [], params),
        make_dispatch(4),
    )
    errors = {}
    for dispatch_id in (1, 2, 3):
        finish = router.deltas_of(dispatch_id)[-1].finish
        assert finish is not None
        assert finish.error is not None
        errors[dispatch_id] = (finish.reason, finish.error.type)
    assert errors == {
        1: ("error", "invalid_request_error"),
        2: ("error", "exceed_context_size_error"),
        3: ("error", "invalid_request_error"),
    }
    assert len(router.deltas_of(4)) == 8


def test_drain_finishes_running_dispatches_and_sends_goodbye(router: FakeRouter) -> None:
    router.greet()
    router.send(make_dispatch(1, max_tokens=60), Drain())
    router.receive_until(Draining)
    assert sum(len(delta.token_ids) for delta in router.deltas_of(1)) == 60
    router.receive_until(Goodbye)
    router.thread.join(DEADLINE_S)
    assert router.left_because == "drained"
    assert router.actor.health().state == "left"


def test_drain_and_stop_work_from_another_thread(router: FakeRouter) -> None:
    router.greet()
    router.next_report()
    assert router.actor.health().state == "ready"
    router.takes_reports = False  # so that it does not end
    router.send(make_dispatch(1, max_tokens=4000))
    while not router.next_report().deltas:
        pass
    router.actor.drain()
    router.receive_until(Draining)
    assert router.actor.health().state == "draining"
    router.actor.stop()
    router.receive_until(Goodbye)
    router.thread.join(DEADLINE_S)
    assert router.left_because == "stopped"


def test_an_unrequested_welcome_drops_all_dispatches_and_begins_a_session(router: FakeRouter) -> None:
    """A restarted router does this when it gets reports of a worker that it does not know."""
    router.greet(epoch=1)
    router.send(make_dispatch(1, max_tokens=4000))
    started = time.monotonic()
    while time.monotonic() - started < 1.2:  # a Welcome soon after Hello is its answer
        router.receive()
    router.send(Welcome(2))
    router.receive_until(Hello)
    router.reports.clear()
    router.send(Welcome(2), make_dispatch(5))
    assert len(router.deltas_of(5)) == 8
    assert {delta.dispatch_id for report in router.reports for delta in report.deltas} == {5}
    assert router.reports[-1].num_accepted == 1


def test_a_restarted_router_gets_an_idle_worker(router: FakeRouter) -> None:
    router.greet(epoch=1)
    router.send(make_dispatch(1))
    whole = [delta.token_ids[0] for delta in router.deltas_of(1)]
    router.send(make_dispatch(2, max_tokens=4000))
    while not any(delta.dispatch_id == 2 for report in router.reports for delta in report.deltas):
        router.receive()
    router.restart()
    while not isinstance(router.receive(), Hello):
        router.send(Welcome(2))  # in reply to a report of a worker that this router does not know
    router.send(Welcome(2))
    router.reports.clear()
    again = make_dispatch(1, emitted=tuple(whole[:4]))
    router.send(Dispatch(3, again.job_id, again.prompt_ids, again.emitted_ids, again.params))
    assert [delta.token_ids[0] for delta in router.deltas_of(3)] == whole[4:]
    assert router.settled_report().free_blocks == 256


def test_stale_welcomes_after_a_restart_cause_no_endless_handshake(
    router: FakeRouter,
) -> None:
    router.greet()
    router.send(Welcome(1), Welcome(1), Welcome(1), make_dispatch(5))
    assert len(router.deltas_of(5)) == 8


def test_an_unreadable_command_begins_a_new_session(router: FakeRouter) -> None:
    router.greet()
    router.next_report()
    router.send_frames(b"\x01m", b"\xc1")
    router.greet()
    router.send(make_dispatch(1))
    assert len(router.deltas_of(1)) == 8


def test_a_worker_without_a_welcome_repeats_only_its_hello(router: FakeRouter) -> None:
    assert isinstance(router.receive(), Hello)
    assert isinstance(router.receive(), Hello)
    assert router.reports == []
