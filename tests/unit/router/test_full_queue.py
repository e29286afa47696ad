"""Limits of the queue in jobs, tokens and bytes, and the retry time of refused clients."""

from __future__ import annotations

from typing import Any

import pytest

from cactus_actors.protocol.messages import Accepted, Rejected, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.router.state.served_model import ServedModel
from tests.support.router.core_harness import STOP, RouterHarness, error_of, job_id


def test_a_full_queue_refuses_with_retry_after_before_tokenization() -> None:
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


def test_background_jobs_count_towards_the_full_queue() -> None:
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


def test_the_queue_is_bounded_by_tokens() -> None:
    router = RouterHarness(max_queued_tokens=50)
    router.submit(1, "x" * 30)
    assert error_of(router.submit(2, "x" * 30)).type == "rate_limit_error"
    assert isinstance(router.submit(3, "x"), Accepted)


def test_the_queue_is_bounded_by_bytes() -> None:
    router = RouterHarness(max_queued_bytes=60_000)
    num_accepted = 0
    while isinstance(answer := router.submit(num_accepted + 1, "x" * 300), Accepted):
        num_accepted += 1
    assert error_of(answer).status == 429
    assert "bytes" in error_of(answer).message
    assert 3 <= num_accepted <= 5
    router.connect(num_slots=100, num_blocks=1000)
    assert isinstance(router.submit(99, "x" * 300), Accepted)


@pytest.mark.parametrize("bound", [{"max_queued_tokens": 2000}, {"max_queued_bytes": 150_000}])
def test_tokens_and_bytes_are_bounded_over_all_models_and_jobs_for_each(bound: dict[str, int]) -> None:
    def submit(number: int, model: str, user: str) -> Any:
        message = Submit(job_id=job_id(number), prompt="x" * 90, model=model, options=Options(seed=3, user=user))
        return router.client(message)[0]

    router = RouterHarness(models=(ServedModel(name="a"), ServedModel(name="b")), **bound)
    number = 0
    while isinstance(submit(number, "a", "many"), Accepted):
        number += 1
    assert 15 < number < 30
    assert error_of(submit(1000, "b", "many")).type == "rate_limit_error"
    assert isinstance(submit(1001, "b", "few"), Accepted)
    router.connect("a-1", served_as="a", num_slots=4)  # five jobs leave the queue
    answers = [submit(number, "b", "many") for number in range(2000, 2006)]
    assert 0 < [isinstance(answer, Accepted) for answer in answers].count(True) < 6

    router = RouterHarness(models=(ServedModel(name="a"), ServedModel(name="b")), max_queued_jobs=5)
    for model in ("a", "b"):
        answers = [submit(number, model, "many") for number in range(ord(model), ord(model) + 200, 10)]
        assert [isinstance(answer, Accepted) for answer in answers].count(True) == 5


def test_users_take_turns_within_each_model() -> None:
    def submit(number: int, model: str, user: str) -> None:
        message = Submit(job_id=job_id(number), prompt="x", model=model, options=Options(seed=3, user=user))
        assert isinstance(router.client(message)[0], Accepted)

    router = RouterHarness(models=(ServedModel(name="a"), ServedModel(name="b")), on_deck=0)
    for number in range(20):
        submit(number, "ab"[number % 2], "many")
    for number, model in ((100, "a"), (101, "b")):
        submit(number, model, "few")
    for model in ("a", "b"):
        router.connect(f"{model}-1", served_as=model, num_slots=1)
    for number in (0, 1):
        router.generate(number, "x", finish=STOP)
    assert router.is_running(100)
    assert router.is_running(101)
