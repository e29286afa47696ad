"""The cloud client with a real HTTP server that has all faults of a cloud."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from cactus_actors.handoff.answer_reader import AnswerPiece, CloudAnswer
from cactus_actors.protocol.results import Usage
from tests.support.http.cloud_asker import SECRET, Asker, MakeAsker
from tests.support.http.fake_cloud import (
    EVENTS,
    Answering,
    Connection,
    FakeCloud,
    breaks_off_behind_its_end,
    drips,
    ends_early,
    ends_within_its_last_line,
    ends_without_mark,
    ends_without_reason,
    fake_cloud,
    fast,
    resets,
    resets_at_once,
    resets_behind_its_end,
    sends_broken_json,
    sends_endless_line,
    sends_html,
    silent,
    stalls,
    status,
    stays_behind_its_end,
)
from tests.support.processes.bad_link import proxied
from tests.support.processes.waiting import until


@pytest.fixture
async def asker_of() -> AsyncIterator[MakeAsker]:
    """Make Askers and close their connections."""
    made: list[Asker] = []

    def make(cloud: FakeCloud, **changes: Any) -> Asker:
        made.append(Asker(cloud.base_url, **changes))
        return made[-1]

    yield make
    for asker in made:
        await asker.cloud.aclose()


async def test_an_answer_is_streamed_and_the_request_is_a_chat_completion(asker_of: MakeAsker) -> None:
    async with fake_cloud(fast) as cloud:
        asker = asker_of(cloud)
        answer = await asker.ask()
    assert asker.chunks == ["Par", "is"]
    assert answer == CloudAnswer("stop", Usage(prompt_tokens=5, completion_tokens=2, cached_tokens=1))
    (request,) = cloud.requests
    assert request.head.startswith("POST /v1/chat/completions HTTP/1.1")
    assert f"authorization: bearer {SECRET}" in request.head.lower()
    assert "accept-encoding: identity" in request.head.lower()
    assert request.body["messages"] == [{"role": "user", "content": "What is the capital of France?"}]
    assert request.body["stream"] is True


async def test_a_slow_first_byte_is_accepted(asker_of: MakeAsker) -> None:
    async def slow(connection: Connection) -> None:
        await asyncio.sleep(0.1)
        await fast(connection)

    async with fake_cloud(slow) as cloud:
        asker = asker_of(cloud)
        assert (await asker.ask()).finish_reason == "stop"


async def test_two_retries_are_exhausted_by_three_failures(asker_of: MakeAsker) -> None:
    async with fake_cloud(status(500), status(500), status(500), fast) as cloud:
        asker = asker_of(cloud)
        assert (await asker.fail()).kind == "cloud_server_error"
        assert len(cloud.requests) == 3
    async with fake_cloud(status(500), status(502), fast) as cloud:
        asker = asker_of(cloud)
        assert (await asker.ask()).finish_reason == "stop"
        assert len(cloud.requests) == 3


async def test_an_open_breaker_sends_no_request(asker_of: MakeAsker) -> None:
    async with fake_cloud(status(500)) as cloud:
        asker = asker_of(cloud)
        await asker.fail()
        assert asker.breaker_state == "closed"
        await asker.fail()  # its second attempt is the fifth failure: no third one
        assert asker.breaker_state == "open"
        assert len(cloud.requests) == 5
        failure = await asker.fail()
        assert failure.message == "cloud_unavailable: breaker open"
        assert len(cloud.requests) == 5


async def test_a_half_open_breaker_closes_after_two_answers(asker_of: MakeAsker) -> None:
    async with fake_cloud(*[status(500)] * 5, fast) as cloud:
        asker = asker_of(cloud, breaker_open_s=2.0)
        await asker.fail()
        await asker.fail()
        assert asker.breaker_state == "open"
        await until(lambda: asker.breaker_state == "half_open")
        await asker.ask()
        assert asker.breaker_state == "half_open"
        await asker.ask()
        assert asker.breaker_state == "closed"


async def test_retries_count_against_the_budget(asker_of: MakeAsker) -> None:
    async with fake_cloud(status(503)) as cloud:
        asker = asker_of(cloud, max_requests=4)
        assert (await asker.fail()).kind == "cloud_overloaded"
        assert len(cloud.requests) == 3
        assert (await asker.fail()).kind == "cloud_overloaded"  # the cloud's answer, not our timeout
        assert (await asker.fail()).kind == "cloud_budget_spent"
        assert len(cloud.requests) == asker.budget.num_requests == 4


async def test_concurrent_jobs_send_no_request_beyond_the_budget(asker_of: MakeAsker) -> None:
    async with fake_cloud(status(503)) as cloud:
        asker = asker_of(cloud, max_requests=12)
        failures = await asyncio.gather(*[asker.fail() for _ in range(8)])
        assert {failure.kind for failure in failures} <= {"cloud_overloaded", "cloud_budget_spent"}
        assert len(cloud.requests) == 12


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
async def test_a_refusal_is_final_and_never_opens_the_breaker(asker_of: MakeAsker, code: int) -> None:
    async with fake_cloud(status(code, f"bad {SECRET}")) as cloud:
        asker = asker_of(cloud)
        for _ in range(6):
            failure = await asker.fail()
        assert failure.kind == ("cloud_auth" if code in (401, 403) else "cloud_rejected")
        assert SECRET not in failure.message
        assert len(cloud.requests) == 6
        assert asker.breaker_state == "closed"


@pytest.mark.parametrize("code", [401, 403])
async def test_a_refusal_without_a_key_names_the_missing_key(asker_of: MakeAsker, code: int) -> None:
    async with fake_cloud(status(code)) as cloud:
        asker = asker_of(cloud)
        failure = await asker.fail(key=None)
        assert (failure.kind, failure.outcome) == ("cloud_auth", "neutral")
        assert "the cloud requires a key, and none is configured" in failure.message
        assert "`cactus auth`" in failure.message
        assert "CACTUS_CLOUD_KEY" in failure.message
        assert "refused the key" in (await asker.fail()).message


@pytest.mark.parametrize("code", [429, 503])
async def test_backpressure_is_retried_and_never_opens_the_breaker(asker_of: MakeAsker, code: int) -> None:
    async with fake_cloud(status(code)) as cloud:
        asker = asker_of(cloud)
        for _ in range(3):
            assert (await asker.fail()).kind == "cloud_overloaded"
        assert len(cloud.requests) == 9
        assert asker.breaker_state == "closed"


async def test_a_retry_waits_for_retry_after(asker_of: MakeAsker) -> None:
    async with fake_cloud(status(429, Retry_After="0.3"), fast) as cloud:
        asker = asker_of(cloud)
        start = time.monotonic()
        await asker.ask()
        assert time.monotonic() - start >= 0.3


async def test_a_retry_after_beyond_the_deadline_fails_at_once(
    asker_of: MakeAsker,
) -> None:
    async with fake_cloud(status(429, Retry_After="1e9"), fast) as cloud:
        asker = asker_of(cloud)
        start = time.monotonic()
        failure = await asker.fail(job_s=600.0)
        assert time.monotonic() - start < 60.0
        assert (failure.kind, failure.retry_after) == ("cloud_overloaded", 86_400.0)
        assert len(cloud.requests) == 1


async def test_silence_before_the_answer_is_retried_and_counts_against_the_cloud(asker_of: MakeAsker) -> None:
    async with fake_cloud(silent) as cloud:
        asker = asker_of(cloud, breaker_failures=3, read_timeout_s=1.0)
        assert (await asker.fail()).kind == "cloud_timeout"
        assert len(cloud.requests) == 3
        assert asker.breaker_state == "open"


@pytest.mark.parametrize(("answering", "kind"), [(stalls, "cloud_timeout"), (resets, "cloud_connection")])
async def test_nothing_is_sent_again_once_a_chunk_was_forwarded(
    asker_of: MakeAsker, answering: Answering, kind: str
) -> None:
    async with fake_cloud(answering, fast) as cloud:
        asker = asker_of(cloud, breaker_failures=1, read_timeout_s=2.0)
        assert (await asker.fail()).kind == kind
        assert asker.chunks == ["Par"]
        assert len(cloud.requests) == 1
        assert asker.breaker_state == "open"


async def test_a_reset_before_the_answer_is_retried(asker_of: MakeAsker) -> None:
    async with fake_cloud(resets_at_once, fast) as cloud:
        asker = asker_of(cloud)
        assert (await asker.ask()).finish_reason == "stop"


async def test_a_refused_connection_is_a_connection_failure(asker_of: MakeAsker) -> None:
    async with fake_cloud(fast) as cloud:
        asker = asker_of(cloud)
        await cloud.close()
        assert (await asker.fail()).kind == "cloud_connection"


async def test_a_cloud_that_accepts_no_connection_times_out(asker_of: MakeAsker) -> None:
    """Like a firewall that drops packets: a full accept queue leaves the next connection without an answer."""
    with socket.socket() as listening, contextlib.ExitStack() as stack:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(listening.getsockname())
        cloud = FakeCloud([fast], port=listening.getsockname()[1])
        asker = asker_of(cloud, connect_timeout_s=0.2, breaker_failures=3)
        start = time.monotonic()
        failure = await asker.fail()
        assert (failure.kind, "ConnectTimeout" in failure.message) == ("cloud_timeout", True)
        assert time.monotonic() - start < 60.0
        assert asker.breaker_state == "open"
        assert (await asker.fail()).message == "cloud_unavailable: breaker open"


async def test_a_connection_that_breaks_within_an_answer_is_detected(asker_of: MakeAsker) -> None:
    """Neither side closes the connection: no more bytes arrive."""

    async def goes_on(connection: Connection) -> None:
        await connection.send(EVENTS)
        while True:
            await connection.chunk("Par")
            await asyncio.sleep(0.01)

    async with fake_cloud(goes_on) as cloud, proxied(f"tcp://127.0.0.1:{cloud.port}") as link:
        asker = asker_of(FakeCloud([], port=link.port), read_timeout_s=2.0)
        chunks: list[str] = []

        def forward(piece: AnswerPiece) -> None:
            chunks.append(piece.text)
            if len(chunks) == 3:
                link.hold()

        assert (await asker.fail(forward=forward)).kind == "cloud_timeout"
        assert len(chunks) >= 3
        assert len(cloud.requests) == link.num_connections == 1


@pytest.mark.parametrize(("job_s", "state"), [(None, "open"), (1.0, "closed")])
async def test_a_slowly_dripping_answer_ends_at_the_deadline(
    asker_of: MakeAsker, job_s: float | None, state: str
) -> None:
    """A job's own short deadline does not count against the cloud; the deadline of the settings does."""
    async with fake_cloud(drips) as cloud:
        asker = asker_of(cloud, total_timeout_s=2.0, breaker_failures=1)
        start = time.monotonic()
        failure = await asker.fail(job_s=job_s)
        assert time.monotonic() - start < 60.0
        assert failure.kind == "cloud_timeout"
        assert asker.breaker_state == state
        assert len(cloud.requests) == 1


