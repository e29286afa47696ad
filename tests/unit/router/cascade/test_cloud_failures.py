"""A cloud that fails, breaks off or takes too long: the job gets the local answer, or an error."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.errors import Unavailable
from cactus_actors.protocol.messages import Progress
from cactus_actors.protocol.results import Usage
from cactus_actors.protocol.worker_messages import Finish
from tests.support.router.cloud_jobs import CLOUD_STOP, STOP, cloud_dispatch, fail_cloud, submit
from tests.support.router.core_harness import RouterHarness
from tests.support.router.worker_messages import UNSURE, Worker, make_delta


def test_a_failing_cloud_gives_the_local_answer(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    fail_cloud(router, cloud)
    assert router.streamed_text(1) == "ab"
    router.generate(1, "c", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert (result.text, result.success, result.cloud_handoff) == ("abc", True, False)
    assert (result.handoff.status, result.handoff.reason) == ("failed", "the provider answered 503")
    assert router.streamed_text(1) == "abc"


def test_a_finished_local_answer_waits_for_the_cloud_to_fail(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    assert router.finished(1) == []
    fail_cloud(router, cloud)
    assert router.result(1).text == "ab"


def test_a_cloud_that_breaks_off_after_a_seen_chunk_fails_the_job(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    router.generate(1, "from the ", kind="cloud")
    assert not router.is_running(1)
    fail_cloud(router, cloud, position=1)
    assert router.finished(1) == []  # the local run continues: its answer is sent together with the error
    assert router.running(1)[1].emitted_ids == [97, 98]
    router.generate(1, "cd", entropy=UNSURE, finish=STOP)
    result = router.result(1)
    assert result.error is not None
    assert (result.success, result.error.type, result.text) == (False, "handoff_error", "from the ")
    assert "the provider answered 503" in result.error.message
    assert (result.handoff.status, result.handoff.local_text) == ("failed", "abcd")
    assert result.handoff.local_finish_reason == "stop"
    assert result.handoff.local_usage == Usage(prompt_tokens=9, completion_tokens=4)
    assert (result.model, result.confidence, result.handoff.usage_is_estimated) == ("big", None, True)
    assert router.streamed_text(1) == "from the "


def test_a_complete_local_answer_is_sent_at_once_with_the_error(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "from the ", kind="cloud")
    fail_cloud(router, cloud, position=1)
    handoff = router.result(1).handoff
    assert (handoff.local_text, handoff.local_finish_reason) == ("ab", "stop")


def test_a_deadline_ends_a_job_whose_cloud_broke_off_with_the_partial_answer(
    router: RouterHarness, cloud: Worker
) -> None:
    submit(router, timeout_ms=1000)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    router.generate(1, "from the ", kind="cloud")
    fail_cloud(router, cloud, position=1)
    router.pass_time(1.5)
    result = router.result(1)
    assert result.error is not None
    assert (result.error.type, result.text) == ("timeout_error", "from the ")
    assert (result.handoff.local_text, result.handoff.local_finish_reason) == ("ab", "cancelled")
    assert not router.is_running(1)


def test_the_cost_of_a_failed_answer_is_reported_with_the_local_one(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    spent = Usage(prompt_tokens=9, completion_tokens=1)
    failure = Finish(
        "error", error=Unavailable("gone").info(), usage=spent, is_estimated=True, cost=0.25, currency="EUR"
    )
    dispatch_id = cloud_dispatch(router).dispatch_id
    router.report(cloud, make_delta(dispatch_id, 0, "", entropy=None, token_ids=[], finish=failure))
    result = router.result(1)
    assert (result.text, result.usage) == ("ab", Usage(prompt_tokens=9, completion_tokens=2))
    assert (result.handoff.cloud_usage, result.handoff.cost, result.handoff.currency) == (spent, 0.25, "EUR")
    assert result.model == "letters"


def test_tokens_that_a_cloud_does_not_count_are_estimated(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "from ", kind="cloud")
    router.generate(1, "there", kind="cloud", finish=Finish("stop", provider="cloud.example/big"))
    result = router.result(1)
    assert result.usage == Usage(prompt_tokens=9, completion_tokens=2)
    assert result.handoff.usage_is_estimated is True


def test_a_cloud_that_takes_too_long_gives_the_local_answer() -> None:
    router = RouterHarness(max_handoff_wait_s=2.0)
    router.connect("w1")
    cloud = router.connect("cloud", kind="cloud", num_slots=1)
    submit(router, 1)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    submit(router, 2)
    router.generate(2, "xy", entropy=UNSURE)  # no slot is free at the cloud
    dispatch_id = cloud_dispatch(router, 1).dispatch_id
    router.pass_time(1.5)
    assert router.finished(1) == []
    router.pass_time(1.0)
    result = router.result(1)
    assert (result.text, result.success) == ("ab", True)
    assert (result.handoff.status, result.handoff.reason) == ("failed", "no answer of the cloud within 2 s")
    assert cloud.aborted == [dispatch_id]
    assert not router.is_running(2, "cloud")
    router.generate(2, "z", entropy=UNSURE, finish=STOP)  # has not ended yet: it continues at its last position
    assert router.result(2).text == "xyz"
    assert router.core.status(router.now).held.dispatches == 0


def test_a_partly_seen_cloud_answer_may_take_longer() -> None:
    router = RouterHarness(max_handoff_wait_s=2.0)
    router.connect("w1")
    router.connect("cloud", kind="cloud", num_slots=1)
    submit(router)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "slow", kind="cloud")
    router.pass_time(5.0)
    router.generate(1, "ly", kind="cloud", finish=CLOUD_STOP)
    assert router.result(1).text == "slowly"


def test_an_unseen_part_of_a_slow_cloud_answer_is_dropped() -> None:
    router = RouterHarness(max_handoff_wait_s=2.0)
    router.connect("w1")
    router.connect("cloud", kind="cloud", num_slots=1)
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "slow", kind="cloud")
    router.pass_time(2.5)
    assert router.result(1).text == "ab"
    assert router.result(1).model == "letters"


def test_an_unseen_broken_cloud_answer_gives_the_local_answer(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE)
    router.generate(1, "from the ", kind="cloud")
    assert router.is_running(1)
    fail_cloud(router, cloud, position=1)
    router.subscribe(1)
    router.generate(1, "c", finish=STOP)
    assert router.result(1).text == "abc"
    assert router.result(1).token_ids == [97, 98, 99]


def test_an_empty_cloud_answer_is_a_failure(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.generate(1, "", kind="cloud", finish=CLOUD_STOP)
    assert router.result(1).text == "ab"
    assert router.result(1).handoff.status == "failed"


def test_a_lost_cloud_worker_is_a_failure(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE, finish=STOP)
    router.lose(cloud)
    assert router.result(1).handoff.reason == "the cloud worker was lost"


def test_a_lost_local_worker_does_not_affect_the_cloud_answer(router: RouterHarness, cloud: Worker) -> None:
    submit(router)
    router.generate(1, "ab", entropy=UNSURE)
    router.lose(router.running(1)[0])
    router.generate(1, "fine", kind="cloud", finish=CLOUD_STOP)
    assert router.result(1).text == "fine"
    router.connect("w2")
    assert not router.is_running(1)


def test_cancel_and_deadline_abort_the_cloud_request(router: RouterHarness, cloud: Worker) -> None:
    submit(router, timeout_ms=1000)
    router.subscribe(1)
    router.generate(1, "ab", entropy=UNSURE)
    dispatch = cloud_dispatch(router)
    assert dispatch.timeout_s == pytest.approx(1.0)
    router.pass_time(1.5)
    assert cloud.aborted == [dispatch.dispatch_id]
    result = router.result(1)
    assert result.error is not None
    assert (result.error.type, result.text) == ("timeout_error", "ab")
    assert [message.length for message in router.published if isinstance(message, Progress)] in ([], [0])
