"""The report of each ended job: once, with the durations of the router's own clock."""

from __future__ import annotations

import msgspec
import pytest

from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.protocol.messages import Cancel, ChatMessage, Submit
from cactus_actors.protocol.results import Usage
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.state.job_report import JobReport
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.worker_messages import SURE, UNSURE, make_delta

STOP = Finish("stop")


def test_a_locally_answered_job_is_reported() -> None:
    router = RouterHarness()
    router.submit(1, "hello", max_tokens=9)
    router.pass_time(2.0)
    worker = router.connect("w1")
    router.now += 0.5
    router.generate(1, "a")
    router.now += 0.25
    _, dispatch = router.running(1)
    delta = make_delta(dispatch.dispatch_id, 1, "bc", entropy=SURE, finish=STOP)
    router.report(worker, msgspec.structs.replace(delta, cached_tokens=4))
    [report] = router.reports
    assert report == JobReport(
        job_id=job_id(1),
        tenant="",
        epoch=7,
        model="letters",
        operation="completion",
        worker="w1",
        attempts=1,
        state="finished",
        finish_reason="stop",
        prompt_tokens=6,
        cached_tokens=4,
        completion_tokens=3,
        max_tokens=9,
        queue_s=2.0,
        prefill_s=0.5,
        first_token_s=2.5,
        decode_s=0.25,
        total_s=2.75,
        confidence=pytest.approx(1 - SURE),
    )


def test_a_job_answered_by_the_cloud_is_reported() -> None:
    router = RouterHarness()
    router.connect("w1")
    router.connect("cloud", kind="cloud")
    router.submit(1, "hello", cloud_handoff_threshold=0.5)
    router.now += 1.0
    router.generate(1, "a", entropy=UNSURE)
    router.now += 2.0
    router.generate(1, "An answer", entropy=None, kind="cloud")
    router.now += 4.0
    usage = Usage(prompt_tokens=11, completion_tokens=5)
    finish = Finish("stop", provider="cloud.example/big", usage=usage)
    _, dispatch = router.running(1, "cloud")
    worker = next(worker for worker in router.workers.values() if worker.hello.kind == "cloud")
    router.report(worker, make_delta(dispatch.dispatch_id, 1, "", entropy=None, token_ids=[], finish=finish))
    [report] = router.reports
    assert (report.handoff, report.provider, report.worker) == ("completed", "cloud.example/big", "cloud")
    assert (report.prompt_tokens, report.completion_tokens) == (11, 5)
    assert (report.prefill_s, report.first_token_s, report.decode_s, report.total_s) == (1.0, 3.0, 0.0, 7.0)
    assert report.confidence == pytest.approx(1 - UNSURE)


def test_undispatched_jobs_report_their_whole_time_as_waiting() -> None:
    router = RouterHarness()
    router.submit(1, "hello", timeout_ms=3000)
    router.submit(2, "hello")
    router.pass_time(3.0)
    router.client(Cancel(job_id=job_id(2)))
    router.client(Cancel(job_id=job_id(2)))
    late, cancelled = router.reports
    assert (late.state, late.finish_reason, late.error) == ("failed", "error", "timeout_error")
    assert (late.worker, late.attempts) == ("", 0)
    assert (late.queue_s, late.total_s) == (3.0, 3.0)
    assert (late.prefill_s, late.first_token_s, late.decode_s) == (None, None, None)
    assert (cancelled.state, cancelled.finish_reason, cancelled.error) == ("cancelled", "cancelled", None)


def test_lost_workers_and_model_failures_are_reported() -> None:
    router = RouterHarness()
    first, _ = router.connect("w1"), router.connect("w2")
    router.submit(1, "hello")
    router.lose(first)
    failure = Finish("error", error=ModelFailure("broken").info())
    router.generate(1, "", finish=failure)
    [report] = router.reports
    assert (report.worker, report.attempts, report.error) == ("w2", 2, "model_error")
    assert report.completion_tokens == 0


def test_the_operation_of_a_job_follows_from_its_task() -> None:
    router = RouterHarness()
    router.connect("w1", num_slots=3)
    router.client(Submit(job_id=job_id(1), messages=[ChatMessage(role="user", content="hi")]))
    router.client(Submit(job_id=job_id(2), prompt="hi", task="embed"))
    for number in (1, 2):
        router.generate(number, "", finish=STOP)
    chat, embedding = router.reports
    assert (chat.operation, embedding.operation) == ("chat", "embedding")
    assert embedding.max_tokens == 0


def test_a_job_that_ended_before_a_restart_is_not_reported_again() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk)
    router.connect("w1")
    for number in (1, 2):
        router.client(Submit(job_id=job_id(number), prompt="hi"))
    router.write_to_disk()
    router.generate(1, "a", finish=STOP)
    router.write_to_disk()
    assert [report.job_id for report in router.reports] == [job_id(1)]

    after = RouterHarness(disk=disk)
    assert after.reports == []
    after.connect("w1")
    after.generate(2, "a", finish=STOP)
    assert [report.job_id for report in after.reports] == [job_id(2)]


def test_a_restored_job_that_cannot_be_prepared_is_reported() -> None:
    disk = Disk()
    router = RouterHarness(disk=disk)
    router.client(Submit(job_id=job_id(1), prompt="x" * 100))
    router.write_to_disk()
    record = disk.accepted[job_id(1)]
    too_long = msgspec.structs.replace(record.submit, prompt="x" * 10_000)
    disk.accepted[job_id(1)] = msgspec.structs.replace(record, submit=too_long)
    after = RouterHarness(disk=disk)
    [report] = after.reports
    assert (report.job_id, report.state, report.error) == (job_id(1), "failed", "exceed_context_size_error")
