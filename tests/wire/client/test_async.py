"""Calls of AsyncClient with a router that injects faults into real frames."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import msgspec
import pytest

from cactus_actors import (
    AsyncClient,
    ConfigurationInvalid,
    InvalidRequest,
    JobNotFound,
    ModelFailure,
    Options,
    Overloaded,
    Unavailable,
)
from cactus_actors.protocol.errors import UnsupportedVersion
from cactus_actors.protocol.messages import Accepted, Cancel, Fetch, Finished, Rejected, Submit
from tests.support.router.scripted_router import WHOLE, ScriptedJob, ScriptedRouter, until


async def test_complete_returns_the_result(client: AsyncClient) -> None:
    result = await client.complete("hello", seed=7, max_tokens=4)
    assert (result.text, result.token_ids) == ("hello w1 w2 w3", [7, 8, 9, 10])
    assert result.usage.completion_tokens == 4


async def test_a_result_survives_a_restart(client: AsyncClient, router: ScriptedRouter) -> None:
    router.pauses_at = 0
    job_id = await client.submit("hello", seed=7)
    await asyncio.to_thread(router.restart)
    router.pauses_at = None
    assert (await client.result(job_id, timeout=60)).text == WHOLE


async def test_a_lost_submit_is_sent_again(client: AsyncClient, router: ScriptedRouter) -> None:
    router.is_silent.set()
    waiting = asyncio.create_task(client.complete("hello", seed=7))
    await asyncio.to_thread(until, lambda: len(router.received) == 1)
    router.is_silent.clear()
    assert (await waiting).text == WHOLE
    assert len(router.received_of(Submit)) == 2


async def test_the_service_may_start_after_the_client() -> None:
    with ScriptedRouter() as router:
        endpoint, stream_endpoint = router.endpoint, router.stream_endpoint
    async with AsyncClient(endpoint, stream_endpoint, timeout=60.0) as client:
        waiting = asyncio.create_task(client.complete("hello", seed=7))
        await asyncio.sleep(0)
        late = ScriptedRouter()
        late.jobs_socket.unbind(late.endpoint)
        late.jobs_socket.bind(endpoint)
        with late:
            assert (await waiting).text == WHOLE


async def test_overload_is_raised_with_its_retry_after(client: AsyncClient, router: ScriptedRouter) -> None:
    def reject(identity: bytes, submit: Submit) -> None:
        error = Overloaded("the queue is full", retry_after=2.5)
        router.reply(identity, Rejected(error=error.info(), job_id=submit.job_id))

    router.on_submit = reject  # type: ignore[method-assign]
    for attempt in (client.complete("hello"), client.submit("hello"), client.stream("hello").result()):
        with pytest.raises(Overloaded, match="queue is full") as caught:
            await attempt
        assert caught.value.retry_after == 2.5


async def test_a_failed_job_raises_its_error_with_the_partial_result(
    client: AsyncClient, router: ScriptedRouter
) -> None:
    def fail(job: ScriptedJob, finished: Finished) -> None:
        error = ModelFailure("logits are not finite").info()
        partial = job.finish(success=False, error=error, finish_reason="error")
        for identity in job.waiters:
            router.reply(identity, partial)

    router.end = fail  # type: ignore[method-assign]
    with pytest.raises(ModelFailure, match="not finite") as caught:
        await client.complete("hello")
    assert caught.value.result is not None
    assert caught.value.result.text == WHOLE

    stream = client.stream("hello")
    deltas = [await anext(stream) for _ in range(5)]
    assert "".join(delta.text for delta in deltas) == WHOLE
    with pytest.raises(ModelFailure):
        await anext(stream)


async def test_a_cancelled_job_is_not_submitted_to_a_restarted_router(
    client: AsyncClient, router: ScriptedRouter
) -> None:
    router.pauses_at = 1
    stream = client.stream("hello")
    await anext(stream)
    await asyncio.to_thread(router.restart)
    await stream.close()
    assert (await stream.result()).finish_reason == "cancelled"
    assert len(router.received_of(Submit)) == 1


async def test_a_cancelled_wait_cancels_the_job(client: AsyncClient, router: ScriptedRouter) -> None:
    router.pauses_at = 0
    leaving = asyncio.create_task(client.complete("hello"))
    await asyncio.to_thread(until, lambda: bool(router.received_of(Submit)))
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    await asyncio.to_thread(until, lambda: bool(router.received_of(Cancel)))


async def test_cancel_ends_a_job_with_a_cancelled_result(client: AsyncClient, router: ScriptedRouter) -> None:
    router.pauses_at = 0
    job_id = await client.submit("hello")
    assert await client.cancel(job_id) == "cancelled"
    assert (await client.result(job_id)).finish_reason == "cancelled"
    with pytest.raises(JobNotFound):
        await client.cancel("0" * 32)


async def test_results_of_other_clients_jobs(client: AsyncClient, router: ScriptedRouter) -> None:
    async with AsyncClient(router.endpoint, router.stream_endpoint) as other:
        job_id = await other.submit("hello", seed=7)
        assert (await client.result(job_id)).text == WHOLE
    with pytest.raises(JobNotFound):
        await client.result("0" * 32)


async def test_waiting_for_a_result_has_a_timeout_and_the_job_continues(
    client: AsyncClient, router: ScriptedRouter
) -> None:
    router.pauses_at = 0
    job_id = await client.submit("hello", seed=7)
    with pytest.raises(TimeoutError, match=rf"job {job_id} .* 0\.05 s"):
        await client.result(job_id, timeout=0.05)
    router.pauses_at = None
    assert (await client.result(job_id)).text == WHOLE
    assert not router.received_of(Cancel)


async def test_a_long_job_of_another_client_does_not_time_out(router: ScriptedRouter) -> None:
    router.step_s = 0.3
    async with AsyncClient(router.endpoint, router.stream_endpoint) as other:
        job_id = await other.submit("hello", seed=7)
        async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=1, reconnect_timeout=30) as client:
            assert (await client.result(job_id)).text == WHOLE
            assert len([message for message in router.received if isinstance(message, Fetch)]) == 1


async def test_status_and_scale(client: AsyncClient) -> None:
    await client.complete("hello")
    assert (await client.status()).jobs.finished == 1
    assert await client.scale(3) == 3


async def test_no_service_is_unavailable_within_the_timeout() -> None:
    async with AsyncClient("tcp://127.0.0.1:9", timeout=0.3) as client:
        for attempt in (
            client.complete("hello"),
            client.status(),
            client.stream("hello").result(),
            client.result("0" * 32),
        ):
            with pytest.raises(Unavailable, match=r"tcp://127.0.0.1:9 .*cactus serve"):
                await attempt


async def test_an_accepted_job_fails_after_the_reconnect_timeout(router: ScriptedRouter) -> None:
    def accept_and_die(identity: bytes, submit: Submit) -> None:
        router.reply(identity, Accepted(job_id=submit.job_id, epoch=1, prompt_tokens=1, seed=1))
        router.is_silent.set()

    router.on_submit = accept_and_die  # type: ignore[method-assign]
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=2.0, reconnect_timeout=2.5) as client:
        with pytest.raises(Unavailable, match=r"2\.5 s"):
            await client.complete("hello")


async def test_a_router_of_another_version_is_an_error_not_a_timeout(
    client: AsyncClient, router: ScriptedRouter
) -> None:
    def speak_another_version(identity: bytes, submit: Submit) -> None:
        router.jobs_socket.send_multipart([identity, b"\x09m", b"\x80"])

    router.on_submit = speak_another_version  # type: ignore[method-assign]
    with pytest.raises(UnsupportedVersion):
        await client.complete("hello")


@pytest.mark.parametrize(
    ("arguments", "param"),
    [
        ({"prompt": "hi", "temprature": 1}, "temprature"),
        ({"prompt": "hi", "temperature": "hot"}, "temperature"),
        ({"prompt": "hi", "temperature": 9}, "temperature"),
        ({"prompt": "hi", "stop": [1]}, "stop"),
        ({"prompt": "hi", "seed": 2**64}, "seed"),
        ({}, "prompt"),
        ({"prompt": "hi", "messages": []}, "prompt"),
        ({"prompt": 5}, "prompt"),
        ({"prompt": "hi", "job_id": "short"}, "job_id"),
        ({"messages": [{"role": "king", "content": "hi"}]}, "messages"),
        ({"messages": "not json"}, "messages"),
        ({"prompt": "x" * 5_000_000}, "prompt"),
        ({"prompt": "\ud800"}, "prompt"),
    ],
)
async def test_invalid_options_are_refused_before_anything_is_sent(
    client: AsyncClient, router: ScriptedRouter, arguments: dict[str, object], param: str
) -> None:
    for call in (client.complete, client.submit):
        with pytest.raises(InvalidRequest) as caught:
            await call(**arguments)  # type: ignore[operator]
        assert caught.value.param == param
    with pytest.raises(InvalidRequest):
        client.stream(**arguments)  # type: ignore[arg-type]
    assert not router.received


async def test_a_misspelt_option_is_refused_with_the_right_name(client: AsyncClient) -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'temperature'"):
        await client.complete("hi", temprature=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": "hot"}, "temperature must be a number, got 'hot'"),
        ({"max_tokens": 1.5}, "max_tokens must be an integer, got 1.5"),
        ({"ignore_eos": 3}, "ignore_eos must be true or false, got 3"),
        ({"stop": ["a", 1]}, "stop must be a string or a list of strings, got ['a', 1]"),
        ({"seed": 2**64}, f"seed must be between -1 and {2**64 - 1}, got {2**64}"),
    ],
)
async def test_an_option_of_a_wrong_type_is_explained(
    client: AsyncClient, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await client.complete("hi", **options)  # type: ignore[arg-type]
    assert caught.value.message == message


@pytest.mark.parametrize("field", msgspec.structs.fields(Options), ids=lambda field: field.name)
async def test_every_option_type_has_a_description(client: AsyncClient, field: msgspec.structs.FieldInfo) -> None:
    with pytest.raises(InvalidRequest, match=f"{field.name} must be "):
        await client.complete("hi", **{field.name: [[]]})  # type: ignore[arg-type]


@pytest.mark.parametrize("endpoint", ["tcp://127.0.0.1", "localhost:5555", "ipc:///tmp/x", "tcp://h:notaport"])
def test_an_endpoint_without_a_port_is_refused(endpoint: str) -> None:
    with pytest.raises(ConfigurationInvalid, match="HOST:PORT"):
        AsyncClient(endpoint)


async def test_many_jobs_run_concurrently(router: ScriptedRouter) -> None:
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeout=60.0) as client:
        results = await asyncio.gather(*(client.complete(f"job {number}") for number in range(200)))
    assert [result.text for result in results] == [f"job {number} w1 w2 w3 w4" for number in range(200)]


def num_open_files() -> int:
    return len(list(Path("/dev/fd").iterdir()))


async def test_closing_leaves_no_socket_and_no_waiting_task(router: ScriptedRouter) -> None:
    tasks_before, threads_before = len(asyncio.all_tasks()), set(threading.enumerate())
    files_before = num_open_files()
    client = AsyncClient(router.endpoint, router.stream_endpoint)
    router.pauses_at = 0
    waiting = asyncio.create_task(client.complete("hello"))
    await asyncio.to_thread(until, lambda: bool(router.received))
    assert num_open_files() > files_before
    await client.close()
    with pytest.raises(Unavailable, match="closed"):
        await waiting
    await asyncio.to_thread(until, lambda: num_open_files() == files_before)
    assert len(asyncio.all_tasks()) == tasks_before
    threads = set(threading.enumerate()) - threads_before
    assert all(thread.name.startswith("asyncio_") for thread in threads)  # the loop's own executor
    with pytest.raises(Unavailable, match="closed"):
        await client.status()
