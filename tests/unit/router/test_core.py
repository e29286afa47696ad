"""The router's core by events and effects: a job's life, credits, streams, losses and limits."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.errors import ModelFailure
from cactus_actors.protocol.messages import (
    Accepted,
    Cancel,
    ChatMessage,
    Delta,
    Fetch,
    Finished,
    Pending,
    Progress,
    Rejected,
    Replay,
    Resume,
    Scale,
    Scaling,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.worker_messages import Draining, Finish, Goodbye, SequenceExtras, Welcome
from cactus_actors.router.lifecycle.replays import MAX_CREDIT
from cactus_actors.router.lifecycle.worker_reports import MAX_BROKEN_LINKS
from tests.support.router.core_harness import RouterHarness, job_id, make_delta

STOP = Finish("stop", stop_match=2)


@pytest.fixture
def router() -> RouterHarness:
    return RouterHarness()


def error_of(reply: object) -> ErrorInfo:
    assert isinstance(reply, Rejected)
    return reply.error


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"prompt": [1 << 64]}, "prompt"),
        ({"prompt": "x", "choice": 1 << 64}, "choice"),
        ({"prompt": "x", "options": Options(json_schema={"maximum": 1 << 70})}, "json_schema"),
        ({"messages": [ChatMessage(role="user", content="x")], "tools": [{"maximum": 1 << 70}]}, "tools"),
    ],
)
def test_an_integer_that_no_frame_can_carry_names_its_field(
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


def test_nothing_is_published_without_a_subscriber_and_a_late_one_is_told_the_length(
    router: RouterHarness,
) -> None:
    router.connect()
    router.submit(1)
    router.generate(1, "abc")
    assert router.published == []
    router.subscribe(1)
    assert router.published == [Progress(job_id=job_id(1), epoch=7, length=3)]
    router.generate(1, "d")
    assert router.published[-1] == Delta(job_id=job_id(1), index=3, token_ids=[100], text="d")


def test_progress_is_told_once_a_second_to_those_who_listen(router: RouterHarness) -> None:
    router.connect()
    router.submit(1)
    router.subscribe(1)
    router.generate(1, "ab")
    router.pass_time(3.0)
    progress = [message for message in router.published if isinstance(message, Progress)]
    assert 2 <= len(progress) <= 3
    assert {message.length for message in progress} == {2}


def test_waiting_jobs_leave_the_queue_only_for_a_free_slot_or_the_deck(router: RouterHarness) -> None:
    worker = router.connect(num_slots=2)
    for number in range(1, 6):
        router.submit(number)
    assert len(worker.dispatches) == 2
    router.report(worker)
    assert len(worker.dispatches) == 3  # both run, and one is on deck
    router.report(worker)
    assert len(worker.dispatches) == 3
    router.generate(1, "x", finish=STOP)
    assert [dispatch.job_id for dispatch in worker.dispatches.values()] == [job_id(n) for n in (2, 3, 4)]


def test_without_on_deck_a_worker_never_gets_more_than_its_slots() -> None:
    router = RouterHarness(on_deck=0)
    worker = router.connect(num_slots=2)
    for number in range(1, 6):
        router.submit(number)
    assert len(worker.dispatches) == 2


def test_jobs_spread_over_workers_by_free_slots(router: RouterHarness) -> None:
    first, second = router.connect("w1"), router.connect("w2")
    for number in range(1, 5):
        router.submit(number)
    assert (len(first.dispatches), len(second.dispatches)) == (2, 2)


def test_blocks_are_credits_too(router: RouterHarness) -> None:
    worker = router.connect(num_slots=8, num_blocks=6)
    router.submit(1, "x" * 32)  # 33 tokens: 3 blocks
    router.submit(2, "y" * 32)
    for number in (3, 4):
        router.submit(number, "z" * 32)
    assert len(worker.dispatches) == 2
    router.report(worker)  # it runs both, and says that all its blocks are free
    assert len(worker.dispatches) == 4


def test_a_job_larger_than_the_blocks_left_goes_to_an_idle_worker_only(router: RouterHarness) -> None:
    worker = router.connect(num_slots=8, num_blocks=2)
    router.submit(1, "x" * 100)
    router.submit(2, "y" * 100)
    assert len(worker.dispatches) == 1


def test_priority_goes_before_arrival(router: RouterHarness) -> None:
    router.submit(1)
    router.submit(2, priority=-5)
    router.submit(3, priority=5)
    worker = router.connect(num_slots=1)
    router.report(worker)
    assert [dispatch.job_id for dispatch in worker.dispatches.values()] == [job_id(2), job_id(1)]


def test_the_longest_cached_prefix_goes_first_but_nobody_waits_for_it_too_long(
    router: RouterHarness,
) -> None:
    shared = "s" * 64
    worker = router.connect(num_slots=1)
    router.submit(1, shared + "one")
    router.submit(2, "something else altogether, quite long too")
    router.submit(3, "x" * 64)
    router.submit(4, shared + "four")
    router.generate(1, "x", finish=STOP)
    assert next(iter(worker.dispatches.values())).job_id == job_id(4)  # overtakes 2 and 3 on its prefix
    router.submit(5, shared + "five")
    router.now += 2.5
    router.generate(4, "x", finish=STOP)
    assert router.is_running(2)  # it has waited long enough
    assert not router.is_running(5)


def test_placement_does_not_chase_blocks_of_another_salt(router: RouterHarness) -> None:
    shared = "s" * 64
    worker = router.connect(num_slots=1)
    router.submit(1, shared + "one", cache_salt="a")
    for number, salt in ((2, "b"), (3, ""), (4, "a")):
        router.submit(number, shared + "more", cache_salt=salt)
    router.generate(1, "x", finish=STOP)
    dispatch = next(iter(worker.dispatches.values()))
    assert (dispatch.job_id, dispatch.cache_salt) == (job_id(4), "a")


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


def test_lost_jobs_go_to_the_front(router: RouterHarness) -> None:
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


def test_a_worker_that_reports_and_hears_nothing_is_lost(router: RouterHarness) -> None:
    """Its connection carries one direction only: what is sent to it would wait for ever."""
    deaf = router.connect("w1")
    router.pass_time(5.0)
    router.submit(1)
    deaf.num_accepted -= 1  # the dispatch did not arrive
    near = router.connect("w2")
    router.pass_time(10.0)
    assert list(router.workers.values()) == [deaf, near]
    assert [worker.worker_id for worker in router.core.status(router.now).workers] == ["w2"]
    assert [dispatch.job_id for dispatch in near.dispatches.values()] == [job_id(1)]


def test_reports_that_were_on_their_way_before_a_worker_heard_count_against_nobody(
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


def test_silence_that_the_router_is_to_blame_for_counts_against_nobody(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    router.now += 60.0
    router.core.on_loop_delayed(58.0, router.now)
    router.tick()
    assert [worker.worker_id for worker in router.core.status(router.now).workers] == ["w1"]
    router.generate(1, "x")
    router.core.on_loop_delayed(60.0, router.now)  # it was heard just now: nothing is excused beforehand
    router.pass_silence(4.0)
    assert router.core.status(router.now).workers == []


def test_a_job_that_loses_too_many_workers_is_given_up_by_name(router: RouterHarness) -> None:
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


def test_a_worker_whose_connection_breaks_again_and_again_costs_no_job(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    for _ in range(MAX_BROKEN_LINKS - 1):
        router.connect("w1")
    router.generate(1, "a")
    for _ in range(MAX_BROKEN_LINKS - 1):
        router.connect("w1")
    router.generate(1, "b", finish=STOP)
    assert router.result(1).text == "ab"


def test_a_job_that_gets_no_token_through_is_given_up_in_the_end(router: RouterHarness) -> None:
    router.connect("w1")
    router.submit(1)
    for _ in range(MAX_BROKEN_LINKS):
        router.connect("w1")
    error = router.result(1).error
    assert error is not None
    assert error.type == "server_error"
    assert "20 times in a row" in error.message


def test_one_worker_that_is_silent_again_and_again_poisons_nothing(router: RouterHarness) -> None:
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


def test_a_draining_worker_gets_nothing_new(router: RouterHarness) -> None:
    worker = router.connect()
    router.submit(1)
    router.say(worker, Draining())
    router.submit(2)
    assert list(worker.dispatches) == [1]
    router.generate(1, "x", finish=STOP)
    assert router.result(1).success


def test_a_worker_that_says_hello_again_starts_anew(router: RouterHarness) -> None:
    worker = router.connect("w1")
    router.submit(1)
    router.generate(1, "ab")
    again = router.connect("w1")
    assert worker.aborted == []  # its old connection is over
    assert again.aborted == [1]
    _, dispatch = router.running(1)
    assert dispatch.emitted_ids == [97, 98]


def test_a_report_from_an_unknown_connection_is_asked_for_its_hello(router: RouterHarness) -> None:
    worker = router.connect("w1")
    effects = router.core.on_worker(b"stranger", worker.report(), router.now)
    assert [effect.message for effect in effects] == [Welcome(7)]


def test_known_tokens_are_dropped_and_a_gap_is_refused(router: RouterHarness) -> None:
    worker = router.connect()
    router.subscribe(1)
    router.submit(1)
    router.report(worker, make_delta(1, 0, "abc"))
    router.report(worker, make_delta(1, 0, "abc"))
    router.report(worker, make_delta(1, 2, "cd"))
    assert [delta.token_ids for delta in router.deltas(1)] == [[97, 98, 99], [100]]
    router.report(worker, make_delta(1, 9, "late"))
    assert worker.aborted == [1]
    _, dispatch = router.running(1)
    assert dispatch.emitted_ids == [97, 98, 99, 100]


def test_text_after_the_last_token_reaches_stream_replay_and_result(router: RouterHarness) -> None:
    worker = router.connect()
    router.subscribe(1)
    router.submit(1)
    router.generate(1, "ab")
    router.report(worker, make_delta(1, 2, "!", token_ids=[], finish=Finish("length")))
    assert router.streamed_text(1) == "ab!" == router.result(1).text
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert "".join(delta.text for delta in replay.deltas) == "ab!"


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


def test_replay_gives_at_most_credit_items_with_their_text(router: RouterHarness) -> None:
    worker = router.connect()
    router.submit(1)
    router.report(worker, make_delta(1, 0, "ab"), make_delta(1, 2, "cde"))
    [replay] = router.client(Resume(job_id=job_id(1), next_index=0, credit=1))
    assert [(delta.index, delta.token_ids, delta.text) for delta in replay.deltas] == [(0, [97], "")]
    assert (replay.length, replay.finished, replay.epoch) == (5, None, 7)
    [replay] = router.client(Resume(job_id=job_id(1), next_index=1, credit=100))
    assert [(delta.index, delta.text) for delta in replay.deltas] == [(1, "abcde")]
    router.report(worker, make_delta(1, 5, "f", finish=STOP))
    [replay] = router.client(Resume(job_id=job_id(1), next_index=5))
    assert isinstance(replay, Replay)
    assert replay.finished == router.finished(1)[0]


def test_several_tokens_of_one_step_keep_the_text_of_each(router: RouterHarness) -> None:
    """So a client that got other cuts from an attempt before resumes anywhere with the right text."""
    worker = router.connect()
    router.subscribe(1)
    router.submit(1)
    router.report(worker, make_delta(1, 0, "a"), make_delta(1, 1, "bdé", token_ids=[98, 99, 100, 233], cuts=(1, 1, 2)))
    router.report(worker, make_delta(1, 3, "dé!", cuts=(1, 2), finish=STOP))  # two of three are known
    assert router.streamed_text(1) == router.result(1).text == "abdé!"
    assert router.result(1).token_ids == [97, 98, 99, 100, 233, 33]
    texts = []
    for index in range(6):
        [replay] = router.client(Resume(job_id=job_id(1), next_index=index, credit=1))
        texts.append(replay.deltas[0].text)
    assert texts == ["a", "b", "", "d", "é", "!"]


def test_a_replay_of_a_long_stream_comes_in_several_deltas(router: RouterHarness) -> None:
    worker = router.connect()
    router.submit(1)
    router.report(worker, make_delta(1, 0, "x" * 600))
    [replay] = router.client(Resume(job_id=job_id(1)))
    assert [(delta.index, len(delta.token_ids)) for delta in replay.deltas] == [
        (0, 256),
        (256, 256),
        (512, 88),
    ]


@pytest.mark.parametrize("has_ended", [False, True])
def test_a_replay_tells_so_many_likely_tokens_and_no_more(router: RouterHarness, has_ended: bool) -> None:
    """A stream of many is read in several turns, so that no replay holds up what others ask."""
    worker = router.connect()
    router.submit(1, max_tokens=1000, logprobs=True, top_logprobs=20)
    num_tokens = 300
    top = [[(97 + place, -1.0 - place) for place in range(20)]] * num_tokens
    delta = make_delta(1, 0, "x" * num_tokens, extras=SequenceExtras(top=top))
    router.report(worker, delta)
    if has_ended:
        router.report(worker, make_delta(1, num_tokens, "", finish=STOP))
    start, told = 0, []
    while start < num_tokens:
        [replay] = router.client(Resume(job_id=job_id(1), next_index=start))
        items = [item for delta in replay.deltas for item in delta.logprobs or []]
        assert 0 < sum(1 + len(item.top) for item in items) <= MAX_CREDIT
        assert (replay.finished is None) == (not has_ended or start + len(items) < num_tokens)
        told += items
        start += len(items)
    assert [item.logprob for item in told] == delta.logprobs


@pytest.mark.parametrize(
    "resume", [{"next_index": -1}, {"next_index": 2**64 - 1}, {"next_index": 2**64}, {"credit": -1}]
)
def test_a_resume_that_cannot_be_is_rejected(router: RouterHarness, resume: dict[str, int]) -> None:
    router.connect()
    router.submit(1)
    [reply] = router.client(Resume(job_id=job_id(1), **resume))
    assert error_of(reply).param == next(iter(resume))
    router.generate(1, "x", finish=STOP)
    [reply] = router.client(Resume(job_id=job_id(1), next_index=2))
    assert error_of(reply).param == "next_index"


@pytest.mark.parametrize("num_slots", [-1, 0, 2**63 - 1])
def test_absurd_slots_of_a_worker_harm_nobody(router: RouterHarness, num_slots: int) -> None:
    router.connect("odd", num_slots=num_slots)
    router.connect("sound")
    for number in range(1, 4):
        router.submit(number)
    router.pass_time(1.0)
    assert all(0 <= worker.num_slots <= 1 << 16 for worker in router.core.status(router.now).workers)
    assert sum(router.is_running(number) for number in range(1, 4)) >= 2


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


def test_fetch_waits_or_tells_the_state(router: RouterHarness) -> None:
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


def test_cancel_in_every_state(router: RouterHarness) -> None:
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


def test_a_deadline_ends_a_job_wherever_it_is(router: RouterHarness) -> None:
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


def test_a_full_queue_says_when_to_come_back_before_any_tokenizing() -> None:
    router = RouterHarness(max_queued_jobs=2, max_queued_tokens=100)
    router.submit(1)
    router.submit(2)
    router.model.tokenizer.encode = None  # type: ignore[assignment,method-assign]
    refused = error_of(router.submit(3))
    assert (refused.type, refused.status) == ("rate_limit_error", 429)
    assert refused.retry_after == 1.0


def test_a_queue_that_one_user_has_filled_has_room_for_others() -> None:
    router = RouterHarness(max_queued_jobs=20)
    answers = [router.submit(number, user="many") for number in range(21)]
    assert [isinstance(answer, Accepted) for answer in answers] == [True] * 20 + [False]
    refused = error_of(answers[-1])
    assert (refused.type, refused.retry_after) == ("rate_limit_error", 1.0)
    assert isinstance(router.submit(100, user="few"), Accepted)
    assert "21 jobs wait" in error_of(router.submit(101, user="many")).message
    assert isinstance(router.submit(102, user="one more"), Accepted)
    assert "22 jobs wait" in error_of(router.submit(103, user="too late")).message


@pytest.mark.parametrize("bound", [{"max_queued_tokens": 2000}, {"max_queued_bytes": 150_000}])
def test_tokens_and_bytes_that_one_user_has_filled_have_room_for_others(bound: dict[str, int]) -> None:
    router = RouterHarness(**bound)
    prompt, number = "x" * 90, 0
    while isinstance(router.submit(number, prompt, user="many"), Accepted):
        number += 1
    assert 15 < number < 30
    assert isinstance(router.submit(1000, prompt, user="few"), Accepted)
    assert error_of(router.submit(1001, prompt, user="many")).type == "rate_limit_error"
    others = [router.submit(2000 + number, prompt, user=f"other {number}") for number in range(5)]
    assert isinstance(others[-1], Rejected)


def test_background_work_fills_the_queue_too() -> None:
    router = RouterHarness(max_queued_jobs=20)
    for number in range(20):
        router.submit(number, user="many", priority=1)
    assert error_of(router.submit(100, user="many")).type == "rate_limit_error"
    assert isinstance(router.submit(101, user="few"), Accepted)


def test_retry_after_follows_the_measured_drain_rate() -> None:
    router = RouterHarness(max_queued_jobs=10, on_deck=0)
    worker = router.connect(num_slots=1)
    for number in range(200):  # ten jobs a second leave the queue
        router.submit(number)
        router.now += 0.1
        router.generate(number, "x", finish=STOP)
    for more in range(11):
        router.submit(1000 + more)
    retry_after = error_of(router.submit(2000)).retry_after
    assert retry_after == pytest.approx(0.5, rel=0.3)  # half of ten jobs at ten a second
    assert len(worker.dispatches) == 1


def test_the_queue_is_bounded_by_tokens_too() -> None:
    router = RouterHarness(max_queued_tokens=50)
    router.submit(1, "x" * 30)
    assert error_of(router.submit(2, "x" * 30)).type == "rate_limit_error"
    assert isinstance(router.submit(3, "x"), Accepted)


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
    assert router.core.state.desired_workers == 4
    for number in (-1, 257, 2**70):
        [reply] = router.client(Scale(num_workers=number, request_id="r"))
        assert error_of(reply).param == "num_workers"
        assert reply.request_id == "r"
    assert router.core.state.desired_workers == 4


def test_status_shows_jobs_and_workers(router: RouterHarness) -> None:
    worker = router.connect("w1", num_slots=1)
    for number in (1, 2, 3):
        router.submit(number)
    counts = {"draft_tokens": 9, "accepted_draft_tokens": 4, "queried_prompt_tokens": 70}
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


def test_stopping_ends_what_is_left_with_an_error(router: RouterHarness) -> None:
    router.submit(1)
    router.stop()
    error = router.result(1).error
    assert error is not None
    assert error.type == "unavailable_error"


def test_job_ids_have_one_form(router: RouterHarness) -> None:
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


def test_the_queue_is_bounded_in_bytes_too() -> None:
    router = RouterHarness(max_queued_bytes=60_000)
    num_accepted = 0
    while isinstance(answer := router.submit(num_accepted + 1, "x" * 300), Accepted):
        num_accepted += 1
    assert error_of(answer).status == 429
    assert "bytes" in error_of(answer).message
    assert 3 <= num_accepted <= 5
    router.connect(num_slots=100, num_blocks=1000)
    assert isinstance(router.submit(99, "x" * 300), Accepted)
