"""The order of jobs: users take turns, suspects run alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.protocol.key_grants import KeyGrants
from cactus_actors.protocol.messages import Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.job_cost import PROMPT_COST
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk

STOP = Finish("stop")


def running(router: RouterHarness) -> list[int]:
    return [int(dispatch.job_id, 16) for worker in router.workers.values() for dispatch in worker.dispatches.values()]


def served(router: RouterHarness, num_jobs: int) -> list[int]:
    """The jobs in the order in which a worker with one slot received them."""
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
    for number, max_tokens in enumerate((5, 2, 8, 1, 7, 3, 6, 4), 1):
        router.submit(number, user="u", max_tokens=max_tokens)
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


def test_an_idle_user_accumulates_no_credit() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 51):
        router.submit(number, user="steady", max_tokens=64)
    router.connect(num_slots=1)
    served(router, 30)
    for number in range(51, 71):
        router.submit(number, user="back", max_tokens=64)
    assert 8 <= sum(number > 50 for number in served(router, 20)) <= 12


def send(router: RouterHarness, number: int, caller: Caller, *, account: str = "", **options: object) -> None:
    message = Submit(job_id=job_id(number), prompt="x", options=Options(**options), account=account)  # type: ignore[arg-type]
    router.client(message, caller=caller)


def tenant(name: str, weight: int = 1) -> Caller:
    return Caller(name, "client", name, 9, KeyGrants(weight=weight))


@given(
    weights=st.tuples(st.integers(1, 20), st.integers(1, 20)),
    sizes=st.tuples(*[st.lists(st.integers(1, 512), min_size=30, max_size=30)] * 2),
)
def test_users_with_waiting_jobs_are_served_by_weight(
    weights: tuple[int, int], sizes: tuple[list[int], list[int]]
) -> None:
    """Goyal's bound: shares by weight differ by at most one job of each, at any time."""
    router = RouterHarness(on_deck=0)
    cost: dict[int, tuple[int, float]] = {}  # of each job: its user, and its cost
    for which, tokens in enumerate(sizes):
        for max_tokens in tokens:
            number = len(cost) + 1
            cost[number] = which, max_tokens + PROMPT_COST * 2 + 1.0
            send(router, number, tenant("ab"[which], weights[which]), max_tokens=max_tokens)
    router.connect(num_slots=1)
    bound = sum((max(tokens) + 2) / weight for tokens, weight in zip(sizes, weights, strict=True))
    shares, num_left = [0.0, 0.0], [30, 30]
    for number in served(router, len(cost)):
        which, tokens = cost[number]
        shares[which] += tokens / weights[which]
        num_left[which] -= 1
        if not all(num_left):
            break
        assert abs(shares[0] - shares[1]) <= bound


def first_of(router: RouterHarness, users: Mapping[int, str], num_jobs: int) -> Counter[str]:
    return Counter(users[number] for number in served(router, num_jobs))


def test_a_weight_of_three_gets_three_times_the_tokens() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 101):
        caller = tenant("heavy", 3) if number <= 50 else tenant("light")
        send(router, number, caller, max_tokens=64)
    router.connect(num_slots=1)
    users = {number: "heavy" if number <= 50 else "light" for number in range(1, 101)}
    assert first_of(router, users, 40) == {"heavy": 30, "light": 10}


def test_an_idle_tenant_of_high_weight_accumulates_no_credit() -> None:
    router = RouterHarness(on_deck=0)
    for number in range(1, 61):
        send(router, number, tenant("steady"), max_tokens=64)
    send(router, 61, tenant("back", 3), max_tokens=64)
    router.connect(num_slots=1)
    users = {number: "steady" if number <= 60 else "back" for number in range(1, 121)}
    first_of(router, users, 31)
    for number in range(62, 121):
        send(router, number, tenant("back", 3), max_tokens=64)
    assert 29 <= first_of(router, users, 40)["back"] <= 31


def test_the_share_of_an_api_key_does_not_depend_on_user_names() -> None:
    gateway = tenant("gateway")
    router = RouterHarness(on_deck=0, accounts={"ann": KeyGrants(weight=3), "bob": KeyGrants()})
    users: dict[int, str] = {}
    for number in range(1, 151):
        users[number] = ("ann", "bob", "made-up")[number % 3]
        send(router, number, gateway, account=users[number], user=f"u{number}", priority=-1, max_tokens=64)
    router.connect(num_slots=1)
    # A job with an invalid account has the share of its sender.
    assert first_of(router, users, 50) == {"ann": 30, "bob": 10, "made-up": 10}


def test_a_job_keeps_its_weight_when_the_router_restarts() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk, on_deck=0, accounts={"ann": KeyGrants(weight=3)})
    users = {number: "ann" if number <= 30 else "bob" for number in range(1, 61)}
    for number, user in users.items():
        if user == "ann":
            send(router, number, tenant("gateway"), account="ann", max_tokens=64)
        else:
            send(router, number, tenant("bob", 2), max_tokens=64)
    router.write_to_disk()
    again = RouterHarness(disk=disk, on_deck=0, accounts={"ann": KeyGrants(weight=5)})
    again.connect(num_slots=1)
    counted = first_of(again, users, 40)
    assert (counted["ann"], counted["bob"]) == (24, 16)


def test_priority_precedes_fair_shares() -> None:
    router = RouterHarness(on_deck=0)
    router.submit(1, user="a", priority=5)
    router.submit(2, user="b", priority=5)
    router.submit(3, user="a", priority=0)
    router.connect(num_slots=1)
    assert served(router, 3)[0] == 3


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(1, 512)), min_size=1, max_size=40))
def test_every_job_of_every_user_is_served(jobs: list[tuple[str, int]]) -> None:
    router = RouterHarness(on_deck=0)
    for number, (user, max_tokens) in enumerate(jobs, 1):
        router.submit(number, user=user, max_tokens=max_tokens)
    router.connect(num_slots=1)
    assert sorted(served(router, len(jobs))) == list(range(1, len(jobs) + 1))


def kill_twice(router: RouterHarness, num_slots: int = 2) -> None:
    for name in ("first", "second"):
        router.lose(router.connect(name, num_slots=num_slots))


def test_a_job_that_lost_two_workers_runs_alone_and_other_jobs_survive() -> None:
    router = RouterHarness(on_deck=0)
    for number in (1, 2):
        router.submit(number)
    kill_twice(router)
    third = router.connect("third", num_slots=2)
    router.submit(3)
    assert running(router) == [1]  # no other job runs there
    router.lose(third)
    assert router.result(1).error is not None
    assert router.result(1).error.type == "poison_job"
    router.connect("fourth", num_slots=2)
    assert running(router) == [2]
    router.generate(2, "fine", finish=STOP)
    assert router.result(2).text == "fine"
    assert running(router) == [3]


def test_a_suspect_waits_for_an_idle_worker_and_other_workers_continue() -> None:
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
    from tests.support.router.core_harness import job_id

    router = RouterHarness(on_deck=0)
    router.submit(1)
    kill_twice(router, num_slots=1)
    assert router.core.num_queued == 1
    router.client(Cancel(job_id=job_id(1)))
    assert router.core.num_queued == 0
    router.submit(2)
    router.connect("third")
    assert running(router) == [2]
