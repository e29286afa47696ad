"""A worker with a different model, format or kernels gets no jobs, and a reason."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.worker_messages import Refused, Welcome
from cactus_actors.router.effects import LogWarning, SendWorker
from cactus_actors.router.lifecycle.membership import MAX_REFUSALS, REFUSAL_SHOWN_S
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.worker_messages import make_hello

OURS = {"fingerprint": "f00d", "weights": "float32", "kv_cache": "float16", "kernels": "avx2"}


def hello(router: RouterHarness, worker_id: str, **differing: Any) -> list[Any]:
    """The replies to a Hello of a worker that equals the others except for the given fields."""
    said = make_hello(worker_id, **{**OURS, **differing})
    effects = router.core.on_worker(worker_id.encode(), said, router.now)
    return [effect.message for effect in effects if isinstance(effect, SendWorker)]


def names(router: RouterHarness) -> list[str]:
    return [worker.worker_id for worker in router.core.status(router.now).workers]


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("fingerprint", "beef", "its model letters has the fingerprint beef"),
        ("fingerprint", "", "its model letters has no fingerprint"),
        ("weights", "int4", "its weights are in int4, not in float32"),
        ("kv_cache", "int8", "its keys and values are in int8, not in float16"),
        ("kernels", "portable", "its kernels are portable, the service's avx2"),
    ],
)
def test_a_worker_that_differs_from_the_first_one_is_refused_with_the_difference(
    field: str, value: str, words: str
) -> None:
    router = RouterHarness()
    assert hello(router, "w1") == [Welcome(7)]
    [refused] = hello(router, "w2", **{field: value})
    assert isinstance(refused, Refused)
    assert refused.differs == ("model" if field == "fingerprint" else field)
    assert words in refused.reason
    assert names(router) == ["w1"]
    status = router.core.status(router.now)
    assert status.refused_workers == {"w2": refused.reason}
    assert status.refused == {"foreign_worker": 1}
    for number in range(1, 5):
        router.submit(number)
    assert {job.attempts.worker for job in router.core.state.jobs.live.values()} == {"w1", ""}
    assert router.core.state.fleets.first.dispatcher.workers.num_dispatches == 2


@pytest.mark.parametrize("kernels", ["portable", "avx512-vnni"])
def test_kernels_may_differ_where_tokens_are_equal_to_the_bit(kernels: str) -> None:
    router = RouterHarness()
    assert hello(router, "w1", weights="int8") == [Welcome(7)]
    assert hello(router, "w2", weights="int8", kernels=kernels) == [Welcome(7)]


@pytest.mark.parametrize("weights", ["float32", "bfloat16", "int4"])
def test_kernels_may_not_differ_where_tokens_may_differ(weights: str) -> None:
    router = RouterHarness()
    assert hello(router, "w1", weights=weights) == [Welcome(7)]
    [refused] = hello(router, "w2", weights=weights, kernels="portable")
    assert isinstance(refused, Refused)


def test_configured_model_and_formats_precede_those_of_the_first_worker() -> None:
    router = RouterHarness(fingerprint="f00d", weights="int8", kv_cache="float16")
    for differing in ({"fingerprint": "beef"}, {"weights": "float32"}, {"kv_cache": "int8"}):
        [refused] = hello(router, "w1", **{"weights": "int8", **differing})
        assert isinstance(refused, Refused)
        router.now += 2.0
    assert hello(router, "w1", weights="int8", model="/elsewhere/the-same") == [Welcome(7)]
    assert router.core.status(router.now).refused_workers == {}


def test_without_fingerprints_the_names_of_models_are_compared() -> None:
    router = RouterHarness()
    assert hello(router, "w1", fingerprint="") == [Welcome(7)]
    [refused] = hello(router, "w2", fingerprint="", model="another")
    assert isinstance(refused, Refused)
    assert refused.reason == "its model is another, the service's letters"


def test_after_the_loss_of_all_workers_the_next_one_sets_the_kernels() -> None:
    router = RouterHarness()
    hello(router, "w1")
    assert isinstance(hello(router, "w2", kernels="portable")[0], Refused)
    router.core.on_worker_lost("w1", router.now)
    assert hello(router, "w3", kernels="portable") == [Welcome(7)]
    assert isinstance(hello(router, "w4")[0], Refused)


def test_jobs_of_a_worker_that_returns_with_another_model_move_to_others() -> None:
    router = RouterHarness(on_deck=0)
    first = router.connect("w1", **OURS)
    router.submit(1)
    assert router.is_running(1)
    second = router.connect("w2", **OURS)
    assert isinstance(hello(router, "w1", weights="int4")[0], Refused)
    assert names(router) == ["w2"]
    assert router.core.state.jobs.live[job_id(1)].attempts.worker == second.hello.worker_id
    assert first.identity not in {worker.identity for worker in router.core.state.fleets.first.dispatcher.workers}


def test_a_cloud_worker_is_not_compared_with_local_workers() -> None:
    router = RouterHarness(fingerprint="f00d", weights="int8")
    assert hello(router, "cloud", kind="cloud", fingerprint="", weights="", kernels="") == [Welcome(7)]


def test_a_refusal_is_logged_once_and_not_sent_again_within_a_second() -> None:
    router = RouterHarness()
    hello(router, "w1")
    said = make_hello("w2", **{**OURS, "weights": "int4"})
    first = router.core.on_worker(b"w2", said, router.now)
    [warning] = [effect.text for effect in first if isinstance(effect, LogWarning)]
    assert warning == "worker w2 on here gets no jobs: its weights are in int4, not in float32"
    router.now += 0.5
    assert router.core.on_worker(b"w2", said, router.now) == []
    router.now += 0.6
    assert len(router.core.on_worker(b"w2", said, router.now)) == 2


def test_stored_refusals_are_bounded_and_expire() -> None:
    router = RouterHarness()
    hello(router, "w1")
    for number in range(2 * MAX_REFUSALS):
        hello(router, f"foreign-{number}", weights="int4")
    router.pass_time(0.5)
    assert len(router.core.status(router.now).refused_workers) == MAX_REFUSALS
    router.now += REFUSAL_SHOWN_S
    router.tick()
    assert router.core.status(router.now).refused_workers == {}
