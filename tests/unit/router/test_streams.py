"""Deltas, replays and progress: every token once, under repetition and loss."""

from __future__ import annotations

import pytest

from cactus_actors.protocol.messages import Delta, Progress, Replay, Resume
from cactus_actors.protocol.worker_messages import Finish, SequenceExtras
from cactus_actors.router.lifecycle.replays import MAX_CREDIT
from tests.support.router.core_harness import STOP, RouterHarness, error_of, job_id
from tests.support.router.worker_messages import make_delta


def test_nothing_is_published_without_a_subscriber_and_a_late_one_gets_the_length(
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


def test_subscribers_get_progress_once_per_second(router: RouterHarness) -> None:
    router.connect()
    router.submit(1)
    router.subscribe(1)
    router.generate(1, "ab")
    router.pass_time(3.0)
    progress = [message for message in router.published if isinstance(message, Progress)]
    assert 2 <= len(progress) <= 3
    assert {message.length for message in progress} == {2}


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
    """A client with other splits from an earlier attempt can then resume anywhere with the right text."""
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


def test_a_replay_of_a_long_stream_has_several_deltas(router: RouterHarness) -> None:
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
def test_a_replay_has_a_bounded_number_of_likely_tokens(router: RouterHarness, has_ended: bool) -> None:
    """A stream with many is read in several turns, so that no replay delays other requests."""
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
def test_an_invalid_resume_is_rejected(router: RouterHarness, resume: dict[str, int]) -> None:
    router.connect()
    router.submit(1)
    [reply] = router.client(Resume(job_id=job_id(1), **resume))
    assert error_of(reply).param == next(iter(resume))
    router.generate(1, "x", finish=STOP)
    [reply] = router.client(Resume(job_id=job_id(1), next_index=2))
    assert error_of(reply).param == "next_index"
