"""Adapters of a service: how requests name them, which workers have them, and how operators load and unload them."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.config_models import AdapterSetting
from cactus_actors.protocol.messages import AdapterLoaded, AdapterUnloaded, LoadAdapter, Submit, UnloadAdapter
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import AdaptersLoaded, Goodbye
from cactus_actors.router.state.adapter_registry import AdapterRegistry
from cactus_actors.router.state.caller import Caller
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import STOP, RouterHarness, error_of, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import Worker

AT_START = [AdapterSetting(name="poems", path="/a/poems"), AdapterSetting(name="sql", path="/a/sql")]
CLIENT = Caller(name="c", role="client", tenant="c", max_topics=8)


def say_loaded(router: RouterHarness, worker: Worker, failures: dict[str, str] | None = None) -> None:
    """A worker has read its list; `failures` are by path."""
    keys = {path: key for key, path in worker.adapters.items()}
    failed = {keys[path]: reason for path, reason in (failures or {}).items()}
    router.say(worker, AdaptersLoaded(sorted(worker.adapters), failed))


def load(router: RouterHarness, name: str, path: str) -> list[Any]:
    return router.client(LoadAdapter(name=name, path=path, request_id="r"))


def submit(router: RouterHarness, number: int, *, model: str | None = None, **options: Any) -> Any:
    message = Submit(job_id=job_id(number), prompt="a" * 40, model=model, options=Options(seed=3, **options))
    return router.client(message)[0]


@pytest.mark.parametrize(
    ("model", "lora", "path"),
    [
        (None, None, None),
        ("letters", None, None),
        ("gpt-4", None, None),
        ("other:poems", None, None),
        ("poems", None, "/a/poems"),
        ("letters:sql", None, "/a/sql"),
        ("mine:sql", None, "/a/sql"),
        (None, "sql", "/a/sql"),
        ("poems", "sql", "/a/sql"),
        ("poems", "", None),
    ],
)
def test_a_request_names_an_adapter(model: str | None, lora: str | None, path: str | None) -> None:
    registry = AdapterRegistry(7, ("letters", "mine"), AT_START)
    paths = {files.key: files.path for files in registry.command.adapters}
    assert paths.get(registry.key_of(model, lora)) == path


@pytest.mark.parametrize(("model", "lora", "param"), [("letters:nil", None, "model"), (None, "nil", "lora")])
def test_an_unknown_adapter_is_not_found_and_the_others_are_named(
    model: str | None, lora: str | None, param: str
) -> None:
    router = RouterHarness(adapters=AT_START, alias="letters")
    error = error_of(submit(router, 1, model=model, lora=lora))
    assert (error.type, error.status, error.param) == ("model_not_found", 404, param)
    assert error.message == "no adapter 'nil'; adapters of this service: poems, sql"
    error = error_of(submit(RouterHarness(alias="letters"), 1, model=model, lora=lora))
    assert error.message == "no adapter 'nil'; adapters of this service: none"


def test_workers_get_the_adapters_before_their_jobs() -> None:
    router = RouterHarness(adapters=AT_START)
    worker = router.connect()
    assert list(worker.adapters.values()) == ["/a/poems", "/a/sql"]
    submit(router, 1, lora="sql")
    submit(router, 2)
    _, dispatch = router.running(1)
    assert worker.adapters[dispatch.adapter] == "/a/sql"
    assert router.running(2)[1].adapter == ""
    assert RouterHarness().connect().adapters == {}


def test_prefixes_are_shared_within_one_adapter_only() -> None:
    router = RouterHarness(adapters=AT_START)
    jobs = []
    for number, lora in enumerate((None, "poems", "sql")):
        submit(router, number, lora=lora)
        jobs.append(router.core.state.jobs.live[job_id(number)].prepared.block_hashes)
    assert len({hashes[0] for hashes in jobs}) == 3


def test_a_job_of_an_adapter_is_never_handed_off() -> None:
    router = RouterHarness(adapters=AT_START)
    submit(router, 1, lora="sql", cloud_handoff_threshold=0.9)
    job = router.core.state.jobs.live[job_id(1)]
    assert not job.prepared.policy.allow_cloud
    assert job.prepared.cloud_refusal == "a cloud does not have the adapter"


def test_an_adapter_is_loaded_when_every_worker_has_it() -> None:
    router = RouterHarness()
    first, second = router.connect("w1"), router.connect("w2")
    assert load(router, "haiku", "/a/haiku") == []
    assert load(router, "haiku", "/a/haiku") == [], "sent again"
    say_loaded(router, first)
    assert error_of(submit(router, 1, lora="haiku")).type == "model_not_found"
    say_loaded(router, second)
    assert router.replies[-1][1] == AdapterLoaded(name="haiku", num_workers=2, request_id="r")
    assert submit(router, 1, lora="haiku").job_id == job_id(1)
    assert list(router.connect("w3").adapters.values()) == ["/a/haiku"]
    assert load(router, "haiku", "/a/haiku") == [AdapterLoaded(name="haiku", num_workers=3, request_id="r")]
    assert "unload it first" in error_of(load(router, "haiku", "/a/other")[0]).message
    assert [adapter.name for adapter in router.core.status(router.now).adapters] == ["haiku"]


def test_an_adapter_that_a_worker_cannot_load_is_removed_from_all() -> None:
    router = RouterHarness()
    first, second = router.connect("w1"), router.connect("w2")
    load(router, "haiku", "/a/haiku")
    say_loaded(router, first)
    say_loaded(router, second, {"/a/haiku": "use_dora True is not supported"})
    error = error_of(router.replies[-1][1])
    assert (error.status, error.message) == (400, "use_dora True is not supported")
    assert first.adapters == second.adapters == {}
    assert router.core.status(router.now).adapters == []


def test_a_load_during_which_a_worker_is_lost_fails() -> None:
    router = RouterHarness()
    first, second = router.connect("w1"), router.connect("w2")
    load(router, "haiku", "/a/haiku")
    say_loaded(router, first)
    router.lose(second)
    router.tick()
    error = error_of(router.replies[-1][1])
    assert (error.status, error.message) == (503, "a worker ended or hung while it loaded the adapter")
    assert first.adapters == router.connect("w3").adapters == {}
    assert error_of(submit(router, 1, lora="haiku")).type == "model_not_found"


def test_the_successor_of_a_worker_that_died_in_a_load_does_not_repeat_it() -> None:
    router = RouterHarness()
    router.connect("w1")
    load(router, "haiku", "/a/haiku")
    assert router.connect("w1").adapters == {}
    assert error_of(router.replies[-1][1]).status == 503


def test_a_worker_that_starts_during_a_load_is_waited_for() -> None:
    router = RouterHarness()
    first = router.connect("w1")
    load(router, "haiku", "/a/haiku")
    second = router.connect("w2")
    say_loaded(router, first)
    say_loaded(router, first)
    assert router.replies == []
    say_loaded(router, second)
    assert router.replies[-1][1] == AdapterLoaded(name="haiku", num_workers=2, request_id="r")


def test_a_worker_that_leaves_during_a_load_is_not_waited_for() -> None:
    router = RouterHarness()
    first, second = router.connect("w1"), router.connect("w2")
    load(router, "haiku", "/a/haiku")
    router.say(second, Goodbye())
    say_loaded(router, first)
    assert router.replies[-1][1] == AdapterLoaded(name="haiku", num_workers=1, request_id="r")
    load(router, "sonnet", "/a/sonnet")
    router.say(first, Goodbye())
    router.tick()
    assert error_of(router.replies[-1][1]).status == 503, "no worker has read it"


def test_without_a_worker_no_adapter_is_loaded() -> None:
    router = RouterHarness()
    error = error_of(load(router, "haiku", "/a/haiku")[0])
    assert (error.status, error.message) == (503, "no worker is connected that could read the adapter")
    assert router.connect("w1").adapters == {}


def test_a_later_load_failure_of_a_worker_is_logged() -> None:
    router = RouterHarness(adapters=AT_START)
    say_loaded(router, router.connect("w1"), {"/a/sql": "it is missing"})
    assert router.warnings == ["worker w1 has no adapter sql: it is missing"]


def test_jobs_finish_on_an_adapter_that_was_unloaded() -> None:
    router = RouterHarness(adapters=AT_START)
    worker = router.connect(num_slots=1)
    submit(router, 1, lora="sql")
    submit(router, 2, lora="sql")
    reply = router.client(UnloadAdapter(name="sql", request_id="u"))
    assert reply == [AdapterUnloaded(name="sql", request_id="u")]
    assert error_of(submit(router, 3, lora="sql")).type == "model_not_found"
    for number in (1, 2):
        router.tick()
        assert list(worker.adapters.values()) == ["/a/poems", "/a/sql"]
        router.generate(number, "a", finish=STOP)
    router.tick()
    assert list(worker.adapters.values()) == ["/a/poems"]
    assert error_of(router.client(UnloadAdapter(name="sql"))[0]).status == 404


def test_an_unloaded_name_can_be_loaded_from_other_files() -> None:
    router = RouterHarness(adapters=AT_START)
    worker = router.connect()
    submit(router, 1, lora="sql")
    router.client(UnloadAdapter(name="sql"))
    load(router, "sql", "/a/better")
    say_loaded(router, worker)
    submit(router, 2, lora="sql")
    keys = [router.running(number)[1].adapter for number in (1, 2)]
    assert [worker.adapters[key] for key in keys] == ["/a/sql", "/a/better"]


def test_an_operator_that_names_another_model_is_told_the_only_one() -> None:
    router = RouterHarness(models=(ServedModel(own_name="letters"),))
    router.connect()
    error = error_of(router.client(LoadAdapter(name="haiku", path="/a/haiku", model="nope", request_id="r"))[0])
    assert (error.status, error.param) == (404, "model")
    assert error.message == "no model 'nope'; models of this service: letters"


def test_no_adapter_has_a_name_of_its_model() -> None:
    router = RouterHarness(alias="letters")
    router.connect()
    error = error_of(load(router, "letters", "/a/haiku")[0])
    assert (error.status, error.message) == (400, "'letters' is the name of the model itself")


@pytest.mark.parametrize(
    ("name", "path", "words"),
    [("a b", "/a", "no name of an adapter"), ("", "/a", "no name"), ("a:b", "/a", "no name"), ("a", "b", "absolute")],
)
def test_invalid_adapter_names_and_paths_are_refused(name: str, path: str, words: str) -> None:
    error = error_of(load(RouterHarness(), name, path)[0])
    assert error.status == 400
    assert words in error.message


def test_only_operators_load_adapters_and_see_their_paths() -> None:
    router = RouterHarness(adapters=AT_START)
    for message in (LoadAdapter(name="a", path="/a"), UnloadAdapter(name="sql")):
        assert error_of(router.client(message, caller=CLIENT)[0]).status == 403


def test_a_restored_job_has_its_adapter_or_ends_with_the_reason() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk, adapters=AT_START)
    for number, lora in ((1, "poems"), (2, "sql")):
        router.client(Submit(job_id=job_id(number), prompt="a", options=Options(seed=1, lora=lora)))
    router.write_to_disk()
    restored = RouterHarness(disk=disk, adapters=AT_START[:1])
    worker = restored.connect()
    assert worker.adapters[restored.running(1)[1].adapter] == "/a/poems"
    assert not restored.is_running(2)
    ended = restored.core.state.jobs.ended.get(job_id(2))
    assert ended is not None
    assert ended.state == "failed"
