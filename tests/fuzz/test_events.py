"""Random valid messages from the other side: no actor ends, and no other job is affected."""

from __future__ import annotations

from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from cactus_actors.client.job_follower import JobFollower, Timeouts
from cactus_actors.protocol.messages import Accepted, ClientMessage, Progress, RouterReply, Submit
from cactus_actors.protocol.worker_messages import Finish, Report, SequenceDelta, WorkerMessage
from tests.support.fuzzing.judging import answer, fuzzed
from tests.support.fuzzing.values import encodable, of_type
from tests.support.router.core_harness import RouterHarness, job_id

JOB_IDS = st.sampled_from([job_id(1), job_id(2), job_id(77), "", "../x", "0" * 4096])
messages = st.tuples(of_type(ClientMessage).filter(encodable), JOB_IDS)


def of_job(message: Any, name: str) -> Any:
    return msgspec.structs.replace(message, job_id=name) if hasattr(message, "job_id") else message


def a_router() -> RouterHarness:
    """A router with one running and one waiting job."""
    router = RouterHarness(on_deck=0)
    router.connect("w1", num_slots=1)
    for number in (1, 2):
        assert isinstance(router.submit(number, max_tokens=5), Accepted)
    return router


@fuzzed(15)
@given(said=st.lists(messages, min_size=1, max_size=5))
def test_arbitrary_messages_of_a_client_affect_no_other_job(said: list[tuple[Any, str]]) -> None:
    router = a_router()
    for message, name in said:
        if isinstance(message, Submit) or name not in (job_id(1), job_id(2)):
            answer(router.client, of_job(message, name), b"other")
    router.pass_time(1.0)
    for number in (1, 2):
        while not router.is_running(number):
            [busy] = [d for worker in router.workers.values() for d in worker.dispatches.values()]
            router.generate(int(busy.job_id, 16), "x", finish=Finish("stop"))
        router.generate(number, "ab", finish=Finish("stop"))
        assert router.result(number).text == "ab"


@fuzzed(15)
@given(said=st.lists(of_type(WorkerMessage), min_size=1, max_size=4))
def test_arbitrary_messages_of_a_worker_affect_no_other_job(said: list[Any]) -> None:
    """Odd messages of a worker affect no job of another one."""
    router = a_router()
    odd = router.connect("odd", num_slots=1)
    for message in said:
        if odd.identity in router.workers:
            answer(router.say, odd, message)
    answer(router.core.on_tick, router.now)
    answer(router.core.status, router.now)
    assert router.running(1)[0].hello.worker_id == "w1"
    router.generate(1, "ab", finish=Finish("stop"))
    assert router.result(1).text == "ab"


deltas = st.tuples(of_type(SequenceDelta), st.integers(0, 2))


@fuzzed(20)
@given(said=st.lists(deltas, min_size=1, max_size=4))
def test_arbitrary_deltas_do_not_change_published_tokens(said: list[tuple[SequenceDelta, int]]) -> None:
    """Only the parts of a report that fit the dispatch count; published tokens do not change."""
    router = a_router()
    router.subscribe(1)
    [worker] = router.workers.values()
    router.generate(1, "ab")
    for delta, place in said:
        [dispatch_id, *_] = [*worker.dispatches, 0]
        odd = msgspec.structs.replace(delta, dispatch_id=dispatch_id, position=2 if place else delta.position)
        report = Report(num_accepted=1, free_slots=0, free_blocks=64, num_running=1, deltas=[odd])
        answer(router.say, worker, report)
    for finished in router.finished(1):
        assert finished.result.token_ids[:2] == [ord("a"), ord("b")]
        assert finished.result.text.startswith("ab")


@fuzzed(15)
@given(said=st.lists(of_type(RouterReply | Progress), max_size=8), streamed=st.booleans())
def test_a_client_job_ends_after_arbitrary_messages_of_a_router(said: list[Any], streamed: bool) -> None:
    submit = Submit(job_id=job_id(1), prompt="x")
    timeouts = Timeouts(endpoint="e", first_reply_s=1.0, reconnect_s=2.0)
    follower = JobFollower(job_id(1), submit, streamed=streamed, timeouts=timeouts, now=0.0)
    for time_s, message in enumerate(said):
        answer(follower.on_message, of_job(message, job_id(1)), time_s * 0.1)
        answer(follower.on_tick, time_s * 0.1)
    follower.on_tick(1e6)
    assert follower.outcome is not None
