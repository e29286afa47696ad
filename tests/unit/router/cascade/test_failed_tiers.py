"""A model of a cascade that fails is passed over: a later model answers, or the best answer so far is given."""

from __future__ import annotations

import itertools

import pytest

from cactus_actors.config_models import CascadeSettings, CascadeTier
from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.protocol.messages import Cancel, Scale, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.scheduling.model_fleet import RETRY_AFTER_S
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.cascade_jobs import ask
from tests.support.router.cloud_jobs import CLOUD_STOP, STOP, fail_cloud
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.walk import walk
from tests.support.router.worker_messages import UNSURE, Worker

NAMES = ("small", "middle", "large")
THRESHOLD = 0.5
FAILED = Finish("error", error=ModelFailure("the logits are not finite").info())
TRUNCATED = "the model cannot be loaded: the file is truncated"


def make_router(*, on_demand: bool = True, has_cloud: bool = False, disk: Disk | None = None) -> RouterHarness:
    """A cascade of three models, of which the last one has no worker."""
    last = ServedModel(name="large", unload_after_s=30.0 if on_demand else None, begins_unloaded=on_demand)
    tiers = [CascadeTier(model=name, threshold=THRESHOLD) for name in NAMES]
    if has_cloud:
        tiers.append(CascadeTier(model="cloud"))
    models = (ServedModel(name="small"), ServedModel(name="middle"), last)
    router = RouterHarness(models=models, cascade=CascadeSettings(tiers=tiers), disk=disk)
    for name in NAMES[:2]:
        router.connect(f"{name}-1", served_as=name, num_slots=1)
    return router


def at(router: RouterHarness, number: int = 1) -> str:
    """The model that runs a job."""
    return router.running(number)[0].hello.served_as


def worker_of(router: RouterHarness, model: str) -> Worker:
    return next(worker for worker in router.workers.values() if worker.hello.served_as == model)


def path(result: Result) -> list[tuple[str, str | None]]:
    """The models that were asked, each with the gate that it failed, or its error."""
    assert isinstance(result.handoff.path, list)
    return [(tier.model, tier.error.message if tier.error else tier.gate) for tier in result.handoff.path]


def be_unsure(router: RouterHarness, number: int = 1, text: str = "a", finish: Finish | None = None) -> None:
    router.generate(number, text, entropy=UNSURE, finish=finish)


def is_recorded_as_waiting(router: RouterHarness, model: str) -> int:
    return next(it.waiting for it in router.core.status(router.now).models if it.name == model)


def test_a_model_that_fails_hands_on_and_its_error_is_in_the_path() -> None:
    router = make_router()
    ask(router)
    router.generate(1, "ab", finish=FAILED)
    assert (at(router), router.published) == ("middle", [])
    router.generate(1, "from middle", finish=STOP)
    result = router.result(1)
    assert (result.text, result.success, result.model) == ("from middle", True, "middle")
    assert path(result) == [("small", "the logits are not finite"), ("middle", None)]
    assert result.handoff.status == "none"
    assert [it.handed_on for it in router.core.status(router.now).models] == [1, 0, 0]
    walk(router.core, router.now)


@pytest.mark.parametrize("on_demand", [True, False])
def test_a_model_whose_workers_do_not_start_leaves_the_answer_to_the_one_before(on_demand: bool) -> None:
    router = make_router(on_demand=on_demand)
    ask(router)
    be_unsure(router)
    be_unsure(router, text="my")
    router.tick()
    assert is_recorded_as_waiting(router, "large") == 1
    assert router.published == []
    router.fail_to_load("large", "the file is truncated")
    assert at(router) == "middle"
    assert router.running(1)[1].emitted_ids == [ord("m"), ord("y")]
    assert router.streamed_text(1) == "my"
    be_unsure(router, text=" answer", finish=STOP)
    result = router.result(1)
    assert (result.text, router.streamed_text(1), result.model) == ("my answer", "my answer", "middle")
    assert path(result) == [
        ("small", "first token"),
        ("middle", "first token"),
        ("large", TRUNCATED),
        ("middle", "first token"),
    ]
    assert (result.handoff.status, result.handoff.reason) == ("failed", f"large: {TRUNCATED}")
    walk(router.core, router.now)


