"""Background jobs (priority above 0) next to interactive jobs."""

from __future__ import annotations

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.state.caller import Caller
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.worker_messages import Worker

STOP = Finish("stop")
BACKGROUND = 10


def running(worker: Worker) -> list[int]:
    return [int(dispatch.job_id, 16) for dispatch in worker.dispatches.values()]


def full_of_background(num_slots: int = 3, num_jobs: int = 10, **settings: object) -> RouterHarness:
    """A router whose one worker runs background jobs 1, 2, ... and has one on deck."""
    router = RouterHarness(**settings)
    worker = router.connect(num_slots=num_slots)
    for number in range(1, num_jobs + 1):
        router.submit(number, priority=BACKGROUND)
    router.report(worker)
    assert len(worker.dispatches) == num_slots + settings.get("on_deck", 1)  # type: ignore[operator]
    return router


@pytest.mark.parametrize("on_deck", [0, 1])
def test_an_interactive_job_is_dispatched_at_once(on_deck: int) -> None:
    router = full_of_background(on_deck=on_deck)
    [worker] = router.workers.values()
    router.submit(100)
    assert router.is_running(100)
    assert running(worker)[:2] == [1, 2]  # the last arrival was preempted
    assert len(worker.dispatches) <= 3 + on_deck


def test_an_interactive_job_precedes_all_waiting_jobs_of_the_worker() -> None:
    router = full_of_background()
    [worker] = router.workers.values()
    assert running(worker) == [1, 2, 3, 4]
    router.submit(100)
    assert running(worker)[:3] == [1, 2, 100]
    assert len(worker.aborted) == 2  # a running one, and the one on deck


def test_only_as_many_background_jobs_are_preempted_as_needed() -> None:
    router = full_of_background(num_slots=4)
    [worker] = router.workers.values()
    for number in (100, 101, 102):
        router.submit(number)
    assert sorted(running(worker))[-3:] == [100, 101, 102]
    router.report(worker)
    assert set(running(worker)) >= {1, 100, 101, 102}
    router.submit(103)
    router.submit(104)
    assert set(running(worker)) == {100, 101, 102, 103, 104}  # four run, one is on deck


def test_a_preempted_job_continues_after_its_last_token() -> None:
    router = full_of_background(num_slots=1, num_jobs=1, on_deck=0)
    router.subscribe(1)
    router.generate(1, "abc")
    router.submit(2)
    assert router.is_running(2)
    assert not router.is_running(1)
    router.generate(2, "x", finish=STOP)
    _, dispatch = router.running(1)
    assert dispatch.emitted_ids == [97, 98, 99]
    router.generate(1, "de", finish=STOP)
    assert router.result(1).text == router.streamed_text(1) == "abcde"
    assert router.result(1).attempts == 2


def test_a_preempted_job_precedes_jobs_of_its_priority() -> None:
    router = full_of_background(num_slots=1, num_jobs=3, on_deck=0)
    router.submit(100)
    router.generate(100, "x", finish=STOP)
    [worker] = router.workers.values()
    assert running(worker) == [1]


def test_preemptions_do_not_count_as_lost_workers() -> None:
    router = full_of_background(num_slots=1, num_jobs=1, on_deck=0)
    for number in range(100, 120):
        router.submit(number)
        router.generate(number, "x", finish=STOP)
    router.generate(1, "done", finish=STOP)
    assert router.result(1).text == "done"


@pytest.mark.parametrize("priority", [0, -5])
def test_only_background_jobs_are_preempted(priority: int) -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=1)
    router.submit(1, priority=priority)
    router.submit(2, priority=-100)
    assert running(worker) == [1]


def test_background_jobs_do_not_preempt_background_jobs() -> None:
    router = full_of_background(num_slots=1, num_jobs=1, on_deck=0)
    router.submit(2, priority=1)
    assert router.is_running(1)


