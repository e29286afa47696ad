"""A service of several models: each has its queue and its workers, and requests choose by name."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cactus_actors.config_models import AdapterSetting
from cactus_actors.protocol.messages import Accepted, LoadAdapter, Scale, Scaling, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.system_fingerprint import system_fingerprint
from cactus_actors.protocol.worker_messages import Finish, Refused, Welcome
from cactus_actors.router.effects import SendWorker
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import RouterHarness, error_of, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import make_hello

MODELS = (
    ServedModel(name="small", aliases=("tiny", "default"), fingerprint="5", desired_workers=1),
    ServedModel(
        name="large",
        aliases=("big",),
        fingerprint="1",
        desired_workers=2,
        adapters=(AdapterSetting(name="poems", path="/poems"),),
    ),
)


def submit(number: int, model: str | None, **options: Any) -> Submit:
    return Submit(job_id=job_id(number), prompt="hello", model=model, options=Options(seed=3, **options))


def ask(router: RouterHarness, number: int, model: str | None, **options: Any) -> Any:
    return router.client(submit(number, model, **options))[0]


def of(router: RouterHarness, number: int) -> str:
    """The worker that runs a job."""
    return router.running(number)[0].hello.worker_id


@pytest.fixture
def router() -> RouterHarness:
    """A small worker and a large one, with a slot each."""
    router = RouterHarness(models=MODELS)
    router.connect("small-1", served_as="small", fingerprint="5", num_slots=1)
    router.connect("large-1", served_as="large", fingerprint="1", num_slots=1)
    return router


@pytest.mark.parametrize(
    ("model", "worker"),
    [
        *((None, "small-1"), ("small", "small-1"), ("tiny", "small-1"), ("default", "small-1")),
        *(("large", "large-1"), ("big", "large-1"), ("poems", "large-1"), ("big:poems", "large-1")),
    ],
)
def test_a_request_runs_on_the_model_that_it_names(router: RouterHarness, model: str | None, worker: str) -> None:
    assert isinstance(ask(router, 1, model), Accepted)
    assert of(router, 1) == worker
    assert bool(router.running(1)[1].adapter) == ("poems" in (model or ""))


@pytest.mark.parametrize("model", ["lareg", "", "small-1", "big:prose", "x" * 500])
def test_an_unknown_model_is_refused_with_the_names_that_there_are(router: RouterHarness, model: str) -> None:
    error = error_of(ask(router, 1, model))
    assert (error.status, error.param) == (404, "model")
    assert ("poems" if model == "big:prose" else "models of this service: small, large") in error.message
    assert ("did you mean 'large'?" in error.message) == (model == "lareg")
    assert len(error.message) < 250
    assert not router.core.num_unfinished


def test_a_full_model_does_not_delay_another(router: RouterHarness) -> None:
    for number in range(1, 20):
        ask(router, number, "small")
    ask(router, 20, "large")
    assert of(router, 20) == "large-1"
    status = router.core.status(router.now)
    assert [(it.name, it.waiting, it.running) for it in status.models] == [("small", 18, 1), ("large", 0, 1)]
    assert (status.jobs.queued, status.jobs.running) == (18, 2)


def test_a_job_of_a_lost_worker_continues_on_another_of_its_model(router: RouterHarness) -> None:
    ask(router, 1, "large", stop=["!"])
    router.generate(1, "ab")
    worker, _ = router.running(1)
    router.lose(worker)
    assert not router.is_running(1)
    router.connect("large-2", served_as="large", fingerprint="1")
    assert of(router, 1) == "large-2"
    router.generate(1, "c", finish=Finish("length"))
    assert (router.result(1).text, router.result(1).model) == ("abc", "large")


def test_workers_of_unknown_models_and_of_other_files_are_refused(router: RouterHarness) -> None:
    for hello, words in (
        (make_hello("w", served_as="medium", fingerprint="5"), "it serves medium, the service has small, large"),
        (make_hello("w", served_as="large", fingerprint="5"), "has the fingerprint 5, the service's large has 1"),
        (make_hello("w", fingerprint="1"), "the service's small has 5"),
    ):
        router.now += 2.0
        effects = router.core.on_worker(b"w", hello, router.now)
        [refused] = [it.message for it in effects if isinstance(it, SendWorker) and it.identity == b"w"]
        assert isinstance(refused, Refused)
        assert words in refused.reason


def test_a_worker_may_change_its_model(router: RouterHarness) -> None:
    ask(router, 1, "large")
    ask(router, 2, "small")
    effects = router.core.on_worker(b"new", make_hello("large-1", served_as="small", fingerprint="5"), router.now)
    assert Welcome(7) in [it.message for it in effects if isinstance(it, SendWorker) and it.identity == b"new"]
    models = [(worker.worker_id, worker.model) for worker in router.core.status(router.now).workers]
    assert models == [("small-1", "small"), ("large-1", "small")]


@pytest.mark.parametrize("name", ["small", "tiny"])
def test_an_adapter_has_no_name_of_another_model(router: RouterHarness, name: str) -> None:
    message = LoadAdapter(name=name, path="/poems", model="large", request_id="r")
    assert error_of(router.client(message)[0]).message == f"{name!r} is the name of another model"


def test_each_model_is_scaled_by_its_name(router: RouterHarness) -> None:
    assert router.client(Scale(num_workers=5, model="big", request_id="r")) == [Scaling(num_workers=5, request_id="r")]
    assert router.core.state.fleets.desired_by_model == {"small": 1, "large": 5}
    for model, words in ((None, "name a model; models of this service: small, large"), ("huge", "no model 'huge'")):
        error = error_of(router.client(Scale(num_workers=2, model=model, request_id="r"))[0])
        assert words in error.message
    assert router.core.state.fleets.desired_by_model == {"small": 1, "large": 5}


def test_a_service_of_one_model_is_scaled_without_a_name_and_answers_to_any() -> None:
    router = RouterHarness()
    worker = router.connect()
    assert router.client(Scale(num_workers=5, request_id="r")) == [Scaling(num_workers=5, request_id="r")]
    assert isinstance(ask(router, 1, "whatever"), Accepted)
    assert worker.dispatches
    [status] = router.client(StatusRequest(request_id="r"))
    assert status.models == []


def test_counts_are_by_model_and_in_all(router: RouterHarness) -> None:
    for number, model in ((1, "small"), (2, "large"), (3, "large")):
        ask(router, number, model)
        router.generate(number, "ab", finish=Finish("length"))
    [status] = router.client(StatusRequest(request_id="r", with_totals=True))
    ended = [it.totals.ended["length"] for it in status.models]
    generated = [it.totals.generated_tokens for it in status.models]
    assert (ended, generated) == ([1, 2], [2, 4])
    assert (status.totals.ended["length"], status.totals.generated_tokens) == (3, 6)
    assert sum(status.totals.queue_seconds.counts) == 3


def test_a_fingerprint_has_the_formats_of_the_model_alone_also_when_its_workers_are_gone() -> None:
    router = RouterHarness(models=(MODELS[0], dataclasses.replace(MODELS[1], weights="float32")))
    small = router.connect("small-1", served_as="small", fingerprint="5", weights="int4", kernels="avx2")

    def told(model: str | None) -> str:
        status = router.core.status(router.now)
        return system_fingerprint(status, model).removeprefix(f"cactus_{status.version}_")

    for lose in (lambda: router.lose(small), lambda: None):
        assert {told(model) for model in (None, "small", "tiny")} == {"5_int4-avx2"}
        assert {told(model) for model in ("large", "big", "poems", "big:poems")} == {"1_float32"}
        assert told("cascade") == "5_int4-avx2_1_float32"
        lose()
    router.connect("large-1", served_as="large", fingerprint="1", weights="float32", kernels="avx2")
    assert told("large") == "1_float32-avx2"


def test_jobs_of_the_journal_find_their_models_and_a_model_that_is_gone_ends_them() -> None:
    disk = Disk()
    before = RouterHarness(disk=disk, models=MODELS)
    for number, model in ((1, "small"), (2, "big"), (3, "big:poems")):
        before.client(submit(number, model))
    before.write_to_disk()
    after = RouterHarness(disk=disk, models=MODELS)
    after.connect("large-1", served_as="large", fingerprint="1", num_slots=4)
    assert [of(after, 2), of(after, 3)] == ["large-1", "large-1"]
    assert not after.is_running(1)
    after.connect("small-1", served_as="small", fingerprint="5")
    assert of(after, 1) == "small-1"
    only_small = RouterHarness(disk=disk, models=(MODELS[0], ServedModel(name="other")))
    only_small.client(submit(2, "big"), b"again")
    assert only_small.finished(2, b"again")[0].result.error.type == "model_not_found"  # type: ignore[union-attr]