@pytest.mark.parametrize(
    "answering", [ends_early, ends_without_reason, sends_broken_json, sends_endless_line, sends_html]
)
async def test_protocol_violations_are_failures(asker_of: MakeAsker, answering: Answering) -> None:
    async with fake_cloud(answering) as cloud:
        asker = asker_of(cloud, breaker_failures=1)
        assert (await asker.fail()).kind == "cloud_protocol_error"
        assert len(cloud.requests) == 1
        assert asker.breaker_state == "closed"


@pytest.mark.parametrize(
    "answering",
    [
        ends_without_mark,
        ends_within_its_last_line,
        resets_behind_its_end,
        breaks_off_behind_its_end,
        stays_behind_its_end,
    ],
)
async def test_an_answer_with_a_finish_reason_is_complete(asker_of: MakeAsker, answering: Answering) -> None:
    async with fake_cloud(answering) as cloud:
        asker = asker_of(cloud, breaker_failures=1)
        assert await asker.ask() == CloudAnswer("stop", None)
    assert asker.chunks == ["Par", "is"]
    assert asker.breaker_state == "closed"
    assert len(cloud.requests) == 1


async def test_a_complete_answer_is_not_lost_to_the_deadline(asker_of: MakeAsker) -> None:
    """This also holds if no code runs from the finish_reason until the deadline has passed."""

    def starve(piece: AnswerPiece) -> None:
        if piece.text == "is":
            time.sleep(3.5)

    async with fake_cloud(stays_behind_its_end) as cloud:
        for forward in (None, starve):
            asker = asker_of(cloud, rest_wait_s=60.0, total_timeout_s=3.0, read_timeout_s=60.0, breaker_failures=1)
            assert await asker.ask(forward=forward) == CloudAnswer("stop", None)
            assert asker.breaker_state == "closed"


