"""Workers that are lost, become silent or leave: their jobs continue, or fail with a named error."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.worker_messages import Draining, Goodbye, Welcome
from cactus_actors.router.lifecycle.worker_reports import MAX_BROKEN_LINKS
from tests.support.router.core_harness import STOP, RouterHarness, job_id
from tests.support.router.worker_messages import make_delta


def test_a_lost_workers_jobs_continue_elsewhere_without_gap_or_repeat(router: RouterHarness) -> None:
    first = router.connect("w1")
    router.subscribe(1)
    router.submit(1)
    router.generate(1, "abc")
    _, old = router.running(1)
    second = router.connect("w2")
    router.lose(first)
    _, dispatch = router.running(1)
    assert dispatch.emitted_ids == [97, 98, 99]
    assert dispatch.dispatch_id > old.dispatch_id

    first.dispatches.clear()
    router.workers[first.identity] = first  # the dead one was only asleep
    router.report(first, make_delta(old.dispatch_id, 3, "zombie"))
    router.generate(1, "de", finish=STOP)
    assert router.streamed_text(1) == "abcde"
    assert router.result(1).text == "abcde"
    assert router.result(1).attempts == 2
    assert router.result(1).worker == second.hello.worker_id


def test_lost_jobs_are_requeued_at_the_front(router: RouterHarness) -> None:
    first = router.connect("w1", num_slots=1)
    router.submit(1)
    router.submit(2)
    router.submit(3)
    router.submit(4, priority=-100)
    router.lose(first)
    second = router.connect("w2", num_slots=1)
    assert [dispatch.job_id for dispatch in second.dispatches.values()] == [job_id(1)]
    router.generate(1, "x", finish=STOP)
    assert [dispatch.job_id for dispatch in second.dispatches.values()] == [job_id(4)]


def test_a_silent_worker_is_lost(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    router.pass_silence(4.0)
    assert router.is_running(1)
    router.workers.clear()
    router.pass_silence(2.0)
    router.connect("w2")
    assert router.is_running(1)


def test_a_worker_that_acknowledges_nothing_is_lost(router: RouterHarness) -> None:
    """Its connection carries one direction only: messages to it would wait for ever."""
    deaf = router.connect("w1")
    router.pass_time(5.0)
    router.submit(1)
    deaf.num_accepted -= 1  # the dispatch did not arrive
    near = router.connect("w2")
    router.pass_time(10.0)
    assert list(router.workers.values()) == [deaf, near]
    assert [worker.worker_id for worker in router.core.status(router.now).workers] == ["w2"]
    assert [dispatch.job_id for dispatch in near.dispatches.values()] == [job_id(1)]


def test_reports_sent_before_a_dispatch_arrived_do_not_make_a_worker_lost(
    router: RouterHarness,
) -> None:
    worker = router.connect("w1")
    router.pass_time(60.0)
    router.submit(1)
    worker.num_accepted -= 1
    for _ in range(100):  # in one moment
        router.report(worker)
    worker.num_accepted += 1
    router.pass_time(10.0)
    assert router.is_running(1)


def test_silence_during_a_delay_of_the_router_makes_no_worker_lost(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    router.now += 60.0
    router.core.on_loop_delayed(58.0, router.now)
    router.tick()
    assert [worker.worker_id for worker in router.core.status(router.now).workers] == ["w1"]
    router.generate(1, "x")
    router.core.on_loop_delayed(60.0, router.now)  # it sent a message just now: nothing is excused in advance
    router.pass_silence(4.0)
    assert router.core.status(router.now).workers == []


def test_a_job_that_loses_too_many_workers_ends_as_poison_job(router: RouterHarness) -> None:
    router.submit(1)
    for attempt in range(3):
        router.lose(router.connect(f"w{attempt}"))
    result = router.result(1)
    assert not result.success
    assert result.error is not None
    assert result.error.type == "poison_job"
    assert job_id(1) in result.error.message
    assert "w2" in result.error.message
    assert result.attempts == 3


def test_repeated_reconnections_of_a_worker_fail_no_job(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    for _ in range(MAX_BROKEN_LINKS - 1):
        router.connect("w1")
    router.generate(1, "a")
    for _ in range(MAX_BROKEN_LINKS - 1):
        router.connect("w1")
    router.generate(1, "b", finish=STOP)
    assert router.result(1).text == "ab"


def test_a_job_without_progress_over_many_losses_is_ended(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    for _ in range(MAX_BROKEN_LINKS):
        router.connect("w1")
    error = router.result(1).error
    assert error is not None
    assert error.type == "server_error"
    assert "20 times in a row" in error.message


def test_a_single_worker_lost_repeatedly_makes_no_poison_job(router: RouterHarness) -> None:
    router.submit(1)
    for _ in range(3):
        router.connect("w1")
        router.workers.clear()
        router.pass_silence(6.0)
    error = router.result(1).error
    assert error is not None
    assert error.type == "server_error"


def test_a_farewell_does_not_count_as_a_loss(router: RouterHarness) -> None:
    router.submit(1)
    for attempt in range(5):
        worker = router.connect(f"w{attempt}")
        router.say(worker, Goodbye())
    router.connect("last")
    router.generate(1, "ok", finish=STOP)
    assert router.result(1).text == "ok"


def test_a_draining_worker_gets_no_new_dispatch(router: RouterHarness) -> None:
    worker = router.connect()
    router.submit(1)
    router.say(worker, Draining())
    router.submit(2)
    assert list(worker.dispatches) == [1]
    router.generate(1, "x", finish=STOP)
    assert router.result(1).success


def test_a_repeated_hello_starts_a_new_session(router: RouterHarness) -> None:
    worker = router.connect("w1")
    router.submit(1)
    router.generate(1, "ab")
    again = router.connect("w1")
    assert worker.aborted == []  # its old connection has ended
    assert again.aborted == [1]
    _, dispatch = router.running(1)
    assert dispatch.emitted_ids == [97, 98]


def test_a_report_from_an_unknown_connection_is_asked_for_its_hello(router: RouterHarness) -> None:
    worker = router.connect("w1")
    effects = router.core.on_worker(b"stranger", worker.report(), router.now)
    assert [effect.message for effect in effects] == [Welcome(7)]


@pytest.mark.parametrize("num_slots", [-1, 0, 2**63 - 1])
def test_absurd_numbers_of_slots_affect_no_job(router: RouterHarness, num_slots: int) -> None:
    router.connect("odd", num_slots=num_slots)
    router.connect("sound")
    for number in range(1, 4):
        router.submit(number)
    router.pass_time(1.0)
    assert all(0 <= worker.num_slots <= 1 << 16 for worker in router.core.status(router.now).workers)
    assert sum(router.is_running(number) for number in range(1, 4)) >= 2