def test_a_whole_answer_of_an_earlier_model_is_given_at_once() -> None:
    router = make_router()
    ask(router)
    be_unsure(router, text="s", finish=STOP)  # the first token is the last one
    router.generate(1, "m")
    router.generate(1, "iddle", entropy=1.0, finish=STOP)
    router.tick()
    router.fail_to_load("large", "the file is truncated")
    assert (router.result(1).text, router.streamed_text(1)) == ("middle", "middle")
    assert path(router.result(1))[-1] == ("middle", "end of generation")
    walk(router.core, router.now)


def test_an_answer_that_ended_with_its_first_token_is_not_continued() -> None:
    router = make_router()
    ask(router)
    be_unsure(router, text="s", finish=STOP)
    router.generate(1, "", finish=FAILED)
    router.tick()
    router.fail_to_load("large", "the file is truncated")
    assert (router.result(1).text, router.result(1).model) == ("s", "small")
    assert path(router.result(1))[1:] == [
        ("middle", "the logits are not finite"),
        ("large", TRUNCATED),
        ("small", "first token"),
    ]


def test_without_any_answer_the_job_ends_with_the_error_of_the_last_model() -> None:
    router = make_router()
    ask(router)
    router.generate(1, "", finish=FAILED)
    router.generate(1, "", finish=FAILED)
    router.tick()
    router.fail_to_load("large", "the file is truncated")
    error = router.result(1).error
    assert error is not None
    assert (error.type, error.message) == ("model_error", TRUNCATED)
    assert [why for _, why in path(router.result(1))] == ["the logits are not finite"] * 2 + [TRUNCATED]


def test_a_stream_that_was_shown_ends_with_the_error_of_its_model() -> None:
    router = make_router()
    ask(router)
    router.generate(1, "0123456789")
    assert router.streamed_text(1) == "0123456789"
    router.generate(1, "", finish=FAILED)
    assert (router.result(1).text, router.result(1).success) == ("0123456789", False)
    assert path(router.result(1)) == [("small", "the logits are not finite")]


@pytest.mark.parametrize("is_answered", [True, False])
def test_the_cloud_answers_what_the_last_model_cannot(is_answered: bool) -> None:
    router = make_router(has_cloud=True)
    cloud = router.connect("cloud", kind="cloud", num_slots=1, model="big")
    ask(router)
    be_unsure(router)
    router.generate(1, "", finish=FAILED)
    router.tick()
    router.fail_to_load("large", "the file is truncated")
    if is_answered:
        router.generate(1, "from the cloud", kind="cloud", finish=CLOUD_STOP)
        answered_by, decision = ("big", None), ("completed", "model error")
    else:
        fail_cloud(router, cloud)
        be_unsure(router, text=" small", finish=STOP)
        answered_by, decision = ("small", "first token"), ("failed", "the provider answered 503")
    result = router.result(1)
    assert result.text == ("from the cloud" if is_answered else "a small")
    assert (result.handoff.status, result.handoff.reason) == decision
    first, second, third, *_, last = path(result)
    assert (first, last) == (("small", "first token"), answered_by)
    assert (second, third) == (("middle", "the logits are not finite"), ("large", TRUNCATED))
    assert not is_recorded_as_waiting(router, "large")
    walk(router.core, router.now)


def test_a_model_that_did_not_start_is_passed_over_until_it_is_tried_again() -> None:
    router = make_router()
    numbers = itertools.count(1)

    def reach_the_last_model() -> int:
        number = next(numbers)
        ask(router, number)
        be_unsure(router, number)
        be_unsure(router, number)
        router.tick()
        return number

    first = reach_the_last_model()
    router.fail_to_load("large", "the file is truncated")
    be_unsure(router, first, finish=STOP)
    second = reach_the_last_model()
    assert at(router, second) == "middle"  # nothing was loaded for it
    assert "large" in router.core.state.fleets.unloaded
    be_unsure(router, second, finish=STOP)
    assert path(router.result(second)) == path(router.result(first))
    router.pass_time(RETRY_AFTER_S)
    third = reach_the_last_model()
    assert "large" not in router.core.state.fleets.unloaded
    router.connect("large-2", served_as="large")
    assert at(router, third) == "large"


