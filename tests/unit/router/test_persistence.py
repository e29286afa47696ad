"""Records that the router's core gives to a journal, and the state that it recovers from one."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.errors import ContextExceeded
from cactus_actors.protocol.messages import Accepted, Cancel, Fetch, Finished, Pending, Rejected, Resume, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Finish
from cactus_actors.router.state.journal_records import WriteAccepted
from tests.support.router.core_harness import CLIENT, RouterHarness, job_id
from tests.support.router.memory_journal import Disk
from tests.support.router.walk import walk


@pytest.fixture
def disk() -> Disk:
    return Disk()


def submit(number: int, prompt: str = "hello", **options: object) -> Submit:
    return Submit(job_id=job_id(number), prompt=prompt, options=Options(**options))  # type: ignore[arg-type]


def test_a_job_is_accepted_after_its_sync_and_dispatched_when_there_is_a_slot(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    assert router.client(submit(1)) == []
    router.connect()
    assert not router.is_running(1), "it had no slot to run ahead in"
    router.write_to_disk()
    [(receiver, accepted)] = router.replies
    assert receiver == CLIENT
    assert isinstance(accepted, Accepted)
    assert accepted.durable
    assert router.is_running(1)


def test_a_job_runs_while_its_sync_does_and_is_told_after_it(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    router.connect()
    router.subscribe(1)
    router.client(submit(1))
    assert router.is_running(1)
    router.generate(1, "ab")
    [replay] = router.client(Resume(job_id=job_id(1), credit=9), b"another")
    assert (replay.length, replay.deltas) == (0, [])
    [pending] = router.client(Fetch(job_id=job_id(1), wait=False), b"another")
    assert pending.length == 0
    assert router.deltas(1) == [] == router.client(submit(1))
    router.write_to_disk()
    assert [type(reply) for receiver, reply in router.replies if receiver == CLIENT] == [Accepted]
    assert router.streamed_text(1) == "ab"
    router.generate(1, "c", finish=Finish("stop"))
    assert router.streamed_text(1) == router.result(1).text == "abc"
    walk(router.core, router.now)


def test_a_job_that_ends_before_its_sync_is_told_after_it(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    router.connect()
    router.client(submit(1))
    router.generate(1, "abc", finish=Finish("stop"))
    walk(router.core, router.now)
    assert (router.replies, router.reports) == ([], [])
    assert [type(entry) for entry in disk.waiting] == [WriteAccepted]
    router.write_to_disk()
    assert [type(reply) for _, reply in router.replies] == [Accepted, Finished]
    assert router.result(1).text == "abc"
    router.write_to_disk()
    assert disk.ended[job_id(1)].finished == router.finished(1)[0]


def test_a_router_that_dies_before_the_sync_of_a_running_job_has_promised_nothing(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.connect()
    first.client(submit(1, seed=5))
    first.generate(1, "abc", finish=Finish("stop"))
    second = RouterHarness(disk=disk)
    assert first.replies == []
    assert second.core.num_unfinished == 0
    second.connect()
    second.client(submit(1, seed=5))  # the client, who heard nothing, asks again
    second.generate(1, "abc", finish=Finish("stop"))
    second.write_to_disk()
    assert second.result(1).text == "abc"


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_job_that_runs_but_cannot_be_written_ends_nowhere(disk: Disk, has_ended: bool) -> None:
    router = RouterHarness(disk=disk)
    worker = router.connect(num_slots=1)
    router.subscribe(1)
    router.client(submit(1))
    router.generate(1, "abc", finish=Finish("stop") if has_ended else None)
    router.fail_to_write("disk full")
    [(_, rejected)] = router.replies
    assert isinstance(rejected, Rejected)
    assert (router.deltas(1), router.reports, disk.waiting) == ([], [], [])
    assert len(worker.aborted) == (0 if has_ended else 1)
    counts = router.core.status(router.now).jobs
    assert (counts.accepted, counts.queued, counts.running, counts.rejected) == (0, 0, 0, 1)
    walk(router.core, router.now)
    router.report(worker)
    router.client(submit(2))
    assert not router.is_running(2), "nothing is computed in vain while the disk is full"
    router.write_to_disk()
    assert router.is_running(2)
    router.generate(2, "abc", finish=Finish("stop"))
    router.client(submit(3))
    assert router.is_running(3)


def test_a_running_job_that_is_cancelled_before_its_sync_ends_without_a_token(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    worker = router.connect()
    router.subscribe(1)
    router.client(submit(1))
    router.generate(1, "ab")
    [finished, _] = router.client(Cancel(job_id=job_id(1)))
    assert (finished.length, finished.result.text, finished.result.token_ids) == (0, "", [])
    assert router.deltas(1) == []
    assert len(worker.aborted) == 1
    router.write_to_disk()
    assert router.finished(1) == [finished]
    walk(router.core, router.now)


def test_a_job_that_lost_its_worker_before_its_sync_waits_in_the_queue(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    worker = router.connect()
    router.client(submit(1))
    router.generate(1, "ab")
    router.lose(worker)
    walk(router.core, router.now)
    router.connect("w2")
    assert router.running(1)[1].emitted_ids == [*router.core.state.jobs.live[job_id(1)].local.log.token_ids]
    router.write_to_disk()
    router.generate(1, "c", finish=Finish("stop"))
    assert router.result(1).text == "abc"


def test_a_job_that_may_be_handed_off_waits_for_its_sync(disk: Disk) -> None:
    router = RouterHarness(disk=disk, has_cloud=True)
    router.connect()
    router.client(submit(1, cloud_handoff_threshold=0.5))
    assert not router.is_running(1)
    router.write_to_disk()
    assert router.is_running(1)


def test_without_a_journal_a_job_is_accepted_at_once_as_not_durable() -> None:
    router = RouterHarness()
    assert not router.submit(1).durable


def test_a_job_submitted_twice_before_its_sync_is_answered_once_to_each(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    router.client(submit(1), b"one")
    router.client(submit(1), b"two")
    assert router.replies == []
    router.write_to_disk()
    assert [receiver for receiver, _ in router.replies] == [b"one", b"two"]


def test_an_unwritable_job_is_refused_and_forgotten(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    router.client(submit(1))
    router.fail_to_write("disk full")
    [(_, rejected)] = router.replies
    assert isinstance(rejected, Rejected)
    assert rejected.error.status == 507
    assert "disk full" in rejected.error.message
    assert rejected.error.retry_after
    counts = router.core.status(router.now).jobs
    assert (counts.accepted, counts.queued, counts.rejected) == (0, 0, 1)
    router.client(submit(1))
    router.write_to_disk()
    assert isinstance(router.replies[-1][1], Accepted)


def test_a_job_cancelled_before_its_sync_ends_once(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    router.connect()
    router.client(submit(1))
    [finished, pending] = router.client(Cancel(job_id=job_id(1)))
    assert isinstance(finished, Finished)
    assert isinstance(pending, Pending)
    walk(router.core, router.now)  # it has ended, and its end is not on disk yet
    router.write_to_disk()
    walk(router.core, router.now)
    assert not router.is_running(1)
    assert len(router.finished(1)) == 1


def test_the_next_router_runs_accepted_jobs_with_their_seeds(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.client(submit(1, "once"))
    first.client(submit(2, "twice", max_tokens=7))
    first.write_to_disk()
    seeds = {reply.job_id: reply.seed for _, reply in first.replies}

    second = RouterHarness(disk=disk)
    second.connect()
    for number, prompt in ((1, "once"), (2, "twice")):
        _, dispatch = second.running(number)
        assert dispatch.params.seed == seeds[job_id(number)]
        assert dispatch.prompt_ids == second.model.tokenizer.encode(prompt, add_special=True)
    assert second.running(2)[1].params.max_tokens == 7


def test_restored_jobs_keep_their_order(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    for number in (3, 1, 2):
        first.client(submit(number))
        first.now += 1
    first.write_to_disk()
    second = RouterHarness(disk=disk)
    second.connect(num_slots=1)
    assert second.is_running(3)


def test_a_repeated_submission_gets_the_restored_job(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.client(submit(1, seed=5))
    first.write_to_disk()
    second = RouterHarness(disk=disk)
    second.connect()
    [accepted] = second.client(submit(1, seed=5))
    assert isinstance(accepted, Accepted)
    second.generate(1, "abc", finish=Finish("stop"))
    assert second.result(1).text == "abc"
    [rejected] = second.client(submit(1, "another", seed=5))
    assert rejected.error.status == 409


def test_results_and_streams_are_available_after_a_restart(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.connect()
    first.client(submit(1, seed=5))
    first.write_to_disk()
    first.generate(1, "abc", finish=Finish("stop"))
    first.write_to_disk()

    second = RouterHarness(disk=disk)
    [finished] = second.client(Fetch(job_id=job_id(1)))
    assert finished == first.finished(1)[0]
    accepted, again = second.client(submit(1, seed=5))
    assert isinstance(accepted, Accepted)
    assert again == finished
    counts = second.core.status(second.now).jobs
    assert (counts.accepted, counts.finished) == (1, 1)


def test_a_job_whose_end_was_not_written_runs_again(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.connect()
    first.client(submit(1))
    first.write_to_disk()
    first.generate(1, "abc", finish=Finish("stop"))
    second = RouterHarness(disk=disk)
    second.connect()
    assert second.is_running(1)


def test_a_deadline_counts_from_the_acceptance_by_any_router(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.client(submit(1, timeout_ms=5000))
    first.write_to_disk()
    # The machine was rebooted: its clock begins at zero, 4 s of Unix time later.
    second = RouterHarness(disk=disk, unix_offset=1_000_004.0)
    second.pass_silence(0.5)
    assert second.client(Fetch(job_id=job_id(1), wait=False))[0].state == "queued"
    second.pass_silence(1.0)
    [finished] = second.client(Fetch(job_id=job_id(1)))
    assert finished.result.error.status == 504


def test_a_job_that_the_next_router_cannot_prepare_ends_with_the_reason(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.client(submit(1, "x" * 200))
    first.write_to_disk()
    second = RouterHarness(disk=disk, max_context=100)  # another model
    [finished] = second.client(Fetch(job_id=job_id(1)))
    assert finished.result.error.type == ContextExceeded.type
    assert not finished.result.success


def test_forgotten_jobs_are_removed_from_the_journal(disk: Disk) -> None:
    router = RouterHarness(disk=disk, retention_s=10.0)
    router.connect()
    router.client(submit(1))
    router.write_to_disk()
    router.generate(1, "abc", finish=Finish("stop"))
    router.pass_time(11.0)
    router.write_to_disk()
    assert disk.recovered() == []


def test_a_stop_leaves_durable_jobs_to_the_next_router(disk: Disk) -> None:
    first = RouterHarness(disk=disk)
    first.connect()
    first.client(submit(1, seed=5))
    first.write_to_disk()
    first.generate(1, "ab")
    first.stop(leaves_jobs=True)
    first.write_to_disk()
    assert first.finished(1) == []
    second = RouterHarness(disk=disk)
    second.connect()
    second.client(submit(1, seed=5))
    second.generate(1, "abc", finish=Finish("stop"))
    assert second.result(1).text == "abc"


@pytest.mark.parametrize("leaves_jobs", [False, True])
def test_a_stop_ends_jobs_that_are_not_durable(leaves_jobs: bool) -> None:
    router = RouterHarness()
    router.submit(1)
    router.stop(leaves_jobs=leaves_jobs)
    error = router.result(1).error
    assert error is not None
    assert error.status == 503


def test_the_status_reports_whether_the_journal_can_be_written(disk: Disk) -> None:
    router = RouterHarness(disk=disk)
    router.client(submit(1))
    router.fail_to_write("disk full")
    assert router.core.status(router.now).storage_error == "disk full"
    router.write_to_disk()
    assert router.core.status(router.now).storage_error == ""
