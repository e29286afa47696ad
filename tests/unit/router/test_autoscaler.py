"""The number of a model's workers follows its load, until an operator sets it, and follows again when he says so."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.config_models import ModelMemory
from cactus_actors.config_scaling import ScalingSettings, WorkerRange
from cactus_actors.protocol.messages import Accepted, Scale, Scaling, StatusRequest
from cactus_actors.protocol.scaling_status import ScalingStatus
from cactus_actors.protocol.worker_messages import Draining, Finish, Goodbye
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import RouterHarness, error_of

DOWN_AFTER_S = 20.0
SCALING = ScalingSettings(down_after_s=DOWN_AFTER_S)


def started(low: int, high: int, **settings: Any) -> RouterHarness:
    """A router with a worker of two slots, or none if that is the least."""
    router = RouterHarness(
        size=WorkerRange(low, high), begins_unloaded=not low, scaling=settings.pop("scaling", SCALING), **settings
    )
    if low:
        router.connect("w1", num_slots=2)
    return router


def run(router: RouterHarness, seconds: int) -> None:
    for _ in range(seconds):
        router.pass_time(1.0)


def wanted(router: RouterHarness) -> int:
    return router.core.state.fleets.first.wanted_workers


def scaling(router: RouterHarness) -> ScalingStatus:
    [status] = router.client(StatusRequest(request_id="r"))
    assert status.scaling is not None
    scaling: ScalingStatus = status.scaling
    return scaling


def end(router: RouterHarness, *numbers: int) -> None:
    for number in numbers:
        router.generate(number, "ab", finish=Finish("length"))


def test_waiting_jobs_start_workers_and_their_absence_ends_them() -> None:
    router = started(1, 4)
    run(router, 5)
    assert wanted(router) == 1
    for number in range(1, 9):
        router.submit(number)
    run(router, 1)
    assert wanted(router) == 4
    assert scaling(router).reason == "waiting jobs: 5"  # one more waits at its worker
    for name in ("w2", "w3", "w4"):
        router.connect(name, num_slots=2)
    end(router, *range(1, 9))
    run(router, int(DOWN_AFTER_S) - 5)
    assert wanted(router) == 4
    run(router, 30)
    assert wanted(router) == 1
    assert scaling(router) == ScalingStatus(
        min_workers=1, max_workers=4, reason="less to do for 20 s", changes={"up": 1, "down": 1}
    )


def test_a_model_without_jobs_has_no_workers_and_its_first_job_wakes_one() -> None:
    router = started(0, 4)
    run(router, 5)
    assert (wanted(router), router.core.state.fleets.unloaded) == (0, ("",))
    assert isinstance(router.submit(1), Accepted)
    router.tick()
    assert wanted(router) == 1
    run(router, 90)  # however long its start takes
    assert wanted(router) == 1
    worker = router.connect("w1", num_slots=2)
    end(router, 1)
    assert router.result(1).text == "ab"
    run(router, int(DOWN_AFTER_S) + 5)
    assert wanted(router) == 0
    router.say(worker, Draining())
    router.say(worker, Goodbye())
    [status] = router.client(StatusRequest(request_id="r"))
    assert (status.model_state, status.scaling.reason) == ("idle", "no job for 20 s")
    router.submit(2)
    router.tick()
    assert wanted(router) == 1


def test_what_an_operator_sets_stays_until_the_load_decides_again() -> None:
    router = started(1, 4)
    assert router.client(Scale(num_workers=6, request_id="r")) == [Scaling(num_workers=6, request_id="r")]
    run(router, 100)
    assert (wanted(router), router.core.state.fleets.fixed, scaling(router).is_fixed) == (6, ("",), True)
    assert router.client(Scale(num_workers="auto", request_id="r")) == [Scaling(num_workers=6, request_id="r")]
    run(router, 1)
    assert (wanted(router), router.core.state.fleets.fixed) == (4, ())
    run(router, 30)
    assert wanted(router) == 1
    router.client(Scale(num_workers=0, request_id="r"))
    router.submit(1)
    run(router, 5)
    assert wanted(router) == 0
    router.client(Scale(num_workers="auto", request_id="r"))
    run(router, 1)
    assert wanted(router) == 1


def test_a_number_that_an_operator_has_set_outlives_the_router() -> None:
    router = started(1, 4, desired_workers=3, is_size_fixed=True)
    run(router, 100)
    assert (wanted(router), router.core.state.fleets.fixed) == (3, ("",))


def test_a_model_without_a_range_has_no_load_that_decides() -> None:
    router = RouterHarness()
    error = error_of(router.client(Scale(num_workers="auto", request_id="r"))[0])
    assert (error.type, error.param) == ("invalid_request_error", "num_workers")
    assert "--workers LEAST:MOST" in error.message
    [status] = router.client(StatusRequest(request_id="r"))
    assert status.scaling is None


def test_background_work_starts_no_more_workers_than_it_may() -> None:
    router = started(0, 4, scaling=ScalingSettings(down_after_s=DOWN_AFTER_S, background_workers=1))
    for number in range(1, 40):
        router.submit(number, priority=10)
    run(router, 3)
    assert wanted(router) == 1
    router.submit(100)
    for number in range(101, 110):
        router.submit(number)
    run(router, 1)
    assert wanted(router) == 1, "as many slots as a worker usually has are enough for them"
    router.connect("w1", num_slots=2)
    run(router, 1)
    assert wanted(router) == 4


def test_a_model_grows_within_the_memory_of_all() -> None:
    memory = ModelMemory(weight_bytes=40, cache_bytes=20)
    models = (ServedModel(name="a", size=WorkerRange(0, 8), begins_unloaded=True, memory=memory),)
    router = RouterHarness(models=models, max_model_bytes=100, scaling=SCALING)
    for number in range(1, 100):
        router.submit(number)
    run(router, 2)
    assert wanted(router) == 3


def test_workers_with_least_to_do_on_the_emptiest_node_leave_first() -> None:
    router = RouterHarness(desired_workers=4)
    for name, node in (("a", "x"), ("b", "x"), ("c", "y"), ("d", "x")):
        router.connect(name, num_slots=2, node=node)
    assert router.core.ready_workers == ("a", "b", "d", "c")
    for number in range(1, 6):
        router.submit(number)
    busy = [number for number in range(1, 6) if router.running(number)[0].hello.worker_id in ("a", "d")]
    end(router, *busy)
    assert router.core.ready_workers[0] == "b"
    assert router.core.ready_workers[-1] == "c"


@pytest.mark.parametrize("low", [0, 1])
def test_a_router_with_a_range_rests_without_work(low: int) -> None:
    router = started(low, 4)
    run(router, 50)
    assert router.core.is_at_rest
