"""A model without jobs gives its workers up, and a job brings them back; a busy one keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.messages import Accepted, Scale, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Draining, Finish, Goodbye
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import Worker

LIMIT_S = 30.0
MODELS = (
    ServedModel(name="kept", fingerprint="5"),
    ServedModel(name="rare", fingerprint="1", desired_workers=2, unload_after_s=LIMIT_S),
)


def submit(router: RouterHarness, number: int, model: str = "rare", **options: Any) -> Any:
    message = Submit(job_id=job_id(number), prompt="hello", model=model, options=Options(seed=3, **options))
    return next(iter(router.client(message)), None)


def connect(router: RouterHarness, name: str) -> Worker:
    """A worker of the model that its name begins with."""
    model = name.split("-")[0]
    return router.connect(name, served_as=model, fingerprint={"kept": "5", "rare": "1"}[model])


def leave(router: RouterHarness, worker: Worker) -> None:
    """Drain a worker without jobs, as the supervisor does."""
    router.say(worker, Draining())
    router.say(worker, Goodbye())


def state(router: RouterHarness) -> tuple[str, int]:
    """The state of the model, and the number of workers that the supervisor shall run."""
    [status] = router.client(StatusRequest(request_id="r"))
    fleet = router.core.state.fleets.named("rare")
    assert (fleet.name in router.core.state.fleets.unloaded) == (not fleet.is_loaded)
    return status.states["rare"], fleet.wanted_workers


@pytest.fixture
def router() -> RouterHarness:
    """A router with a worker of each model."""
    router = RouterHarness(models=MODELS)
    connect(router, "kept-1")
    connect(router, "rare-1")
    return router


def unloaded(router: RouterHarness) -> RouterHarness:
    router.pass_time(LIMIT_S + 1.0)
    for worker in [worker for worker in router.workers.values() if worker.hello.served_as == "rare"]:
        leave(router, worker)
    assert state(router) == ("idle", 0)
    return router


def test_a_model_gives_its_workers_up_after_the_time_without_a_job(router: RouterHarness) -> None:
    router.pass_time(LIMIT_S - 1.0)
    assert state(router) == ("ready", 2)
    submit(router, 1)
    router.generate(1, "ab", finish=Finish("length"))
    router.pass_time(LIMIT_S - 1.0)
    assert state(router) == ("ready", 2)
    router.pass_time(2.0)
    assert state(router) == ("ready", 0)  # until the supervisor has drained it
    leave(router, next(worker for worker in router.workers.values() if worker.hello.worker_id == "rare-1"))
    assert state(router) == ("idle", 0)
    assert router.core.state.fleets.desired_by_model == {"kept": 1, "rare": 2}
    assert router.core.is_at_rest


def test_a_model_without_the_setting_and_one_with_a_job_keep_their_workers(router: RouterHarness) -> None:
    submit(router, 1)
    router.pass_time(10 * LIMIT_S)
    assert state(router) == ("ready", 2)
    assert router.core.state.fleets.named("kept").wanted_workers == 1
    assert router.is_running(1)


def test_a_job_brings_the_workers_back_and_runs_on_them(router: RouterHarness) -> None:
    unloaded(router)
    assert isinstance(submit(router, 1), Accepted)
    router.tick()
    assert state(router) == ("loading", 2)
    router.pass_time(3 * LIMIT_S)  # however long it takes
    connect(router, "rare-2")
    router.tick()
    assert state(router) == ("ready", 2)
    router.generate(1, "ab", finish=Finish("length"))
    assert router.result(1).text == "ab"
    router.pass_time(LIMIT_S + 1.0)
    assert state(router)[1] == 0


def test_a_job_that_comes_before_the_worker_has_left_runs_there(router: RouterHarness) -> None:
    router.pass_time(LIMIT_S + 1.0)
    assert state(router) == ("ready", 0)
    submit(router, 1)
    assert router.running(1)[0].hello.worker_id == "rare-1"
    router.say(router.running(1)[0], Draining())  # it was told before the job came
    router.pass_time(1.0)
    assert state(router) == ("loading", 2)
    router.generate(1, "ab", finish=Finish("length"))
    assert router.result(1).text == "ab"


def test_the_deadline_of_a_job_holds_while_its_model_is_loaded(router: RouterHarness) -> None:
    unloaded(router)
    submit(router, 1, timeout_ms=2000)
    router.pass_time(3.0)
    error = router.result(1).error
    assert error is not None
    assert error.type == "timeout_error"
    connect(router, "rare-2")
    router.pass_time(LIMIT_S + 1.0)
    assert state(router) == ("ready", 0)


def test_jobs_end_with_the_reason_if_the_workers_do_not_start_and_the_next_one_tries_again(
    router: RouterHarness,
) -> None:
    unloaded(router)
    submit(router, 1)
    submit(router, 2)
    router.tick()
    router.fail_to_load("rare", "/srv/our models/rare/model.safetensors is truncated")
    for number in (1, 2):
        error = router.result(number).error
        assert error is not None
        assert (error.type, error.message) == (
            "model_error",
            "the model cannot be loaded: model.safetensors is truncated",
        )
    assert state(router) == ("idle", 0)
    submit(router, 3)
    router.tick()
    assert state(router) == ("loading", 2)
    connect(router, "rare-2")
    assert router.is_running(3)
    router.fail_to_load("rare", "a worker beside it")
    assert router.is_running(3)


def test_jobs_of_a_model_without_the_setting_wait_for_workers_that_do_not_start(router: RouterHarness) -> None:
    for worker in list(router.workers.values()):
        router.lose(worker)
    submit(router, 1, "kept")
    router.fail_to_load("kept", "no reason to end jobs")
    assert not router.finished(1)
    connect(router, "kept-2")
    assert router.is_running(1)


def test_an_operator_loads_an_idle_model_and_one_that_is_scaled_to_0_stays_without_workers(
    router: RouterHarness,
) -> None:
    unloaded(router)
    router.client(Scale(num_workers=1, model="rare", request_id="r"))
    router.pass_time(2 * LIMIT_S)
    assert state(router) == ("loading", 1)
    worker = connect(router, "rare-2")
    router.client(Scale(num_workers=0, model="rare", request_id="r"))
    leave(router, worker)
    assert isinstance(submit(router, 1), Accepted)
    router.pass_time(2 * LIMIT_S)
    assert state(router) == ("off", 0)
    assert not router.is_running(1)


def test_after_a_restart_the_jobs_of_the_journal_have_their_model_loaded() -> None:
    disk = Disk()
    idle = (MODELS[0], ServedModel(name="rare", fingerprint="1", unload_after_s=LIMIT_S, begins_unloaded=True))
    before = RouterHarness(disk=disk, models=idle)
    before.tick()
    assert state(before) == ("idle", 0)
    submit(before, 1)
    before.write_to_disk()
    after = RouterHarness(disk=disk, models=idle)
    after.tick()
    assert state(after) == ("loading", 1)
    connect(after, "rare-2")
    after.generate(1, "ab", finish=Finish("length"))
    after.client(Submit(job_id=job_id(1), prompt="hello", model="rare", options=Options(seed=3)), b"again")
    assert after.finished(1, b"again")[0].result.text == "ab"


def test_a_lost_worker_is_awaited_by_the_jobs_of_a_loaded_model(router: RouterHarness) -> None:
    submit(router, 1)
    router.lose(router.running(1)[0])
    router.pass_time(2 * LIMIT_S)
    assert state(router) == ("starting", 2)
    connect(router, "rare-2")
    assert router.is_running(1)


def test_the_only_model_of_a_service_may_be_idle() -> None:
    router = RouterHarness(unload_after_s=LIMIT_S)
    worker = router.connect()
    router.pass_time(LIMIT_S + 1.0)
    leave(router, worker)
    [status] = router.client(StatusRequest(request_id="r"))
    assert (status.model_state, status.loads_on_demand, status.models) == ("idle", True, [])
    router.submit(1)
    router.tick()
    [status] = router.client(StatusRequest(request_id="r"))
    assert (status.model_state, status.desired_workers) == ("loading", 1)
    router.connect("w2")
    assert router.is_running(1)
