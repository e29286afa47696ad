"""The router's counters, as a status request returns them."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.errors import InvalidMessage, ModelFailure
from cactus_actors.protocol.messages import Cancel, Resume, Submit
from cactus_actors.protocol.totals import Distribution, Held, Totals
from cactus_actors.protocol.wire import MessageIds
from cactus_actors.protocol.worker_messages import Finish, Goodbye
from cactus_actors.router.telemetry.histogram import Histogram
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import UNSURE, make_delta

STOP = Finish("stop")


def totals_of(router: RouterHarness) -> Totals:
    totals = router.core.status(router.now, with_totals=True).totals
    assert totals is not None
    return totals


def held_of(router: RouterHarness) -> Held:
    return router.core.status(router.now).held


def happened(counts: dict[str, int]) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def values_of(distribution: Distribution) -> tuple[int, float]:
    return sum(distribution.counts), distribution.sum


def test_a_value_counts_in_the_first_bucket_that_holds_it() -> None:
    histogram = Histogram([1.0, 2.0])
    for value in (0.5, 1.0, 1.5, 7.0):
        histogram.observe(value)
    histogram.observe(2.0, 3)
    assert histogram.distribution() == Distribution((1.0, 2.0), (2, 4, 1), 16.0)


def test_totals_are_in_the_status_if_requested() -> None:
    router = RouterHarness()
    assert router.core.status(router.now).totals is None
    assert totals_of(router).ended["stop"] == 0


def test_a_job_is_counted_by_its_durations_and_tokens() -> None:
    router = RouterHarness()
    router.submit(1, "hello", max_tokens=9)
    router.pass_time(2.0)
    worker = router.connect("w1")
    router.now += 0.5
    router.generate(1, "a")
    router.now += 0.25
    router.generate(1, "b")
    router.now += 0.3
    _, dispatch = router.running(1)
    router.report(worker, make_delta(dispatch.dispatch_id, 2, "cde", finish=STOP))
    totals = totals_of(router)
    assert values_of(totals.queue_seconds) == (1, 2.0)
    assert values_of(totals.prefill_seconds) == (1, 0.5)
    assert values_of(totals.first_token_seconds) == (1, 2.5)
    assert values_of(totals.decode_seconds) == (1, pytest.approx(0.55))
    assert values_of(totals.job_seconds) == (1, pytest.approx(3.05))
    assert values_of(totals.prompt_tokens) == (1, 6)
    assert values_of(totals.completion_tokens) == (1, 5)
    assert values_of(totals.max_tokens) == (1, 9)
    assert (totals.prompt_tokens_done, totals.generated_tokens) == (6, 5)
    # one gap of 0.25 s, and one of 0.3 s that three tokens share
    assert values_of(totals.inter_token_seconds) == (4, pytest.approx(0.55))
    shared = totals.inter_token_seconds.bounds.index(0.1)
    assert totals.inter_token_seconds.counts[shared] + totals.inter_token_seconds.counts[shared + 1] == 3
    assert happened(totals.ended) == {"stop": 1}
    assert happened(totals.attempts) == {"completed": 1}


def test_an_embedding_adds_nothing_to_generated_tokens() -> None:
    router = RouterHarness()
    router.connect("w1")
    router.client(Submit(job_id=job_id(1), prompt="hi", task="embed"))
    router.generate(1, "", finish=STOP)
    totals = totals_of(router)
    assert values_of(totals.prompt_tokens) == (1, 3)
    assert values_of(totals.completion_tokens) == (0, 0)
    assert values_of(totals.max_tokens) == (0, 0)
    assert values_of(totals.first_token_seconds) == (0, 0)


def test_ended_dispatches_and_removed_workers_are_counted_by_reason() -> None:
    router = RouterHarness(worker_timeout_s=5.0)
    router.submit(1)
    router.lose(router.connect("w1"))
    router.say(router.connect("w2"), Goodbye())
    router.connect("w3")
    router.pass_silence(6.0)
    router.connect("w4")
    router.connect("w4")
    assert happened(totals_of(router).attempts) == {"lost": 2, "returned": 1, "cut": 1}
    assert happened(totals_of(router).lost_workers) == {"died": 1, "silent": 1, "reconnected": 1}
    assert totals_of(router).farewells == 1

    router = RouterHarness()
    worker = router.connect("w1", num_slots=3)
    router.submit(1)
    router.generate(1, "", finish=Finish("error", error=ModelFailure("broken").info()))
    router.submit(2)
    router.client(Cancel(job_id=job_id(2)))
    router.submit(3)
    _, dispatch = router.running(3)
    router.report(worker, make_delta(dispatch.dispatch_id, 5, "x"))
    assert happened(totals_of(router).attempts) == {"failed": 1, "aborted": 1, "broken": 1}
    assert happened(totals_of(router).ended) == {"error": 1, "cancelled": 1}


def test_requests_to_the_cloud_are_counted() -> None:
    router = RouterHarness()
    router.connect("w1", num_slots=3)
    cloud = router.connect("cloud", kind="cloud", num_slots=3)
    for number in (1, 2, 3):
        router.submit(number, cloud_handoff_threshold=0.5)
        router.generate(number, "a", entropy=UNSURE)
    router.generate(1, "An answer", entropy=None, kind="cloud", finish=Finish("stop", provider="p"))
    router.generate(2, "", kind="cloud", finish=Finish("error", error=ModelFailure("no").info()))
    router.client(Cancel(job_id=job_id(3)))
    assert len(cloud.aborted) == 1
    assert totals_of(router).cloud_attempts == {"completed": 1, "failed": 1, "aborted": 1}


def test_late_deltas_of_ended_dispatches_are_counted() -> None:
    router = RouterHarness()
    worker = router.connect("w1")
    router.submit(1)
    _, dispatch = router.running(1)
    router.client(Cancel(job_id=job_id(1)))
    router.report(worker, make_delta(dispatch.dispatch_id, 0, "abc"))
    router.lose(worker)
    router.say(worker, worker.report(make_delta(dispatch.dispatch_id, 3, "de")))
    assert (totals_of(router).late_deltas, totals_of(router).late_tokens) == (2, 5)
    assert totals_of(router).generated_tokens == 0


def test_replays_and_replayed_tokens_are_counted() -> None:
    router = RouterHarness()
    router.connect("w1")
    router.submit(1)
    router.generate(1, "abc")
    router.client(Resume(job_id=job_id(1), next_index=0))  # a late subscriber
    assert (totals_of(router).resumes, totals_of(router).stream_gaps) == (1, 0)
    router.subscribe(1)
    router.generate(1, "de")
    router.client(Resume(job_id=job_id(1), next_index=3))
    router.client(Resume(job_id=job_id(1), next_index=5))
    totals = totals_of(router)
    assert (totals.resumes, totals.replayed_items, totals.stream_gaps) == (3, 5, 1)


def test_refusals_are_counted_by_error_type() -> None:
    router = RouterHarness(max_queued_jobs=1)
    router.submit(1, max_tokens=-7)
    router.submit(2)
    router.submit(3)
    router.client(Cancel(job_id=job_id(9)))
    router.core.on_bad_frames(b"client", InvalidMessage("no"), "m", MessageIds(None, None))
    router.core.on_bad_worker_frames()
    router.core.on_bad_topic()
    totals = totals_of(router)
    assert totals.rejected == {
        "invalid_request_error": 1,
        "rate_limit_error": 1,
        "not_found_error": 1,
        "invalid_message": 1,
    }
    assert totals.bad_frames == {"invalid_message": 1, "worker_message": 1, "topic": 1}
    assert sum(totals.rejected.values()) == router.core.status(router.now).jobs.rejected


def test_counts_of_jobs_never_fall_after_a_disk_failure() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk)
    router.client(Submit(job_id=job_id(1), prompt="hi"))
    router.client(Submit(job_id=job_id(2), prompt="hi"))
    assert router.core.status(router.now).jobs.accepted == 0
    assert held_of(router).live_jobs == 2
    router.client(Cancel(job_id=job_id(2)))
    assert router.core.status(router.now).jobs.accepted == 1
    router.fail_to_write("disk full")
    counts = router.core.status(router.now).jobs
    assert (counts.accepted, counts.cancelled, counts.queued, counts.rejected) == (1, 1, 0, 1)
    assert totals_of(router).rejected == {"storage_error": 1}


def test_held_resources_return_to_zero() -> None:
    router = RouterHarness(retention_s=60.0)
    router.connect("w1", num_slots=2)
    for number in (1, 2, 3):
        router.subscribe(number)
        router.submit(number)
    held = held_of(router)
    assert held == Held(live_jobs=3, dispatches=2, topics=3, waiting_tokens=6, waiting_bytes=held.waiting_bytes)
    assert held.waiting_bytes > 0
    router.generate(1, "a", finish=STOP)
    for number in (2, 3):
        router.client(Cancel(job_id=job_id(number)))
    for number in (1, 2, 3):
        router.core.on_unsubscribed(job_id(number))
    held = held_of(router)
    assert held == Held(ended_jobs=3, result_bytes=held.result_bytes)
    assert held.result_bytes > 0
    router.pass_time(61.0)
    assert held_of(router) == Held()