async def test_a_redirect_is_not_followed(asker_of: MakeAsker) -> None:
    async with fake_cloud(fast) as other:
        async with fake_cloud(status(307, Location=f"{other.base_url}/chat/completions")) as cloud:
            assert (await asker_of(cloud).fail()).kind == "cloud_rejected"
        assert other.requests == []


async def test_a_cancelled_request_closes_its_connection_and_is_neutral(asker_of: MakeAsker) -> None:
    async with fake_cloud(stalls) as cloud:
        asker = asker_of(cloud, breaker_failures=1)
        first_chunk = asyncio.Event()
        asking = asyncio.create_task(asker.ask(forward=lambda _: first_chunk.set()))
        await asyncio.wait_for(first_chunk.wait(), 60.0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await asyncio.wait_for(cloud.gone.wait(), 60.0)
        assert asker.breaker_state == "closed"


async def test_the_key_is_in_no_log_or_error(asker_of: MakeAsker, caplog: pytest.LogCaptureFixture) -> None:
    async def reports(connection: Connection) -> None:
        await connection.send(EVENTS)
        await connection.event(f'{{"error": {{"message": "who is {SECRET}?"}}}}')

    echo = status(400, f"you sent {SECRET}", X_Echo=SECRET)
    answers = [
        fast,
        echo,
        status(401, SECRET),
        status(500, SECRET),
        resets_at_once,
        reports,
        sends_broken_json,
    ]
    with caplog.at_level(logging.DEBUG):
        for answering in answers:
            async with fake_cloud(answering) as cloud:
                shown = repr((await asyncio.gather(asker_of(cloud).ask(), return_exceptions=True))[0])
                assert SECRET not in shown
    assert "HTTP Request" in caplog.text  # the log was really captured
    assert SECRET not in caplog.text


async def test_an_error_from_the_cloud_carries_its_message_without_the_key(asker_of: MakeAsker) -> None:
    async with fake_cloud(status(400, f"you\nsent {SECRET}")) as cloud:
        failure = await asker_of(cloud).fail()
    assert failure.message == "cloud_rejected: the cloud answered 400: you sent ***"
    assert failure.info().status == 502
    assert failure.__suppress_context__
