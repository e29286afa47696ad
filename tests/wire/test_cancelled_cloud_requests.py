"""Requests to a real HTTP server that are cancelled at every moment, after which the next one is answered."""

from __future__ import annotations

import asyncio

import pytest

from cactus_actors.config import HandoffSettings
from cactus_actors.handoff.audits.audit_requests import AuditRequests
from cactus_actors.handoff.cloud_access import CloudAccess
from cactus_actors.protocol.sampling_params import SamplingParams
from cactus_actors.protocol.worker_messages import Audit, CloudRequest
from tests.support.http.cloud_asker import Asker
from tests.support.http.fake_cloud import fake_cloud, fast, in_two_parts

MOST_STEPS = 200
"""More steps of the event loop than a request takes."""


async def cancelled_after(asker: Asker, num_steps: int, num_times: int) -> bool:
    """Ask, and cancel the request several times, from a step of the event loop on; False if it had ended before."""
    asking = asyncio.create_task(asker.ask())
    for _ in range(num_steps):
        await asyncio.sleep(0)
    for _ in range(num_times):
        asking.cancel()
        await asyncio.sleep(0)
    await asyncio.wait({asking})
    return asking.cancelled()


@pytest.mark.parametrize("num_times", [1, 2, 3])
async def test_a_request_that_is_cancelled_at_any_moment_leaves_no_connection_busy(num_times: int) -> None:
    async with fake_cloud(fast) as cloud:
        for num_steps in range(MOST_STEPS):
            asker = Asker(cloud.base_url, max_concurrent=1, max_retries=0, read_timeout_s=5.0)
            was_cancelled = await cancelled_after(asker, num_steps, num_times)
            assert (await asker.ask()).finish_reason == "stop", num_steps
            await asker.cloud.aclose()
            if not was_cancelled:
                break
    assert 5 < num_steps < MOST_STEPS - 1


@pytest.mark.parametrize("num_times", [1, 2, 3])
async def test_a_request_that_is_cancelled_in_mid_stream_closes_its_connection(num_times: int) -> None:
    async with fake_cloud(in_two_parts(asyncio.Event()), fast) as cloud:
        asker = Asker(cloud.base_url, max_concurrent=1, max_retries=0, read_timeout_s=5.0)
        begun = asyncio.Event()
        asking = asyncio.create_task(asker.ask(forward=lambda _: begun.set()))
        await begun.wait()
        for _ in range(num_times):
            asking.cancel()
            await asyncio.sleep(0)
        await asyncio.wait({asking})
        await asyncio.wait_for(cloud.gone.wait(), 30.0)
        assert (await asker.ask()).finish_reason == "stop"
        await asker.cloud.aclose()


async def test_audits_go_on_however_often_they_are_interrupted() -> None:
    audit = Audit(
        request=CloudRequest(prompt="What is the capital of France?"),
        params=SamplingParams(max_tokens=8),
        text="Paris",
        calls=[],
        signal=0.75,
        threshold=0.5,
        num_prompt_tokens=7,
    )
    ended = asyncio.Event()
    async with fake_cloud(fast) as cloud:
        settings = HandoffSettings(base_url=cloud.base_url, audit_share=1.0, read_timeout_s=5.0)
        audits = AuditRequests(settings, ended.set)

        async def ask(interrupted_after: int | None = None) -> dict[str, int]:
            audits.take(audit)
            ended.clear()
            audits.start_next(CloudAccess(), has_room=True)
            if interrupted_after is not None:
                for _ in range(interrupted_after):
                    await asyncio.sleep(0)
                while not ended.is_set():  # a handoff waits, and the actor looks again at each message
                    audits.start_next(CloudAccess(), has_room=False)
                    await asyncio.sleep(0)
            await asyncio.wait_for(ended.wait(), 30.0)
            totals = audits.totals()
            assert totals is not None
            return dict(totals.outcomes)

        for num_steps in range(12):
            skipped = {"right": num_steps, "wrong": 0, "failed": 0, "skipped": num_steps + 1}
            assert await ask(interrupted_after=num_steps) == skipped
            assert await ask() == {**skipped, "right": num_steps + 1}
        await audits.aclose()
