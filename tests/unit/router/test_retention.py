"""Retention of ended jobs: a day if the id is an idempotency key, otherwise ten minutes."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.messages import Accepted, Fetch, Finished, Rejected, Replay, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk

MINUTE, DAY = 60.0, 24 * 3600.0


@pytest.fixture(params=[True, False], ids=["journal", "memory"])
def router(request: pytest.FixtureRequest) -> RouterHarness:
    return RouterHarness(disk=Disk() if request.param else None)


def submit(number: int, prompt: str = "hello", *, keyed: bool = True, **fields: Any) -> Submit:
    return Submit(job_id=job_id(number), prompt=prompt, options=Options(seed=3), keyed=keyed, **fields)


def write(router: RouterHarness) -> None:
    if router.disk is not None:
        router.write_to_disk()


def run(router: RouterHarness, number: int, *, keyed: bool = True) -> Finished:
    """Run a job to its end, letter by letter."""
    router.connect()
    router.client(submit(number, keyed=keyed))
    write(router)
    router.generate(number, "a")
    router.generate(number, "b")
    router.generate(number, "c", finish=Finish("stop"))
    write(router)
    return router.finished(number)[-1]


def is_known(router: RouterHarness, number: int) -> bool:
    [reply] = router.client(Fetch(job_id=job_id(number)))
    assert isinstance(reply, Finished) or reply.error.type == "not_found_error"
    return isinstance(reply, Finished)


def assert_is_known(router: RouterHarness, finished: Finished, number: int = 1) -> None:
    """The same request finds the job, another one is a conflict, and the stream exists."""
    accepted, again = router.client(submit(number))
    assert isinstance(accepted, Accepted)
    assert again == finished
    [conflict] = router.client(submit(number, "something else"))
    assert isinstance(conflict, Rejected)
    assert (conflict.error.type, conflict.error.status) == ("idempotency_conflict", 409)
    [replay] = router.client(Resume(job_id=job_id(number), next_index=1))
    assert isinstance(replay, Replay)
    assert ("".join(delta.text for delta in replay.deltas), replay.finished) == ("bc", finished)


@pytest.mark.parametrize("seconds", [11 * MINUTE, DAY - 1])
def test_a_job_with_a_key_is_the_same_job_for_a_day(router: RouterHarness, seconds: float) -> None:
    finished = run(router, 1)
    router.pass_silence(seconds)
    assert_is_known(router, finished)
    assert router.core.status(router.now).jobs.accepted == 1


def test_after_a_day_a_key_can_be_used_again(router: RouterHarness) -> None:
    run(router, 1)
    router.pass_silence(DAY + 1)
    assert not is_known(router, 1)
    write(router)
    assert router.disk is None or router.disk.recovered() == []
    router.connect()
    router.client(submit(1, "something else"))
    write(router)
    assert router.is_running(1)


def test_a_job_without_a_key_is_kept_for_ten_minutes(router: RouterHarness) -> None:
    run(router, 1, keyed=False)
    router.pass_silence(10 * MINUTE - 1)
    assert is_known(router, 1)
    router.pass_silence(2.0)
    assert not is_known(router, 1)


def test_a_retry_need_not_repeat_the_keyed_flag(router: RouterHarness) -> None:
    finished = run(router, 1)
    router.pass_silence(11 * MINUTE)
    assert router.client(submit(1, keyed=False))[1] == finished


def test_the_trace_is_not_compared_in_a_retry(router: RouterHarness) -> None:
    finished = run(router, 1)
    traceparent = f"00-{'1' * 32}-{'2' * 16}-01"
    assert router.client(submit(1, traceparent=traceparent))[1] == finished


def test_the_next_router_keeps_keys_for_the_rest_of_their_day() -> None:
    disk = Disk()
    finished = run(RouterHarness(disk=disk), 1)
    # Each machine's clock begins at zero, some Unix time after the end.
    second = RouterHarness(disk=disk, unix_offset=1_000_000.0 + 11 * MINUTE)
    assert_is_known(second, finished)
    third = RouterHarness(disk=disk, unix_offset=1_000_000.0 + DAY - MINUTE)
    assert_is_known(third, finished)
    third.pass_silence(MINUTE + 1)
    assert not is_known(third, 1)


def test_the_next_router_forgets_expired_jobs_at_once() -> None:
    disk = Disk()
    first = RouterHarness(disk=disk)
    run(first, 1, keyed=False)
    run(first, 2)
    second = RouterHarness(disk=disk, unix_offset=1_000_000.0 + 11 * MINUTE)
    assert (is_known(second, 1), is_known(second, 2)) == (False, True)
    second.write_to_disk()
    assert list(disk.ended) == [job_id(2)]


def test_a_key_survives_a_router_that_did_not_run_its_job() -> None:
    disk = Disk()
    first = RouterHarness(disk=disk)
    first.client(submit(1))
    first.write_to_disk()
    second = RouterHarness(disk=disk)
    second.connect()
    second.generate(1, "abc", finish=Finish("stop"))
    second.pass_silence(11 * MINUTE)
    assert is_known(second, 1)


def test_a_keyed_job_that_cannot_be_prepared_stays_failed_for_a_day() -> None:
    disk = Disk()
    first = RouterHarness(disk=disk)
    first.client(submit(1, "x" * 200))
    first.write_to_disk()
    second = RouterHarness(disk=disk, max_context=100)  # another model
    second.pass_silence(11 * MINUTE)
    assert is_known(second, 1)


@pytest.mark.parametrize("is_flood_keyed", [True, False])
def test_keyed_and_other_jobs_have_separate_limits(router: RouterHarness, is_flood_keyed: bool) -> None:
    small = RouterHarness(disk=router.disk, max_ended_jobs=3)
    run(small, 1, keyed=not is_flood_keyed)
    for number in range(2, 8):
        run(small, number, keyed=is_flood_keyed)
    small.pass_silence(1.0)
    known = [number for number in range(1, 8) if is_known(small, number)]
    assert known == [1, 5, 6, 7]
    write(router)
    if router.disk is not None:
        assert sorted(router.disk.ended) == [job_id(number) for number in known]