def test_preemption_frees_blocks() -> None:
    router = RouterHarness(on_deck=1)
    worker = router.connect(num_slots=8, num_blocks=6)
    for number in (1, 2):
        router.submit(number, "x" * 32, priority=BACKGROUND)  # three blocks each
    router.say(worker, msgspec.structs.replace(worker.report(), free_blocks=0))
    router.submit(100, "y" * 32)
    assert len(worker.aborted) == 1
    assert running(worker) == [1, 100, 2]  # the last one waits on deck


def test_no_job_is_preempted_without_enough_room() -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=2, num_blocks=8)
    router.submit(1, "x" * 60)  # a client waits for this one
    router.submit(2, priority=BACKGROUND)
    router.say(worker, msgspec.structs.replace(worker.report(), free_blocks=3))
    router.submit(100, "y" * 120)
    assert set(running(worker)) == {1, 2}


def test_a_tenant_cannot_raise_its_priority_above_others() -> None:
    router = RouterHarness(on_deck=0)
    for number, tenant, priority in ((1, "a", 0), (2, "b", -100), (3, "a", 10)):
        message = Submit(job_id=job_id(number), prompt="x", options=Options(priority=priority))
        caller = Caller(tenant, "client", tenant, 9)
        router.client(message, caller=caller)
    worker = router.connect(num_slots=1)
    order = []
    for _ in range(3):
        order += running(worker)
        router.generate(order[-1], "x", finish=STOP)
    assert order == [1, 2, 3]


def shares(router: RouterHarness, users: dict[int, str]) -> Counter[str]:
    [worker] = router.workers.values()
    return Counter(users[number] for number in running(worker))


def test_a_job_of_a_new_user_preempts_a_job_of_a_user_with_many() -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=4)
    users = dict.fromkeys(range(1, 21), "busy") | dict.fromkeys(range(100, 105), "rare")
    for number in range(1, 21):
        router.submit(number, user="busy")
    router.report(worker)
    router.submit(100, user="rare")
    assert running(worker) == [1, 2, 3, 100]
    for number in range(101, 105):
        router.submit(number, user="rare")
    assert shares(router, users) == {"busy": 3, "rare": 1}  # users with a running job wait for their turn
    assert len(worker.aborted) == 1


def test_a_job_preempted_for_another_user_is_not_lost_and_not_run_twice() -> None:
    router = RouterHarness(on_deck=0)
    router.connect(num_slots=2)
    for number in (1, 2):
        router.submit(number, user="busy")
        router.generate(number, "ab")
    router.submit(100, user="rare")
    assert not router.is_running(2)
    router.generate(100, "x", finish=STOP)
    _, dispatch = router.running(2)
    assert dispatch.emitted_ids == [97, 98]
    router.generate(2, "c", finish=STOP)
    assert router.result(2).text == "abc"


def test_the_only_job_of_a_user_is_not_preempted() -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=3)
    for number, user in enumerate("abcdef", 1):
        router.submit(number, user=user)
    assert running(worker) == [1, 2, 3]
    assert worker.aborted == []


def test_jobs_of_one_user_do_not_preempt_each_other() -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=3)
    for number in range(1, 20):
        router.submit(number, user="busy")
    assert running(worker) == [1, 2, 3]
    assert worker.aborted == []


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 40)), min_size=1, max_size=30), st.integers(0, 1))
def test_every_job_ends_and_no_interactive_job_waits_for_background_jobs(
    jobs: list[tuple[bool, int]], on_deck: int
) -> None:
    router = RouterHarness(on_deck=on_deck)
    worker = router.connect(num_slots=2)
    for number, (is_background, length) in enumerate(jobs, 1):
        router.submit(number, "x" * length, priority=BACKGROUND if is_background else 0)
        waited_for = [it for it in range(1, number + 1) if not jobs[it - 1][0]]
        num_running = sum(it in waited_for for it in running(worker)[:2])
        assert num_running == min(2, len(waited_for))
        router.report(worker)
    while worker.dispatches:
        router.generate(running(worker)[0], "y", finish=STOP)
        router.report(worker)
    assert all(router.result(number).text.endswith("y") for number in range(1, len(jobs) + 1))
