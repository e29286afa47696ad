"""The router's core by events and effects: the life of a job from its submission to its result."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.protocol.messages import (
    Accepted,
    Cancel,
    ChatMessage,
    Fetch,
    Finished,
    Pending,
    Resume,
    Scale,
    Scaling,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from tests.support.router.core_harness import STOP, RouterHarness, error_of, job_id
from tests.support.router.worker_messages import make_delta


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": [1 << 64]}, "prompt"),
        ({"prompt": "x", "choice": 1 << 64}, "choice"),
        ({"prompt": "x", "options": Options(json_schema={"maximum": 1 << 70})}, "json_schema"),
        ({"messages": [ChatMessage(role="user", content="x")], "tools": [{"maximum": 1 << 70}]}, "tools"),
    ],
)
def test_an_integer_beyond_64_bits_is_refused_with_its_field(
    router: RouterHarness, fields: dict[str, Any], param: str
) -> None:
    [reply] = router.client(Submit(job_id=job_id(1), **fields))
    error = error_of(reply)
    assert (error.status, error.param) == (400, param)
    assert error.message == f"{param} holds an integer of more than 64 bits"


def test_a_job_is_accepted_dispatched_streamed_and_finished_once(router: RouterHarness) -> None:
    worker = router.connect()
    router.subscribe(1)
    accepted = router.submit(1, "hi", max_tokens=8, temperature=0.0)
    assert accepted == Accepted(job_id=job_id(1), epoch=7, prompt_tokens=3, seed=3)
    _, dispatch = router.running(1)
    assert dispatch.prompt_ids == [1, ord("h"), ord("i")]
    assert dispatch.emitted_ids == []
    assert dispatch.params.max_tokens == 8

    router.now += 0.5
    router.generate(1, "ab")
    router.now += 1.0
    router.generate(1, "c", finish=STOP)

    assert router.streamed_text(1) == "abc"
    result = router.result(1)
    assert result.text == "abc"
    assert result.token_ids == [97, 98, 99]
    assert (result.finish_reason, result.stop_match, result.success) == ("stop", 2, True)
    assert result.usage.prompt_tokens == 3
    assert result.usage.completion_tokens == 3
    assert result.worker == worker.hello.worker_id
    assert result.confidence == pytest.approx(0.9)
    assert result.measures.mean_logprob == pytest.approx(-0.1)
    assert result.timings.time_to_first_token_ms == pytest.approx(500)
    assert result.timings.total_time_ms == pytest.approx(1500)
    assert result.timings.decode_tokens_per_second == pytest.approx(2)
    assert isinstance(router.published[-1], Finished)
    assert router.published[-1].length == 3


def test_a_failed_sequence_fails_its_job_and_keeps_the_text(router: RouterHarness) -> None:
    worker = router.connect()
    router.submit(1)
    router.generate(1, "ab")
    failure = Finish("error", error=ModelFailure("not finite").info())
    router.report(worker, make_delta(1, 2, "", finish=failure))
    result = router.result(1)
    assert (result.success, result.finish_reason, result.text) == (False, "error", "ab")
    assert result.error is not None
    assert result.error.type == "model_error"
    assert router.core.status(router.now).jobs.failed == 1


def test_the_same_submit_again_is_the_same_job(router: RouterHarness) -> None:
    router.connect()
    first = router.submit(1, "hi")
    assert router.submit(1, "hi", identity=b"other") == first
    assert error_of(router.submit(1, "ho")).type == "idempotency_conflict"
    router.generate(1, "x", finish=STOP)
    assert len(router.finished(1)) == len(router.finished(1, b"other")) == 1
    router.submit(1, "hi", identity=b"third")
    assert len(router.finished(1, b"third")) == 1
    assert router.core.status(router.now).jobs.accepted == 1


def test_fetch_waits_or_returns_the_state(router: RouterHarness) -> None:
    assert error_of(router.client(Fetch(job_id=job_id(9)))[0]).type == "not_found_error"
    router.submit(1)
    [pending] = router.client(Fetch(job_id=job_id(1), wait=False))
    assert pending == Pending(job_id=job_id(1), state="queued", length=0)
    router.connect()
    router.generate(1, "ab")
    [pending] = router.client(Fetch(job_id=job_id(1), wait=False))
    assert pending == Pending(job_id=job_id(1), state="running", length=2)
    assert router.client(Fetch(job_id=job_id(1)), b"reader") == []
    router.generate(1, "c", finish=STOP)
    assert len(router.finished(1, b"reader")) == 1
    [again] = router.client(Fetch(job_id=job_id(1)), b"later")
    assert again == router.finished(1)[0]


def test_a_job_can_be_cancelled_in_every_state(router: RouterHarness) -> None:
    router.submit(1)
    [finished, pending] = router.client(Cancel(job_id=job_id(1)))
    assert finished.result.finish_reason == "cancelled"
    assert pending.state == "cancelled"
    worker = router.connect()
    assert not router.is_running(1)
    router.submit(2)
    router.generate(2, "ab")
    router.client(Cancel(job_id=job_id(2)))
    assert worker.aborted == [1]
    assert router.result(2).text == "ab"
    [pending] = router.client(Cancel(job_id=job_id(2)))
    assert pending.state == "cancelled"
    assert error_of(router.client(Cancel(job_id=job_id(3)))[0]).type == "not_found_error"
    counts = router.core.status(router.now).jobs
    assert (counts.accepted, counts.cancelled, counts.rejected) == (2, 2, 1)


def test_a_deadline_ends_a_job_in_every_state(router: RouterHarness) -> None:
    router.submit(1, timeout_ms=500)
    worker = router.connect()
    router.generate(1, "ab")
    router.submit(2, timeout_ms=5000, max_tokens=100)
    router.pass_time(1.0)
    result = router.result(1)
    assert result.error is not None
    assert (result.error.type, result.finish_reason, result.text) == ("timeout_error", "error", "ab")
    assert 1 in worker.aborted
    assert router.finished(2) == []
    _, dispatch = router.running(2)
    assert dispatch.timeout_s == pytest.approx(5.0)


def test_ended_jobs_are_forgotten_after_their_retention() -> None:
    router = RouterHarness(retention_s=10.0)
    router.connect()
    router.submit(1)
    router.generate(1, "x", finish=STOP)
    router.pass_time(9.0)
    assert router.client(Fetch(job_id=job_id(1)))[0].result.text == "x"
    router.pass_time(2.0)
    assert error_of(router.client(Fetch(job_id=job_id(1)))[0]).type == "not_found_error"


def test_scaling_is_bounded(router: RouterHarness) -> None:
    assert router.client(Scale(num_workers=4, request_id="r")) == [Scaling(num_workers=4, request_id="r")]
    assert router.core.state.fleets.desired_workers == 4
    for number in (-1, 257, 2**70):
        [reply] = router.client(Scale(num_workers=number, request_id="r"))
        assert error_of(reply).param == "num_workers"
        assert reply.request_id == "r"
    assert router.core.state.fleets.desired_workers == 4


def test_status_shows_jobs_and_workers(router: RouterHarness) -> None:
    worker = router.connect("w1", num_slots=1)
    for number in (1, 2, 3):
        router.submit(number)
    counts = {"draft_tokens": 9, "accepted_draft_tokens": 4, "queried_prompt_tokens": 70}
    counts |= {"encoded_pictures": 5, "cached_pictures": 2}
    router.say(worker, msgspec.structs.replace(worker.report(), **counts))
    router.now += 1.0
    [status] = router.client(StatusRequest(request_id="r"))
    assert status.request_id == "r"
    assert (status.epoch, status.uptime_s, status.draining) == (7, 1.0, False)
    assert (status.jobs.accepted, status.jobs.running, status.jobs.queued) == (3, 2, 1)
    [seen] = status.workers
    assert (seen.worker_id, seen.free_slots, seen.num_slots) == (worker.hello.worker_id, 0, 1)
    assert seen.last_seen_s == pytest.approx(1.0)
    assert {name: getattr(seen, name) for name in counts} == counts


def test_draining_refuses_new_jobs_and_finishes_old_ones(router: RouterHarness) -> None:
    router.connect()
    router.submit(1)
    router.core.close_admission()
    assert error_of(router.submit(2)).type == "unavailable_error"
    assert not router.core.is_drained
    router.generate(1, "x", finish=STOP)
    assert router.core.is_drained


def test_stopping_ends_remaining_jobs_with_an_error(router: RouterHarness) -> None:
    router.submit(1)
    router.stop()
    error = router.result(1).error
    assert error is not None
    assert error.type == "unavailable_error"


def test_job_ids_have_one_format(router: RouterHarness) -> None:
    for bad in (
        "",
        "x" * 32,
        "A" * 32,
        "0" * 31,
        "0" * 4096,
        "../../../etc/passwd",
        "0" * 31 + "\n",
        "\0" * 32,
    ):
        [reply] = router.client(Submit(job_id=bad, prompt="x"))
        assert error_of(reply).param == "job_id"
        assert len(reply.job_id or "") <= 64
        for question in (Cancel(job_id=bad), Resume(job_id=bad), Fetch(job_id=bad)):
            [reply] = router.client(question)
            assert error_of(reply).type == "not_found_error"
            assert len(reply.job_id or "") <= 64
    assert router.core.status(router.now).jobs.accepted == 0


def test_the_status_has_the_memory_of_a_workers_cache() -> None:
    router = RouterHarness()
    router.connect("w1", num_blocks=10, block_bytes=1000, num_states=3, state_bytes=70_000)
    router.connect("cloud", kind="cloud")
    [status] = router.client(StatusRequest(request_id="r"))
    assert {worker.worker_id: worker.cache_bytes for worker in status.workers} == {"w1": 220_000, "cloud": 0}
