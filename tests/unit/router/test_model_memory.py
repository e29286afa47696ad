"""Loaded models stay within the memory budget: idle ones make room, busy ones never."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.config_models import ModelMemory
from cactus_actors.protocol.messages import Accepted, Scale, Scaling, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Draining, Finish, Goodbye
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import RouterHarness, error_of, job_id

BUDGET = 100


def model(name: str, weight_bytes: int, *, is_loaded: bool = False, **more: Any) -> ServedModel:
    memory = ModelMemory(weight_bytes=weight_bytes, cache_bytes=10)
    return ServedModel(name=name, memory=memory, begins_unloaded=not is_loaded, **more)


MODELS = (model("a", 30, is_loaded=True), model("b", 30, is_loaded=True), model("c", 50), model("large", 90))


def submit(router: RouterHarness, number: int, name: str) -> Any:
    return router.client(Submit(job_id=job_id(number), prompt="hello", model=name, options=Options(seed=3)))[0]


def finish(router: RouterHarness, number: int) -> None:
    router.generate(number, "ab", finish=Finish("length"))


def follow(router: RouterHarness) -> None:
    """What the supervisor does, within some ticks."""
    for _ in range(3):
        router.pass_time(0.5)
        fleets = router.core.state.fleets
        for worker in list(router.workers.values()):
            if not (fleets.named(worker.hello.served_as).wanted_workers or worker.dispatches):
                router.say(worker, Draining())
                router.say(worker, Goodbye())
        for fleet in fleets:
            if fleet.wanted_workers and not fleet.dispatcher.workers.local:
                router.connect(f"{fleet.name}-{router.now}", served_as=fleet.name)
        loaded = [fleet for fleet in fleets if fleet.is_loaded]
        assert sum(fleet.num_bytes_of(fleet.wanted_workers) for fleet in loaded) <= BUDGET
    router.pass_time(0.5)


def states(router: RouterHarness) -> dict[str, str]:
    return dict(router.core.status(router.now).states)


@pytest.fixture
def router() -> RouterHarness:
    """A router with two loaded models, and two for which there is no room beside them."""
    router = RouterHarness(models=MODELS, max_model_bytes=BUDGET)
    follow(router)
    assert states(router) == {"a": "ready", "b": "ready", "c": "idle", "large": "idle"}
    return router


def test_the_model_that_is_idle_for_longest_makes_room(router: RouterHarness) -> None:
    submit(router, 1, "a")
    finish(router, 1)
    assert isinstance(submit(router, 2, "c"), Accepted)
    follow(router)
    assert states(router) == {"a": "ready", "b": "idle", "c": "ready", "large": "idle"}
    finish(router, 2)
    submit(router, 3, "b")
    follow(router)
    assert states(router) == {"a": "idle", "b": "ready", "c": "ready", "large": "idle"}
    finish(router, 3)
    assert router.result(3).text == "ab"


def test_a_job_waits_while_the_other_models_are_busy_and_nothing_is_unloaded_in_vain(router: RouterHarness) -> None:
    submit(router, 1, "a")
    submit(router, 2, "large")
    follow(router)
    assert states(router) == {"a": "ready", "b": "ready", "c": "idle", "large": "waiting"}
    assert router.is_running(1)
    assert not router.workers[router.running(1)[0].identity].aborted
    finish(router, 1)
    follow(router)
    assert states(router) == {"a": "idle", "b": "idle", "c": "idle", "large": "ready"}
    assert router.is_running(2)


def test_models_are_loaded_in_the_order_of_their_jobs_though_a_later_one_would_fit(router: RouterHarness) -> None:
    submit(router, 1, "a")
    submit(router, 2, "large")
    router.pass_time(0.5)
    submit(router, 3, "c")
    follow(router)
    assert states(router) == {"a": "ready", "b": "ready", "c": "waiting", "large": "waiting"}
    finish(router, 1)
    follow(router)
    assert router.is_running(2)
    assert states(router) == {"a": "idle", "b": "idle", "c": "waiting", "large": "ready"}
    finish(router, 2)
    follow(router)
    assert router.is_running(3)


def test_a_model_whose_job_was_given_up_waits_no_more(router: RouterHarness) -> None:
    submit(router, 1, "a")
    message = Submit(job_id=job_id(2), prompt="hello", model="large", options=Options(seed=3, timeout_ms=4000))
    router.client(message)
    follow(router)
    assert states(router)["large"] == "waiting"
    follow(router)
    follow(router)
    error = router.result(2).error
    assert error is not None
    assert error.type == "timeout_error"
    router.pass_time(0.5)
    assert states(router)["large"] == "idle"


def test_a_model_is_scaled_within_the_budget_and_idle_ones_make_room(router: RouterHarness) -> None:
    error = error_of(router.client(Scale(num_workers=8, model="a", request_id="r"))[0])
    assert error.message == "max_model_bytes is 100, and 8 workers of a take 110"
    router.client(Scale(num_workers=4, model="a", request_id="r"))
    submit(router, 1, "a")
    follow(router)
    assert states(router) == {"a": "ready", "b": "idle", "c": "idle", "large": "idle"}
    router.client(Scale(num_workers=1, model="c", request_id="r"))
    follow(router)
    assert states(router)["c"] == "waiting"
    finish(router, 1)
    follow(router)
    assert states(router) == {"a": "idle", "b": "idle", "c": "ready", "large": "idle"}


def test_each_node_has_the_budget_and_a_worker_on_its_way_counts_on_all() -> None:
    router = RouterHarness(models=MODELS, max_model_bytes=BUDGET)
    for node, name in enumerate("ab"):
        router.connect(f"{name}-1", served_as=name, node=f"node-{node}")
    submit(router, 1, "c")  # 60 bytes, which fit beside the 40 of either node
    router.tick()
    assert states(router) == {"a": "ready", "b": "ready", "c": "loading", "large": "idle"}
    router.connect("c-1", served_as="c", node="node-1")
    assert router.is_running(1)
    submit(router, 2, "a")
    submit(router, 3, "large")
    finish(router, 1)
    router.tick()
    assert states(router)["large"] == "waiting"  # a is busy, and it may come to its node
    finish(router, 2)
    router.pass_time(1.0)
    assert [router.core.state.fleets.named(name).is_loaded for name in "abc"] == [False] * 3
    assert states(router)["large"] == "loading"


def test_no_idle_model_is_unloaded_whose_node_has_room() -> None:
    router = RouterHarness(models=MODELS, max_model_bytes=BUDGET)
    router.connect("b-1", served_as="b", node="small")
    router.connect("a-1", served_as="a", node="full")
    submit(router, 1, "a")
    router.pass_time(1.0)
    finish(router, 1)
    router.client(Scale(num_workers=4, model="a", request_id="r"))
    for number in range(2, 5):
        router.connect(f"a-{number}", served_as="a", node="full")
    router.tick()
    submit(router, 2, "c")
    router.tick()
    assert {name: router.core.state.fleets.named(name).is_loaded for name in "abc"} == {
        "a": False,
        "b": True,
        "c": True,
    }


def test_a_loaded_model_is_scaled_up_only_beside_the_busy_ones(router: RouterHarness) -> None:
    submit(router, 1, "b")
    follow(router)
    error = error_of(router.client(Scale(num_workers=4, model="a", request_id="r"))[0])
    assert (error.status, error.message) == (
        429,
        "max_model_bytes is 100: 4 workers of a do not fit beside the models that are busy",
    )
    for num_workers in (3, 2):
        [scaling] = router.client(Scale(num_workers=num_workers, model="a", request_id="r"))
        assert scaling == Scaling(num_workers=num_workers, request_id="r")
        follow(router)
        assert states(router) == {"a": "ready", "b": "ready", "c": "idle", "large": "idle"}
    finish(router, 1)
    follow(router)
    router.client(Scale(num_workers=4, model="a", request_id="r"))
    follow(router)
    assert states(router) == {"a": "ready", "b": "idle", "c": "idle", "large": "idle"}
