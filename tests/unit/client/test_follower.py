"""A client whose stream lost its end, and a client that has left its job."""

from __future__ import annotations

from cactus_actors.client.job_follower import REORDER_S, RESULT_SILENCE_S, RESUME_CREDIT, JobFollower, Timeouts
from cactus_actors.protocol.messages import (
    Accepted,
    Cancel,
    Delta,
    Fetch,
    Finished,
    Progress,
    Replay,
    Resume,
    Submit,
)
from cactus_actors.protocol.results import Result, TokenLogprob, ToolCall

JOB = "0" * 32


def make_follower(*, streamed: bool = True) -> JobFollower:
    timeouts = Timeouts(endpoint="tcp://x:1", first_reply_s=1.0, reconnect_s=60.0)
    follower = JobFollower(JOB, Submit(job_id=JOB, prompt="hi"), streamed=streamed, timeouts=timeouts, now=0.0)
    follower.on_message(Accepted(job_id=JOB, epoch=1, prompt_tokens=1, seed=0), 0.0)
    return follower


def token(text: str) -> TokenLogprob:
    return TokenLogprob(token_id=ord(text), token=text, bytes=[ord(text)], logprob=-1.0)


def test_calls_removed_from_the_text_are_in_the_stream() -> None:
    follower = make_follower()
    follower.on_message(Delta(job_id=JOB, index=0, token_ids=[1], text="<call>"), 0.0)
    result = Result(text="so", stream_text="<call>so", token_ids=[1, 2], tool_calls=[ToolCall("time", {})])
    follower.on_message(Finished(job_id=JOB, length=2, result=result), 0.0, from_stream=True)
    assert [(delta.index, delta.text) for delta in follower.deltas] == [(0, "<call>"), (1, "so")]
    assert follower.outcome is result


def test_an_end_that_overtakes_the_acceptance_waits_for_it() -> None:
    accepted = Accepted(job_id=JOB, epoch=1, prompt_tokens=1, seed=0, tool_markup="hermes")
    result = Result(text="so", token_ids=[1])
    for is_lost in (False, True):
        follower = JobFollower(JOB, Submit(job_id=JOB, prompt="hi"), streamed=True, timeouts=Timeouts(), now=0.0)
        follower.on_message(Finished(job_id=JOB, length=1, result=result), 0.0, from_stream=True)
        follower.on_message(Delta(job_id=JOB, index=0, token_ids=[1], text="so"), 0.0)
        assert follower.outcome is None
        if is_lost:
            follower.on_tick(REORDER_S)
        else:
            follower.on_message(accepted, 0.1)
        assert (follower.outcome, follower.accepted) == (result, None if is_lost else accepted)
        assert [delta.text for delta in follower.deltas] == ["so"]


def test_a_lost_stream_still_has_its_log_probabilities() -> None:
    follower = make_follower()
    result = Result(text="ab", token_ids=[97, 98], logprobs=[token("a"), token("b")], prompt_logprobs=[token("h")])
    follower.on_message(Finished(job_id=JOB, length=2, result=result), 0.0, from_stream=True)
    [delta] = follower.deltas
    assert (delta.token_ids, delta.text) == ([97, 98], "ab")
    assert (delta.logprobs, delta.prompt_logprobs) == (result.logprobs, result.prompt_logprobs)


def test_a_lost_result_is_requested_repeatedly() -> None:
    follower = make_follower(streamed=False)
    for number in (1, 2):
        follower.outbox.clear()
        follower.on_tick(number * RESULT_SILENCE_S)
        assert Fetch(job_id=JOB) in follower.outbox
        follower.on_message(Replay(job_id=JOB, epoch=1, deltas=[], length=3), number * RESULT_SILENCE_S)
    assert follower.outcome is None


def test_a_result_is_requested_at_once_over_a_new_connection() -> None:
    follower = make_follower(streamed=False)
    for number in (1, 2):  # the connection may end before the answer comes
        follower.outbox.clear()
        follower.on_reconnected(0.1 * number)
        assert follower.outbox == [Fetch(job_id=JOB), Resume(job_id=JOB, credit=0)]


def test_a_stream_resumes_at_once_over_a_new_connection() -> None:
    follower = make_follower()
    follower.on_message(Delta(job_id=JOB, index=0, token_ids=[1, 2], text="ab"), 0.0)
    follower.outbox.clear()
    follower.on_reconnected(0.1)
    assert follower.outbox == [Resume(job_id=JOB, next_index=2, credit=RESUME_CREDIT)]


def test_an_unanswered_submission_is_repeated_over_a_new_connection() -> None:
    submit = Submit(job_id=JOB, prompt="hi")
    timeouts = Timeouts(endpoint="tcp://x:1", first_reply_s=1.0, reconnect_s=60.0)
    follower = JobFollower(JOB, submit, streamed=True, timeouts=timeouts, now=0.0)
    follower.outbox.clear()
    follower.on_reconnected(0.1)
    assert follower.outbox == [submit]


def test_ended_jobs_cause_no_requests() -> None:
    follower = make_follower(streamed=False)
    follower.outbox.clear()
    follower.on_message(Finished(job_id=JOB, length=0, result=Result()), 0.0)
    follower.on_reconnected(0.1)
    assert follower.outbox == []


def test_a_lost_cancellation_is_sent_again() -> None:
    follower = make_follower()
    follower.abandon()
    follower.outbox.clear()
    follower.on_tick(RESULT_SILENCE_S / 2)
    assert not follower.outbox
    follower.on_tick(RESULT_SILENCE_S)
    assert Cancel(job_id=JOB) in follower.outbox


def test_a_restarted_router_gets_the_cancellation_again() -> None:
    follower = make_follower()
    follower.abandon()
    follower.outbox.clear()
    follower.on_message(Progress(job_id=JOB, epoch=2, length=3), 0.0)
    assert follower.outbox == [Cancel(job_id=JOB)]
    assert isinstance(follower.outcome, Result)
    assert follower.outcome.finish_reason == "cancelled"


def test_reasoning_that_the_stream_lost_is_in_the_result() -> None:
    follower = make_follower()
    first = Delta(job_id=JOB, index=0, token_ids=[1], text="", reasoning_content="so")
    follower.on_message(first, 0.0)
    result = Result(text="Hi", reasoning_content="so it is", token_ids=[1, 2, 3])
    follower.on_message(Finished(job_id=JOB, length=3, result=result), 0.0, from_stream=True)
    assert "".join(delta.reasoning_content for delta in follower.deltas) == "so it is"
    assert "".join(delta.text for delta in follower.deltas) == "Hi"
    assert [(delta.index, delta.token_ids) for delta in follower.deltas] == [(0, [1]), (1, [2, 3])]
