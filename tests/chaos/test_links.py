"""Bad links in front of the router and of a worker: no accepted job is lost, duplicated or changed."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from cactus_actors.client import AsyncClient
from cactus_actors.config import RouterSettings
from tests.chaos.soak.stage import NUM_TOKENS, Stage, staged
from tests.chaos.soak.witness import Witness
from tests.support.processes.bad_link import Proxy, Way, proxied
from tests.support.processes.separate_actors import Processes
from tests.support.processes.waiting import Pauses, once_after, until, until_status

pytestmark = pytest.mark.chaos

NOTICED_WITHIN_S = 30.0  # after 3 to 4 s; the rest is allowance for a busy machine


@pytest.fixture(scope="module")
def processes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Processes]:
    processes = Processes(tmp_path_factory.mktemp("links"))
    yield processes
    processes.stop()


@pytest.fixture
async def stage(processes: Processes, tmp_path: Path) -> AsyncIterator[Stage]:
    async with staged(tmp_path, processes.jobs, processes.stream) as stage:
        yield stage


@asynccontextmanager
async def client_behind_proxies(processes: Processes, stage: Stage) -> AsyncIterator[tuple[Witness, Proxy, Proxy]]:
    """A recording client whose two connections to the router (jobs, stream) each go through a proxy."""
    async with (
        proxied(processes.jobs) as jobs,
        proxied(processes.stream) as stream,
        AsyncClient(jobs.endpoint, stream.endpoint, timeout=60.0) as client,
    ):
        yield stage.witness("behind", client), jobs, stream


@asynccontextmanager
async def worker_behind_proxy(directory: Path) -> AsyncIterator[tuple[Processes, Stage, Proxy]]:
    """A service whose only worker, "far", reaches its router through a proxy."""
    processes = Processes(directory, num_workers=0)
    try:
        async with (
            staged(directory, processes.jobs, processes.stream) as stage,
            proxied(processes.workers_endpoint) as link,
        ):
            processes.add_worker("far", endpoint=link.endpoint)
            yield processes, stage, link
    finally:
        processes.stop()


async def test_streams_survive_repeated_connection_resets(processes: Processes, stage: Stage) -> None:
    await stage.reference.complete(1)
    async with client_behind_proxies(processes, stage) as (witness, jobs, stream):
        resets = 0

        async def reset(length: int) -> None:
            nonlocal resets
            if length >= 50 * (resets + 1):
                resets += 1
                jobs.reset()
                stream.reset()

        result = await witness.stream(1, reset)
        assert result is not None
        assert resets >= 2
        assert stream.num_connections >= 2
    status = await stage.judge()
    assert status.jobs.redispatched == 0


async def test_streams_survive_segments_of_one_byte(processes: Processes, stage: Stage) -> None:
    await stage.reference.complete(2)
    async with client_behind_proxies(processes, stage) as (witness, jobs, stream):
        jobs.segment_bytes = stream.segment_bytes = 1
        await witness.stream(2)
        await witness.complete(2)
    await stage.judge()


async def test_streams_survive_a_link_with_high_latency_and_low_bandwidth(processes: Processes, stage: Stage) -> None:
    await stage.reference.complete(3)
    async with client_behind_proxies(processes, stage) as (witness, jobs, stream):
        jobs.delay_s = stream.delay_s = 0.15
        jobs.bytes_per_s = stream.bytes_per_s = 64_000 / 8
        await asyncio.gather(witness.stream(3), witness.stream(3), stage.reference.stream(3))
    await stage.judge()


async def test_an_unreachable_client_costs_nothing_and_resumes_later(processes: Processes, stage: Stage) -> None:
    """TCP reports no error on either side: the client must notice it by itself."""
    await stage.reference.complete(4)
    async with client_behind_proxies(processes, stage) as (witness, jobs, stream):

        def pull() -> None:
            jobs.hold()
            stream.hold()

        reading = asyncio.create_task(witness.stream(4, once_after(20, pull)))
        await until(lambda: stream.num_connections == 1 and not stream.is_open["back"].is_set())
        pulled_at = time.monotonic()
        await until(lambda: jobs.num_left["there"] >= 1 and stream.num_left["there"] >= 1)
        print(f"the client noticed after {time.monotonic() - pulled_at:.1f} s")
        assert time.monotonic() - pulled_at < NOTICED_WITHIN_S
        await stage.reference.complete(4)  # other clients continue
        jobs.release()
        stream.release()
        result = await reading
        assert result is not None
        assert len(result.token_ids) == NUM_TOKENS
    await stage.judge()


@pytest.mark.parametrize("way", ["there", "back"])
async def test_a_lost_submit_or_a_lost_reply_to_it_is_one_job(processes: Processes, stage: Stage, way: Way) -> None:
    await stage.reference.complete(5)
    before = (await stage.operator.status()).jobs
    async with client_behind_proxies(processes, stage) as (witness, jobs, _):
        for _ in range(3):
            await witness.stream(5)  # connects
            jobs.lose_once(way)
            await witness.complete(5)
            assert jobs.num_lost_bytes > 0
    after = (await stage.judge()).jobs
    assert after.accepted - before.accepted == 6
    assert after.finished - before.finished == 6


async def test_a_worker_survives_repeated_connection_resets(tmp_path: Path) -> None:
    """More often than a job may lose workers: the losses are not attributed to the job."""
    async with worker_behind_proxy(tmp_path) as (_, stage, link):
        await stage.reference.complete(7)
        resets = 0
        pauses = Pauses()

        async def reset(length: int) -> None:
            nonlocal resets
            pauses.note("reader")
            if length >= NUM_TOKENS // 6 * (resets + 1):
                resets += 1
                link.reset()

        result = await stage.witness("reader", stage.operator).stream(7, reset)
        assert result is not None
        print(f"the longest pause of the stream: {pauses.longest:.1f} s")
        assert resets > RouterSettings().max_attempts
        assert result.attempts > RouterSettings().max_attempts
        status = await stage.judge()
        assert status.jobs.failed == 0


async def test_a_result_lost_with_its_connection_is_read_again(processes: Processes, stage: Stage) -> None:
    await stage.reference.complete(7)
    async with client_behind_proxies(processes, stage) as (witness, jobs, _):
        for num_accepted in itertools.count((await stage.operator.status()).jobs.accepted + 1):
            ending = asyncio.create_task(witness.complete(7))
            await until_status(stage.operator, lambda status: status.jobs.accepted == num_accepted)  # noqa: B023
            await asyncio.sleep(0.1)  # its `accepted` has passed
            if not ending.done():
                break
        jobs.lose_once("back")
        await asyncio.wait_for(ending, 60.0)
        assert jobs.num_lost_bytes > 0
    status = await stage.judge()
    assert status.jobs.redispatched == 0


@pytest.mark.parametrize("ways", [(), ("there",), ("back",)], ids=["both ways", "to the router", "from it"])
async def test_an_unreachable_worker_is_detected_and_its_late_messages_are_ignored(
    tmp_path: Path, ways: tuple[Way, ...]
) -> None:
    """Nothing passes for three seconds and the job moves; afterwards the worker is a normal worker again."""
    async with worker_behind_proxy(tmp_path) as (processes, stage, link):
        await stage.reference.complete(6)
        processes.add_worker("near")  # it takes a second to load
        pauses = Pauses()

        def cut() -> None:
            link.hold(*ways)

        cut_once = once_after(20, cut)

        async def on_length(length: int) -> None:
            pauses.note("reader")
            await cut_once(length)

        result = await stage.witness("reader", stage.operator).stream(6, on_length)
        assert result is not None
        print(f"the longest pause of the stream: {pauses.longest:.1f} s")
        assert pauses.longest < NOTICED_WITHIN_S
        assert result.worker == "near"
        assert result.attempts == 2
        link.release()
        await until_status(stage.operator, lambda status: len(status.workers) == 2)
        await asyncio.gather(*(stage.reference.stream(6) for _ in range(4)))
        status = await stage.judge()
        assert status.jobs.failed == 0
