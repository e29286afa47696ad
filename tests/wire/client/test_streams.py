"""Streams of AsyncClient: every token once, under loss, repetition and restarts."""

from __future__ import annotations

import asyncio
import gc

import pytest

from cactus_actors import AsyncClient, Unavailable
from cactus_actors.client import Timeouts
from cactus_actors.protocol.exact_integers import seed_of_job
from cactus_actors.protocol.messages import Cancel, Delta, Finished, Resume, Submit
from tests.support.router.scripted_router import WHOLE, ScriptedJob, ScriptedRouter, until


async def streamed(client: AsyncClient) -> list[Delta]:
    async with asyncio.timeout(60):
        return [delta async for delta in client.stream("hello", seed=7)]


def check_whole(deltas: list[Delta]) -> None:
    assert [delta.index for delta in deltas] == [
        sum(len(earlier.token_ids) for earlier in deltas[:place]) for place in range(len(deltas))
    ]
    assert [token for delta in deltas for token in delta.token_ids] == [7, 8, 9, 10, 11]
    assert "".join(delta.text for delta in deltas) == WHOLE


async def test_stream_yields_each_token_once_then_the_result(client: AsyncClient) -> None:
    stream = client.stream(messages=[{"role": "user", "content": "hello"}], seed=7)
    check_whole([delta async for delta in stream])
    assert (await stream.result()).text == WHOLE


async def test_stream_can_be_awaited_and_its_result_read_without_iterating(client: AsyncClient) -> None:
    stream = await client.stream("hello", seed=7)
    assert (await stream.result()).text == WHOLE


@pytest.mark.parametrize("lost", [{0}, {1}, {1, 2}, {4}, {3, 4}, {0, 1, 2, 3, 4}])
async def test_lost_deltas_are_replayed(client: AsyncClient, router: ScriptedRouter, lost: set[int]) -> None:
    router.lost_indices = lost
    check_whole(await streamed(client))


async def test_a_gap_is_closed_by_resume(client: AsyncClient, router: ScriptedRouter) -> None:
    router.lost_indices = {1}
    router.step_s = 0.02
    deltas = await streamed(client)
    check_whole(deltas)
    assert Resume(job_id=deltas[0].job_id, next_index=1) in router.received


async def test_a_silent_stream_is_resumed_after_two_seconds(client: AsyncClient, router: ScriptedRouter) -> None:
    def never_ends(job: ScriptedJob, finished: Finished) -> None:
        """Drop the tail of the stream and Finished."""

    router.lost_indices = {3, 4}
    router.end = never_ends  # type: ignore[method-assign]
    check_whole(await streamed(client))
    assert len(router.received_of(Resume)) == 1


async def test_repeated_deltas_are_dropped(client: AsyncClient, router: ScriptedRouter) -> None:
    def stammer(job: ScriptedJob, index: int) -> None:
        for repeated in (*range(index + 1), index):
            router.publish(job.delta(repeated))

    router.stream_token = stammer  # type: ignore[method-assign]
    check_whole(await streamed(client))


async def test_deltas_out_of_order_are_sorted(client: AsyncClient, router: ScriptedRouter) -> None:
    def swap(job: ScriptedJob, index: int) -> None:
        router.publish(job.delta(index ^ 1 if index < 4 else index))

    router.stream_token = swap  # type: ignore[method-assign]
    check_whole(await streamed(client))


async def test_malformed_messages_on_the_stream_are_ignored(client: AsyncClient, router: ScriptedRouter) -> None:
    def garble(job: ScriptedJob, index: int) -> None:
        router.stream_socket.send_multipart([job.submit.job_id.encode(), b"\x01m", b"\xff\x00garbage"])
        router.stream_socket.send_multipart([job.submit.job_id.encode()])

    router.stream_token = garble  # type: ignore[method-assign]
    check_whole(await streamed(client))


async def test_a_stream_continues_without_gap_or_repeat_after_a_restart(
    client: AsyncClient, router: ScriptedRouter
) -> None:
    router.pauses_at = 2
    stream = client.stream("hello")
    deltas = [await anext(stream), await anext(stream)]
    await asyncio.to_thread(router.restart)
    router.pauses_at = None
    async with asyncio.timeout(60):
        deltas += [delta async for delta in stream]
    assert [delta.index for delta in deltas] == [0, 1, 2, 3, 4]
    first, second = router.received_of(Submit)
    assert first == second  # the same id, content and seed: a router generates the same tokens
    assert isinstance(first, Submit)
    assert first.options.seed == seed_of_job(first.job_id)
    assert "".join(delta.text for delta in deltas) == (await stream.result()).text == WHOLE


async def test_closing_a_stream_early_cancels_the_job(client: AsyncClient, router: ScriptedRouter) -> None:
    router.pauses_at = 1
    async with client.stream("hello") as stream:
        await anext(stream)
    await asyncio.to_thread(until, lambda: Cancel(job_id=stream.job_id) in router.received)
    result = await stream.result()
    assert result.finish_reason == "cancelled"
    assert result.text.startswith("hello")  # the service's own result, with the delivered tokens
    assert result == await client.result(stream.job_id)
    assert [delta async for delta in stream] == []


async def test_closing_a_stream_of_a_silent_service_raises_an_error(
    router: ScriptedRouter,
) -> None:
    router.pauses_at = 1
    async with AsyncClient(router.endpoint, router.stream_endpoint, timeouts=Timeouts(close_s=0.1)) as client:
        async with client.stream("hello") as stream:
            await anext(stream)
            router.is_silent.set()
        with pytest.raises(Unavailable, match=stream.job_id):
            await stream.result()


async def test_an_abandoned_job_can_be_submitted_again_at_once(client: AsyncClient, router: ScriptedRouter) -> None:
    router.pauses_at = 0
    leaving = asyncio.create_task(client.complete("hello", job_id="a" * 32, seed=7))
    await asyncio.to_thread(until, lambda: bool(router.received_of(Submit)))
    leaving.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaving
    assert (await client.complete("hello", job_id="a" * 32, seed=7)).finish_reason == "cancelled"


async def test_dropping_a_stream_cancels_the_job(client: AsyncClient, router: ScriptedRouter) -> None:
    router.pauses_at = 1
    async for _ in client.stream("hello"):
        break
    gc.collect()
    await asyncio.to_thread(until, lambda: bool(router.received_of(Cancel)))
