"""The distance that workers may compute ahead of the router, and the publication of joined reports."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import pytest

from cactus_actors.protocol.messages import Delta
from cactus_actors.protocol.worker_messages import Report, ReportsTaken
from cactus_actors.router.effects import Effect, Publish, SendWorker
from cactus_actors.router.lifecycle.membership import MAX_UNACKNOWLEDGED, MIN_AHEAD
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.worker_messages import make_delta, make_hello

NUM_TOKENS = 6


def taken(effects: Sequence[Effect]) -> list[ReportsTaken]:
    return [it.message for it in effects if isinstance(it, SendWorker) and isinstance(it.message, ReportsTaken)]


def greet(router: RouterHarness, name: str, ahead: int, num_slots: int = 2) -> bytes:
    identity = name.encode()
    hello = msgspec.structs.replace(make_hello(name, num_slots=num_slots), max_reports_ahead=ahead)
    router.core.on_worker(identity, hello, router.now)
    return identity


def idle(num_running: int = 0) -> Report:
    return Report(0, 2, 64, num_running, [])


@pytest.mark.parametrize("ahead", [1, 2, 7, 32])
def test_reports_are_acknowledged_before_a_worker_must_wait(ahead: int) -> None:
    router = RouterHarness()
    worker = greet(router, "w", ahead)
    may_send, num_told = ahead, 0
    for num_sent in range(1, 201):
        assert num_sent <= may_send
        told = taken(router.core.on_worker(worker, idle(), router.now))
        if told:
            assert told == [ReportsTaken(num_sent, ahead)]
            may_send = num_sent + ahead
            num_told += 1
    assert num_told <= 200 / max(1, ahead // 2)


def test_a_worker_without_a_window_gets_no_acknowledgement() -> None:
    router = RouterHarness()
    worker = greet(router, "w", 0)
    for _ in range(100):
        assert taken(router.core.on_worker(worker, idle(), router.now)) == []


@pytest.mark.parametrize("num_workers", [16, 64, 1000])
def test_the_workers_share_the_window_of_unprocessed_reports(num_workers: int) -> None:
    router = RouterHarness()
    workers = [greet(router, f"w{number}", 32) for number in range(num_workers)]
    aheads = [
        told.max_ahead
        for _ in range(40)
        for worker in workers
        for told in taken(router.core.on_worker(worker, idle(), router.now))
    ]
    assert set(aheads) == {max(MIN_AHEAD, MAX_UNACKNOWLEDGED // num_workers)}


def running(router: RouterHarness, num_jobs: int, **options: float) -> tuple[bytes, list[int]]:
    """A worker with that many jobs, and their dispatches; each job has a subscriber."""
    worker = router.connect(num_slots=num_jobs)
    for number in range(num_jobs):
        router.subscribe(number)
        router.submit(number, **options)
    return worker.identity, [router.running(number)[1].dispatch_id for number in range(num_jobs)]


def reports(dispatches: list[int]) -> list[Report]:
    return [
        Report(2, 0, 64, 2, [make_delta(dispatch, position, "abcdef"[position]) for dispatch in dispatches])
        for position in range(NUM_TOKENS)
    ]


def published(effects: Sequence[Effect]) -> dict[str, list[tuple[int, str]]]:
    found: dict[str, list[tuple[int, str]]] = {}
    for effect in effects:
        if isinstance(effect, Publish) and isinstance(effect.message, Delta):
            found.setdefault(effect.topic, []).append((effect.message.index, effect.message.text))
    return found


def test_tokens_handled_together_are_published_together() -> None:
    router = RouterHarness()
    worker, dispatches = running(router, 2)
    together = [(worker, report) for report in reports(dispatches)]
    assert published(router.core.on_workers(together, router.now)) == {
        job_id(number): [(0, "abcdef")] for number in range(2)
    }


def test_tokens_handled_separately_are_published_separately() -> None:
    router = RouterHarness()
    worker, dispatches = running(router, 1)
    effects = [router.core.on_worker(worker, report, router.now) for report in reports(dispatches)]
    pieces = published([*itertools.chain(*effects)])
    assert pieces == {job_id(0): [(index, "abcdef"[index]) for index in range(NUM_TOKENS)]}


def test_jobs_that_may_be_handed_off_are_published_token_by_token() -> None:
    """Tokens that a client has seen decide about the rest, in reports of any size."""
    router = RouterHarness()
    worker, dispatches = running(router, 1, cloud_handoff_threshold=0.5)
    many = [Report(1, 0, 64, 1, [make_delta(dispatches[0], position, "x")]) for position in range(30)]
    pieces = published(router.core.on_workers([(worker, report) for report in many], router.now))[job_id(0)]
    assert [index for index, _ in pieces][1:] == list(range(pieces[1][0], 30))
    assert "".join(text for _, text in pieces) == "x" * 30
