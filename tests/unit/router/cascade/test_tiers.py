"""A cascade of two models and a cloud: what a model is not sure of goes to the next one, before anything was shown."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cactus_actors.config_models import CascadeSettings, CascadeTier
from cactus_actors.protocol.errors import InvalidRequest
from cactus_actors.protocol.messages import Cancel, LoadAdapter, Resume, Scale, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.results import Result
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.cascade_jobs import ask
from tests.support.router.cloud_jobs import CLOUD_STOP, STOP, fail_cloud
from tests.support.router.core_harness import RouterHarness, error_of, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.walk import walk
from tests.support.router.worker_messages import SURE, UNSURE

MODELS = (ServedModel(name="small"), ServedModel(name="large"))
LOCAL = CascadeSettings(tiers=[CascadeTier(model="small", threshold=0.5), CascadeTier(model="large")])
WITH_CLOUD = CascadeSettings(
    name="auto",
    tiers=[
        CascadeTier(model="small", threshold=0.5),
        CascadeTier(model="large", threshold=0.3),
        CascadeTier(model="cloud"),
    ],
)


def make_router(cascade: CascadeSettings = LOCAL, **settings: Any) -> RouterHarness:
    router = RouterHarness(models=MODELS, cascade=cascade, **settings)
    router.connect("small-1", served_as="small", num_slots=1)
    router.connect("large-1", served_as="large", num_slots=1)
    return router


def at(router: RouterHarness, number: int = 1) -> str:
    """The worker that runs a job."""
    return router.running(number)[0].hello.worker_id


def path(result: Result) -> list[tuple[str, str | None]]:
    """The models that were asked, each with the gate that it failed."""
    assert isinstance(result.handoff.path, list)
    return [(tier.model, tier.gate) for tier in result.handoff.path]


def test_what_the_first_model_is_sure_of_stays_there() -> None:
    router = make_router()
    ask(router)
    router.generate(1, "nine long")
    assert router.published == []  # nine tokens are held back
    router.generate(1, "!", finish=STOP)
    result = router.result(1)
    assert (result.text, result.model, path(result)) == ("nine long!", "small", [("small", None)])
    [tier] = result.handoff.path  # type: ignore[misc, union-attr]
    assert (tier.threshold, tier.confidence) == (0.5, pytest.approx(0.9))
    assert router.streamed_text(1) == "nine long!"
    assert {delta.model for delta in router.deltas(1)} == {"small"}


@pytest.mark.parametrize(
    ("said", "is_whole", "gate"),
    [("a", False, "first token"), ("a", True, "first token"), ("sure a", True, "end of generation")],
)
def test_what_it_is_not_sure_of_goes_to_the_next_model(said: str, is_whole: bool, gate: str) -> None:
    router = make_router()
    ask(router)
    seed = router.running(1)[1].params.seed
    finish = STOP if is_whole else None
    if len(said) > 1:
        router.generate(1, said[0])
    router.now += 2.0
    router.generate(1, said[len(said) > 1 :], entropy=1.0, finish=finish)
    assert (at(router), router.published, router.finished(1)) == ("large-1", [], [])
    dispatch = router.running(1)[1]
    assert (dispatch.emitted_ids, dispatch.params.seed) == ([], seed)
    router.now += 3.0
    router.generate(1, "from ", entropy=UNSURE)  # the last model's answer stays, and is shown at once
    assert router.streamed_text(1) == "from "
    router.generate(1, "large", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.text, router.streamed_text(1)) == ("from large", "from large")
    assert (result.model, result.worker, result.cloud_handoff) == ("large", "large-1", False)
    assert path(result) == [("small", gate), ("large", None)]
    small, large = result.handoff.path  # type: ignore[misc]
    assert (small.latency_ms, large.latency_ms) == (pytest.approx(2000), pytest.approx(3000))
    assert (small.usage.completion_tokens, large.usage.completion_tokens) == (len(said), 10)
    assert [it.handed_on for it in router.core.status(router.now).models] == [1, 0]
    walk(router.core, router.now)


def test_a_freed_slot_goes_to_the_next_job() -> None:
    router = make_router()
    for number in (1, 2):
        ask(router, number)
    router.generate(1, "a", entropy=UNSURE)
    assert (at(router, 1), at(router, 2)) == ("large-1", "small-1")


def test_a_stream_that_was_shown_is_not_retracted() -> None:
    router = make_router()
    ask(router)
    router.generate(1, "0123456789")
    router.generate(1, "unsure" * 2, entropy=1.0, finish=STOP)
    result = router.result(1)
    assert (result.text, result.model) == ("0123456789unsureunsure", "small")
    assert (result.handoff.status, path(result)) == ("recommended", [("small", "rolling window")])


def test_the_cloud_is_the_last_tier() -> None:
    router = make_router(WITH_CLOUD)
    cloud = router.connect("cloud", kind="cloud", num_slots=1, model="big")
    for number in (1, 2, 3):
        ask(router, number, "auto", allow_cloud=number != 3)
        router.generate(number, "a", entropy=UNSURE)
        assert at(router, number) == "large-1"
        assert not cloud.dispatches
        router.generate(number, "b", entropy=UNSURE)
        if number == 1:
            router.generate(1, "from the cloud", kind="cloud", finish=CLOUD_STOP)
        elif number == 2:
            fail_cloud(router, cloud, 2)
        if number > 1:
            router.generate(number, "c", entropy=UNSURE, finish=STOP)
    first, second, third = map(router.result, (1, 2, 3))
    assert (first.text, first.model, first.cloud_handoff) == ("from the cloud", "big", True)
    assert path(first) == [("small", "first token"), ("large", "first token"), ("big", None)]
    assert (second.text, second.model, second.handoff.status) == ("bc", "large", "failed")
    assert path(second) == [("small", "first token"), ("large", "first token")]
    assert (third.text, third.handoff.status, third.handoff.reason) == ("bc", "suppressed", "allow_cloud is false")
    assert [it.handed_on for it in router.core.status(router.now).models] == [3, 2]
    walk(router.core, router.now)


def test_a_model_without_workers_is_passed_over() -> None:
    router = make_router()
    router.client(Scale(num_workers=0, model="large", request_id="r"))
    router.lose(next(worker for worker in router.workers.values() if worker.hello.served_as == "large"))
    ask(router)
    router.generate(1, "a", entropy=UNSURE)
    router.generate(1, "b", finish=STOP)
    result = router.result(1)
    assert (result.text, result.model, path(result)) == ("ab", "small", [("small", "first token")])
    assert (result.handoff.status, result.handoff.reason) == ("suppressed", "the cascade does not end in the cloud")


def test_a_first_model_that_is_switched_off_is_passed_over() -> None:
    router = make_router(WITH_CLOUD)
    router.client(Scale(num_workers=0, model="small", request_id="r"))
    router.lose(next(worker for worker in router.workers.values() if worker.hello.served_as == "small"))
    ask(router, model="auto")
    assert at(router) == "large-1"
    router.generate(1, "b", entropy=SURE, finish=STOP)
    result = router.result(1)
    assert (result.text, path(result)) == ("b", [("large", None)])
    [tier] = result.handoff.path  # type: ignore[misc, union-attr]
    assert tier.threshold == 0.3
    walk(router.core, router.now)


@pytest.mark.parametrize("is_durable", [False, True])
def test_a_request_that_does_not_fit_the_first_model_begins_at_the_second(
    monkeypatch: pytest.MonkeyPatch, is_durable: bool
) -> None:
    prepared_for = RouterHarness._prepared_for
    unfit = {"small"}

    def fitting(router: RouterHarness, model: str, submit: Submit, sources: Any) -> Any:
        if model in unfit:
            raise InvalidRequest(f"too long for {model}")
        return prepared_for(router, model, submit, sources)

    monkeypatch.setattr(RouterHarness, "_prepared_for", fitting)
    router = make_router(disk=Disk() if is_durable else None)
    ask(router)
    if is_durable:
        router.write_to_disk()
    assert at(router) == "large-1"
    router.generate(1, "b", entropy=UNSURE, finish=STOP)  # the last model's answer stays
    assert (router.result(1).text, path(router.result(1))) == ("b", [("large", None)])
    assert router.core.status(router.now).models[0].waiting == 0
    walk(router.core, router.now)
    [reply] = router.client(Submit(job_id=job_id(2), prompt=[104], model="cascade"))
    assert error_of(reply).message == "too long for small"
    unfit.add("large")
    [reply] = router.client(Submit(job_id=job_id(3), prompt="question", model="cascade"))
    assert error_of(reply).message == "too long for small"


def test_a_lost_worker_of_the_second_model_costs_nothing() -> None:
    router = make_router()
    ask(router)
    router.generate(1, "a", entropy=UNSURE)
    router.generate(1, "lar")
    router.lose(router.running(1)[0])
    router.connect("large-2", served_as="large")
    assert (at(router), len(router.running(1)[1].emitted_ids)) == ("large-2", 3)
    router.generate(1, "ge", finish=STOP)
    assert (router.result(1).text, router.streamed_text(1)) == ("large", "large")


def test_a_job_that_runs_out_of_time_leaves_the_second_model() -> None:
    router = make_router()
    ask(router, timeout_ms=60_000)
    router.generate(1, "a", entropy=UNSURE)
    worker, _ = router.running(1)
    router.pass_time(61.0)
    assert not worker.dispatches
    assert path(router.result(1)) == [("small", "first token"), ("large", None)]


def test_a_job_of_the_journal_takes_its_path_again() -> None:
    disk = Disk()
    before = make_router(disk=disk)
    ask(before)
    before.write_to_disk()
    before.generate(1, "a", entropy=UNSURE)
    seed = before.running(1)[1].params.seed
    after = make_router(disk=disk)
    assert at(after) == "small-1"
    after.generate(1, "a", entropy=UNSURE)
    assert (at(after), after.running(1)[1].params.seed) == ("large-1", seed)
    after.generate(1, "large", entropy=SURE, finish=STOP)
    after.write_to_disk()
    after.client(Submit(job_id=job_id(1), prompt="question", model="cascade", options=Options(seed=3)))
    assert after.result(1).text == "large"


def test_a_job_that_was_handed_on_goes_on_at_its_model_after_a_restart() -> None:
    disk = Disk()
    before = make_router(WITH_CLOUD, disk=disk)
    ask(before, model="auto")
    before.write_to_disk()
    before.generate(1, "a", entropy=UNSURE)
    before.generate(1, "0123456789")
    assert before.published == []  # the journal does not know yet whose items these are
    before.write_to_disk()
    assert before.streamed_text(1) == "0123456789"
    tightened = CascadeSettings(
        name="auto", tiers=[CascadeTier(model=tier.model, threshold=0.95) for tier in WITH_CLOUD.tiers]
    )
    after = make_router(tightened, disk=disk)
    assert at(after) == "large-1"
    ask(after, model="auto")
    after.generate(1, "0123456789", finish=STOP)  # it has passed the gates of this model
    result = after.result(1)
    assert (result.text, path(result), result.handoff.status) == ("0123456789", [("large", None)], "none")
    walk(after.core, after.now)


def test_a_job_keeps_the_threshold_of_its_first_model_over_a_restart() -> None:
    disk = Disk()
    before = make_router(disk=disk)
    ask(before)
    before.write_to_disk()
    before.generate(1, "0123456789")
    raised = CascadeSettings(tiers=[CascadeTier(model="small", threshold=0.95), CascadeTier(model="large")])
    after = make_router(raised, disk=disk)
    ask(after)
    after.generate(1, "0123456789", finish=STOP)
    assert (after.result(1).model, after.result(1).text) == ("small", "0123456789")


def test_a_client_may_be_ahead_of_a_job_whose_first_model_gives_shorter_answers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    prepared_for = RouterHarness._prepared_for

    def short(router: RouterHarness, model: str, submit: Submit, sources: Any) -> Any:
        prepared = prepared_for(router, model, submit, sources)
        params = msgspec.structs.replace(prepared.params, max_tokens=4 if model == "small" else 40)
        return msgspec.structs.replace(prepared, params=params)

    monkeypatch.setattr(RouterHarness, "_prepared_for", short)
    disk = Disk()
    before = make_router(disk=disk)
    ask(before)
    before.write_to_disk()
    before.generate(1, "a", entropy=UNSURE)
    before.generate(1, "twelve words")
    after = make_router(disk=disk)
    [replay] = after.client(Resume(job_id=job_id(1), next_index=12, credit=8))
    assert (replay.length, replay.deltas) == (0, [])
    [refusal] = after.client(Resume(job_id=job_id(1), next_index=41, credit=8))
    assert error_of(refusal).param == "next_index"


def test_a_request_for_one_model_stays_there() -> None:
    router = make_router()
    ask(router, 1, "small")
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.text, result.handoff.status) == ("a", "none")
    assert not isinstance(result.handoff.path, list)


@pytest.mark.parametrize(("prompt", "options"), [([104, 105], {}), ("hi", {"logit_bias": {"104": -1.0}})])
def test_token_ids_stay_with_the_model_that_has_them(prompt: Any, options: dict[str, Any]) -> None:
    router = make_router()
    router.client(Submit(job_id=job_id(1), prompt=prompt, model="cascade", options=Options(seed=3, **options)))
    router.generate(1, "a", entropy=UNSURE, finish=STOP)
    assert path(router.result(1)) == [("small", None)]


def test_an_adapter_does_not_go_with_a_cascade() -> None:
    router = make_router()
    [reply] = router.client(Submit(job_id=job_id(1), prompt="q", model="cascade", options=Options(lora="poems")))
    assert error_of(reply).param == "lora"
    [reply] = router.client(LoadAdapter(name="cascade", path="/poems", model="small", request_id="r"))
    assert error_of(reply).message == "'cascade' is the name of the cascade"


def test_a_job_is_cancelled_in_the_queue_of_its_second_model() -> None:
    router = make_router()
    ask(router, 1, "large")
    ask(router, 2)
    router.generate(2, "a", entropy=UNSURE)
    router.client(Cancel(job_id=job_id(2)))
    result = router.result(2)
    assert (result.finish_reason, path(result)) == ("cancelled", [("small", "first token"), ("large", None)])
    walk(router.core, router.now)
    router.generate(1, "b", finish=STOP)
    assert router.result(1).text == "b"
