"""The clients and the real router together; the test is the worker."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator

import pytest

from cactus_actors import AsyncClient, Client, JobNotFound
from tests.support.router.echo_worker import EchoWorker
from tests.support.router.scripted_router import until

ROUTER = """
import sys
from cactus_actors.config import RouterSettings
from cactus_actors.router.actor import RouterActor
from tests.support.router.letter_model import LetterModel
names = ("jobs_endpoint", "stream_endpoint", "workers_endpoint")
actor = RouterActor(RouterSettings(**dict(zip(names, sys.argv[1:]))), LetterModel())
endpoints = actor.start()
print(endpoints.jobs, endpoints.stream, endpoints.workers, flush=True)
actor.run()
"""


class Service:
    """A router in a process of its own, which can be killed and started again, and one worker."""

    def __init__(self) -> None:
        self._endpoints = ["tcp://127.0.0.1:*"] * 3
        self.start_router()
        self._worker = EchoWorker(self._endpoints[2], step_s=0.01)
        self._worker.__enter__()

    def start_router(self) -> None:
        self._router = subprocess.Popen(
            [sys.executable, "-c", ROUTER, *self._endpoints], stdout=subprocess.PIPE, text=True
        )
        assert self._router.stdout is not None
        self._endpoints = self._router.stdout.readline().split()
        assert len(self._endpoints) == 3

    def kill_router(self) -> None:
        self._router.kill()
        self._router.communicate()

    def stop(self) -> None:
        self._worker.__exit__()
        self.kill_router()

    def client(self) -> Client:
        jobs, stream, _ = self._endpoints
        return Client(jobs, stream, timeout=30)

    def async_client(self) -> AsyncClient:
        jobs, stream, _ = self._endpoints
        return AsyncClient(jobs, stream, timeout=30)


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.stop()


def test_stream_and_result_are_the_same(service: Service) -> None:
    with service.client() as client:
        stream = client.stream("abc", max_tokens=30)
        deltas = list(stream)
        assert "".join(delta.text for delta in deltas) == stream.result().text
        assert [token for delta in deltas for token in delta.token_ids] == stream.result().token_ids
        assert len(stream.result().token_ids) == 30
        assert client.complete("abc", max_tokens=30, seed=1).text == stream.result().text


def test_more_jobs_than_slots(service: Service) -> None:
    with service.client() as client:
        ids = [client.submit(f"job {number}", max_tokens=5) for number in range(20)]
        assert len({client.result(job_id, timeout=60).text for job_id in ids}) == 1  # "\1job " begins each
        jobs = client.status().jobs
        assert (jobs.accepted, jobs.finished) == (20, 20)


def test_another_client_reads_the_result(service: Service) -> None:
    with service.client() as client, service.client() as other:
        job_id = client.submit("abc", max_tokens=50)
        assert other.result(job_id, timeout=60) == client.result(job_id, timeout=60)
        with pytest.raises(JobNotFound):
            other.result("0" * 32)


def test_closing_a_stream_cancels_the_job_in_the_router(service: Service) -> None:
    with service.client() as client:
        with client.stream("abc", max_tokens=4000) as stream:
            next(stream)
        until(lambda: client.status().jobs.cancelled == 1)


def test_a_cancelled_job_has_a_cancelled_result(service: Service) -> None:
    with service.client() as client:
        job_id = client.submit("abc", max_tokens=4000)
        assert client.cancel(job_id) == "cancelled"
        assert client.result(job_id, timeout=60).finish_reason == "cancelled"


async def test_a_client_that_stays_keeps_no_subscription_of_ended_and_cancelled_streams(service: Service) -> None:
    async with service.async_client() as client:

        async def read(job_id: str) -> str:
            return "".join([delta.text async for delta in client.stream("abc", job_id=job_id, seed=1, max_tokens=30)])

        assert len({*await asyncio.gather(read("a" * 32), read("a" * 32))}) == 1  # one job, followed twice at once
        for _ in range(20):
            stream = client.stream("abc", max_tokens=4000)
            reading = asyncio.create_task(anext(stream))
            await asyncio.sleep(0.001)
            await client.cancel(stream.job_id)
            await asyncio.gather(reading, return_exceptions=True)
        with service.client() as other:
            await asyncio.to_thread(until, lambda: other.status().held.topics == 0)


def test_the_same_submit_again_is_the_same_job(service: Service) -> None:
    with service.client() as client, service.client() as other:
        job_id = "ab" * 16
        first = client.complete("abc", job_id=job_id, max_tokens=4)
        assert other.complete("abc", job_id=job_id, max_tokens=4) == first
        assert client.status().jobs.accepted == 1


def test_streams_and_results_continue_after_kills_of_the_router(service: Service) -> None:
    with service.client() as client:
        stream = client.stream("abc", max_tokens=60)
        waiting = client.submit("abc", max_tokens=60)
        deltas = []
        for delta in stream:
            deltas.append(delta)
            if len(deltas) in (5, 20):
                service.kill_router()
                service.start_router()
        indices = [delta.index + place for delta in deltas for place in range(len(delta.token_ids))]
        assert indices == [*range(60)]
        assert "".join(delta.text for delta in deltas) == stream.result().text
        assert client.result(waiting, timeout=30).text == stream.result().text
