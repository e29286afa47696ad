"""Who goes next: users take turns, suspects run alone."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.worker_messages import Finish
from tests.router_harness import RouterHarness

STOP = Finish("stop")


def running(router: RouterHarness) -> list[int]:
    return [
        int(dispatch.job_id, 16)
        for worker in router.workers.values()
        for dispatch in worker.dispatches.values()
    ]


def served(router: RouterHarness, num_jobs: int) -> list[int]:
    """The jobs in the order in which a worker with one slot was given them."""
    order: list[int] = []
    while len(order) < num_jobs:
        [number] = running(router)
        order.append(number)
        router.generate(number, "x", finish=STOP)
    return order


def test_a_user_who_sends_one_job_does_not_wait_for_another_users_hundred() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 101):
        router.submit(number, user="busy", max_tokens=64)
    router.submit(101, user="rare", max_tokens=64)
    router.connect(num_slots=1)
    assert served(router, 101).index(101) <= 1


def test_one_users_jobs_are_served_in_their_order() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 9):
        router.submit(number, user="u", max_tokens=number)
    router.connect(num_slots=1)
    assert served(router, 8) == list(range(1, 9))


def test_shares_are_of_tokens_and_not_of_jobs() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 61):
        router.submit(number, user="long", max_tokens=300)
    for number in range(61, 121):
        router.submit(number, user="short", max_tokens=99)
    router.connect(num_slots=1)
    first = Counter("long" if number <= 60 else "short" for number in served(router, 40))
    assert 8 <= first["long"] <= 12  # one in four


def test_a_pause_saves_nothing_up() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 51):
        router.submit(number, user="steady", max_tokens=64)
    router.connect(num_slots=1)
    served(router, 30)
    for number in range(51, 71):
        router.submit(number, user="back", max_tokens=64)
    assert 8 <= sum(number > 50 for number in served(router, 20)) <= 12


def test_priority_goes_before_turns() -> None:
    router = RouterHarness(on_deck=0)
    router.submit(1, user="a", priority=5)
    router.submit(2, user="b", priority=5)
    router.submit(3, user="a", priority=0)
    router.connect(num_slots=1)
    assert served(router, 3)[0] == 3


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 512)), min_size=1, max_size=40))
def test_every_job_is_served_whoever_sent_it(jobs: list[tuple[str, int]]) -> None:
    router = RouterHarness(on_deck=0)
    for number, (user, max_tokens) in enumerate(jobs, 1):
        router.submit(number, user=user, max_tokens=max_tokens)
    router.connect(num_slots=1)
    assert sorted(served(router, len(jobs))) == list(range(1, len(jobs) + 1))


def kill_twice(router: RouterHarness, num_slots: int = 2) -> None:
    for name in ("first", "second"):
        router.lose(router.connect(name, num_slots=num_slots))


def test_what_two_workers_died_of_runs_alone_and_its_neighbours_survive() -> None:
    router = RouterHarness(on_deck=0)
    for number in (1, 2):
        router.submit(number)
    kill_twice(router)
    third = router.connect("third", num_slots=2)
    router.submit(3)
    assert running(router) == [1]  # nothing beside it
    router.lose(third)
    assert router.result(1).error is not None
    assert router.result(1).error.type == "poison_job"
    router.connect("fourth", num_slots=2)
    assert running(router) == [2]
    router.generate(2, "fine", finish=STOP)
    assert router.result(2).text == "fine"
    assert running(router) == [3]


def test_a_suspect_waits_for_one_worker_to_be_idle_and_the_others_go_on() -> None:
    router = RouterHarness(on_deck=0)
    router.submit(1)
    kill_twice(router, num_slots=1)
    router.workers.clear()
    router.submit(2)
    router.submit(3)
    router.submit(4)
    router.connect("a", num_slots=2)
    assert running(router) == [1]
    router.connect("b", num_slots=2)
    assert sorted(running(router)) == [1, 2, 3]
    router.generate(1, "harmless", finish=STOP)
    assert router.result(1).text == "harmless"
    assert sorted(running(router)) == [2, 3, 4]


def test_a_suspect_that_is_cancelled_frees_its_worker() -> None:
    from cactus_actors.protocol.messages import Cancel
    from tests.router_harness import job_id

    router = RouterHarness(on_deck=0)
    router.submit(1)
    kill_twice(router, num_slots=1)
    assert router.core.num_queued == 1
    router.client(Cancel(job_id=job_id(1)))
    assert router.core.num_queued == 0
    router.submit(2)
    router.connect("third")
    assert running(router) == [2]
