"""Overload: excess jobs are refused at once, and fair shares are kept.

Times are compared with those of the same machine in the same minute.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator

import pytest

from benchmarks.overload.cancellations import cancellations
from benchmarks.overload.first_tokens import prompt_file, two_users
from benchmarks.overload.refusals import Flood
from benchmarks.overload.target import Target, percentile
from cactus_actors.client import Client
from cactus_actors.protocol.options import Options
from tests.support.processes.separate_actors import Processes

pytestmark = pytest.mark.chaos

MAX_QUEUED = 100


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    service = Processes(tmp_path_factory.mktemp("overload"), max_queued_jobs=MAX_QUEUED)
    with Client(service.jobs, service.stream, timeout=60.0) as client:
        client.complete("Hi", max_tokens=2)
    yield Target(service.jobs, service.stream, service.router.pid)
    service.stop()


async def test_excess_jobs_are_refused_at_once_and_the_others_end(target: Target) -> None:
    before = target.resident_mib()
    flood = Flood(target, 600.0, Options(max_tokens=32, ignore_eos=True))
    async with target.client() as client:
        flooding = asyncio.create_task(flood.run(4.0))
        questions: list[float] = []
        while not flooding.done():
            requested_at = time.perf_counter()
            await client.status()
            questions.append(time.perf_counter() - requested_at)
            await asyncio.sleep(0.02)
        await flooding
    assert len(flood.refused_s) > len(flood.accepted_s) > 0
    assert all(0.1 <= seconds <= 60.0 for seconds in flood.retry_after_s)
    # A request without cost takes this long on this machine now.
    assert percentile(flood.refused_s, 0.5) < 0.05 + 2 * percentile(questions, 0.5)
    assert percentile(flood.refused_s, 0.99) < 0.05 + 2 * percentile(questions, 0.99)
    assert target.resident_mib() - before < 64
    async with target.client() as client:
        jobs = (await client.status()).jobs
        assert jobs.queued <= MAX_QUEUED
        for _ in range(3000):
            jobs = (await client.status()).jobs
            if not jobs.queued and not jobs.running:
                break
            await asyncio.sleep(0.1)
        assert jobs.accepted == jobs.finished


async def test_a_user_keeps_its_share_beside_one_with_twenty_times_the_load(target: Target) -> None:
    figures = await two_users(target, 4.0)
    print(figures)
    assert figures["others_done"] > 0
    assert figures["first_token_ms_p50_beside"] < 3 * figures["first_token_ms_p50_alone"] + 30


async def test_an_interactive_user_is_served_while_a_prompt_file_fills_every_slot(target: Target) -> None:
    figures = await prompt_file(target, 4.0, num_lines=24)
    print(figures)
    assert figures["others_done"] > 0
    assert figures["first_token_ms_p50_beside"] < 3 * figures["first_token_ms_p50_alone"] + 30


async def test_cancelled_jobs_free_all_their_resources(target: Target) -> None:
    figures = await cancellations(target, 2000)
    print(figures)
    assert figures["blocks_lost"] == figures["slots_lost"] == 0
    assert figures["free_ms_p50"] < 50
    assert figures["free_ms_p99"] < 250
