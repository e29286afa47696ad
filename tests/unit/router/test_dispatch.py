"""The order in which jobs leave the queue, and the worker that each one gets."""

from __future__ import annotations

from tests.support.router.core_harness import STOP, RouterHarness, job_id


def test_waiting_jobs_leave_the_queue_only_for_a_free_or_on_deck_slot(router: RouterHarness) -> None:
    worker = router.connect(num_slots=2)
    for number in range(1, 6):
        router.submit(number)
    assert len(worker.dispatches) == 2
    router.report(worker)
    assert len(worker.dispatches) == 3  # both run, and one is on deck
    router.report(worker)
    assert len(worker.dispatches) == 3
    router.generate(1, "x", finish=STOP)
    assert [dispatch.job_id for dispatch in worker.dispatches.values()] == [job_id(n) for n in (2, 3, 4)]


def test_without_on_deck_a_worker_never_gets_more_than_its_slots() -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=2)
    for number in range(1, 6):
        router.submit(number)
    assert len(worker.dispatches) == 2


def test_jobs_spread_over_workers_by_free_slots(router: RouterHarness) -> None:
    first, second = router.connect("w1"), router.connect("w2")
    for number in range(1, 5):
        router.submit(number)
    assert (len(first.dispatches), len(second.dispatches)) == (2, 2)


def test_a_job_is_dispatched_only_to_a_worker_with_enough_blocks(router: RouterHarness) -> None:
    worker = router.connect(num_slots=8, num_blocks=6)
    router.submit(1, "x" * 32)  # 33 tokens: 3 blocks
    router.submit(2, "y" * 32)
    for number in (3, 4):
        router.submit(number, "z" * 32)
    assert len(worker.dispatches) == 2
    router.report(worker)  # it runs both, and reports all its blocks as free
    assert len(worker.dispatches) == 4


def test_a_job_larger_than_the_free_blocks_goes_to_an_idle_worker_only(router: RouterHarness) -> None:
    worker = router.connect(num_slots=8, num_blocks=2)
    router.submit(1, "x" * 100)
    router.submit(2, "y" * 100)
    assert len(worker.dispatches) == 1


def test_priority_precedes_arrival(router: RouterHarness) -> None:
    router.submit(1)
    router.submit(2, priority=-5)
    router.submit(3, priority=5)
    worker = router.connect(num_slots=1)
    router.report(worker)
    assert [dispatch.job_id for dispatch in worker.dispatches.values()] == [job_id(2), job_id(1)]


def test_the_longest_cached_prefix_is_dispatched_first_within_a_bounded_wait(
    router: RouterHarness,
) -> None:
    shared = "s" * 64
    worker = router.connect(num_slots=1)
    router.submit(1, shared + "one")
    router.submit(2, "something else altogether, quite long too")
    router.submit(3, "x" * 64)
    router.submit(4, shared + "four")
    router.generate(1, "x", finish=STOP)
    assert next(iter(worker.dispatches.values())).job_id == job_id(4)  # overtakes 2 and 3 because of its prefix
    router.submit(5, shared + "five")
    router.now += 2.5
    router.generate(4, "x", finish=STOP)
    assert router.is_running(2)  # it has waited long enough
    assert not router.is_running(5)


def test_the_choice_of_a_worker_ignores_blocks_of_another_salt(router: RouterHarness) -> None:
    shared = "s" * 64
    worker = router.connect(num_slots=1)
    router.submit(1, shared + "one", cache_salt="a")
    for number, salt in ((2, "b"), (3, ""), (4, "a")):
        router.submit(number, shared + "more", cache_salt=salt)
    router.generate(1, "x", finish=STOP)
    dispatch = next(iter(worker.dispatches.values()))
    assert (dispatch.job_id, dispatch.cache_salt) == (job_id(4), "a")