def test_a_model_without_the_setting_is_passed_over_until_a_worker_is_ready() -> None:
    router = make_router(on_demand=False)
    router.fail_to_load("large", "the file is truncated")
    router.pass_time(2 * RETRY_AFTER_S)
    ask(router, 1, "large")
    ask(router, 2)
    be_unsure(router, 2)
    be_unsure(router, 2)
    router.tick()
    assert at(router, 2) == "middle"
    large = router.connect("large-1", served_as="large")
    assert at(router, 1) == "large"  # a request that names it has waited
    router.tick()
    router.lose(large)
    ask(router, 3)
    be_unsure(router, 3)
    be_unsure(router, 2, finish=STOP)
    be_unsure(router, 3)
    router.pass_time(2.0)
    assert is_recorded_as_waiting(router, "large") == 2  # its worker is replaced
    walk(router.core, router.now)


def test_a_job_that_waits_for_a_model_is_answered_by_another_when_that_is_scaled_to_0() -> None:
    router = make_router()
    ask(router)
    be_unsure(router)
    be_unsure(router, text="m")
    router.tick()
    router.client(Scale(num_workers=0, model="large", request_id="r"))
    router.tick()
    assert at(router) == "middle"
    router.generate(1, "e", finish=STOP)
    assert router.result(1).text == "me"
    assert path(router.result(1))[2] == ("large", "the model is scaled to 0")
    router.client(Cancel(job_id=job_id(1)))
    walk(router.core, router.now)


def test_a_suspect_runs_alone_at_the_next_model_and_returns_to_no_earlier_one_twice() -> None:
    router = make_router()
    ask(router)
    for number in range(2, 5):
        router.lose(router.running(1)[0])
        router.connect(f"small-{number}", served_as="small", num_slots=4)
    assert at(router) == "middle"
    ask(router, 2, "middle")
    assert not router.is_running(2)  # until the suspect has ended
    router.lose(router.running(1)[0])
    router.connect("middle-2", served_as="middle", num_slots=4)
    router.tick()
    assert router.is_running(2)
    router.fail_to_load("large", "the file is truncated")
    error = router.result(1).error
    assert error is not None
    assert error.message == TRUNCATED
    walk(router.core, router.now)


def test_a_job_that_returned_keeps_its_turn_and_may_be_cancelled() -> None:
    router = make_router()
    ask(router, 1)
    be_unsure(router)
    be_unsure(router, text="m")
    router.tick()
    for number in (2, 3):
        ask(router, number, "middle")
    router.fail_to_load("large", "the file is truncated")
    assert not router.is_running(1)
    router.generate(2, "x", finish=STOP)
    assert router.is_running(1)
    router.client(Cancel(job_id=job_id(1)))
    assert (router.result(1).finish_reason, router.result(1).text) == ("cancelled", "m")
    assert router.is_running(3)
    walk(router.core, router.now)


def test_a_job_that_returned_to_an_answer_keeps_it_over_a_restart() -> None:
    disk = Disk()
    before = make_router(disk=disk)
    ask(before)
    before.write_to_disk()
    be_unsure(before)
    be_unsure(before, text="my")
    before.tick()
    before.fail_to_load("large", "the file is truncated")
    assert before.published == []
    before.write_to_disk()
    assert before.streamed_text(1) == "my"
    after = make_router(disk=disk)
    assert at(after) == "middle"
    be_unsure(after, text="my answer", finish=STOP)
    after.client(Submit(job_id=job_id(1), prompt="question", model="cascade", options=Options(seed=3)))
    assert (after.result(1).text, after.result(1).model) == ("my answer", "middle")
