"""Limits per connection at a router that requires no key."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
import zmq

from cactus_actors.client import AsyncClient
from cactus_actors.protocol.messages import Accepted, Status, StatusRequest, Submit
from cactus_actors.protocol.tcp_keepalive import MAX_TOPICS
from cactus_actors.protocol.wire import encode, router_reply_decoder
from cactus_actors.protocol.worker_messages import Dispatch, Finish, Report
from cactus_actors.router.edge.edge_process import EdgeLimits
from tests.support.router.core_harness import job_id
from tests.support.router.running_router import PATIENCE_MS, Service, serving
from tests.support.router.scripted_router import until
from tests.support.router.worker_messages import make_delta, make_hello


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


def status_of(service: Service) -> Status:
    client = service.client()
    client.send(StatusRequest())
    status: Status = client.receive(Status)
    return status


def num_subscriptions(service: Service) -> int:
    return len(list(service.actor.core.state.topics))


def test_each_connection_can_subscribe_to_a_limited_number_of_streams(service: Service) -> None:
    topics = [job_id(number) for number in range(1, MAX_TOPICS + 45)]
    crowd = service.subscriber(*topics)
    until(lambda: status_of(service).refused.get("too_many_subscriptions") == 44)
    service.subscriber(*topics[-44:])
    until(lambda: num_subscriptions(service) == MAX_TOPICS + 44)
    for topic in topics[:10]:
        crowd.socket.unsubscribe(topic)
    crowd.socket.subscribe(job_id(9999))
    until(lambda: num_subscriptions(service) == MAX_TOPICS + 44 - 10 + 1)
    assert status_of(service).refused == {"too_many_subscriptions": 44}


async def test_a_client_can_read_more_streams_than_the_limit_of_a_connection(service: Service) -> None:
    num_jobs = MAX_TOPICS + 10
    async with AsyncClient(service.endpoints.jobs, service.endpoints.stream) as client:
        streams = [client.stream("x") for _ in range(num_jobs)]
        for stream in streams:
            await stream
        await asyncio.to_thread(until, lambda: num_subscriptions(service) == num_jobs)
        for stream in streams:
            await stream.close()
    assert status_of(service).refused == {}


def test_the_second_connection_with_the_same_identity_gets_no_reply(service: Service) -> None:
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    first, second = context.socket(zmq.DEALER), context.socket(zmq.DEALER)
    decoder = router_reply_decoder()
    for number, socket in enumerate((first, second), 1):
        socket.linger = 0
        socket.setsockopt(zmq.ROUTING_ID, b"the same")
        socket.connect(service.endpoints.jobs)
        socket.send_multipart(encode(Submit(job_id=job_id(number), prompt="x")))
        if socket is first:
            assert socket.poll(PATIENCE_MS)
            assert isinstance(decoder.decode(socket.recv_multipart()), Accepted)
    assert not second.poll(200)
    worker = service.stranger()
    worker.send(make_hello())
    dispatch = worker.receive(Dispatch)
    assert dispatch.job_id == job_id(1)
    delta = make_delta(dispatch.dispatch_id, 0, "hello", finish=Finish("stop"))
    worker.send(Report(1, 2, 64, 0, [delta]))
    assert first.poll(PATIENCE_MS)
    assert decoder.decode(first.recv_multipart()).job_id == job_id(1)
    assert not second.poll(200)
    first.close()
    second.close()
    context.term()


async def test_tokens_lost_by_a_slow_subscriber_are_replayed() -> None:
    num_jobs, num_tokens = 200, 20
    with serving(edge_limits=EdgeLimits(max_unread=10, send_buffer=4096)) as service:
        async with AsyncClient(service.endpoints.jobs, service.endpoints.stream) as client:
            streams = [client.stream("x", max_tokens=num_tokens) for _ in range(num_jobs)]
            for stream in streams:
                await stream
            await asyncio.to_thread(until, lambda: num_subscriptions(service) == num_jobs)
            worker = service.stranger()
            worker.send(make_hello(num_slots=num_jobs, num_blocks=2 * num_jobs))
            dispatches = [await asyncio.to_thread(worker.receive, Dispatch) for _ in streams]
            for position in range(num_tokens):
                deltas = [make_delta(dispatch.dispatch_id, position, "abcd"[position % 4]) for dispatch in dispatches]
                worker.send(Report(num_jobs, 0, 64, num_jobs, deltas))
            for stream in streams:
                indices: list[int] = []
                while len(indices) < num_tokens:
                    told = await anext(stream)
                    indices += range(told.index, told.index + len(told.token_ids))
                assert indices == list(range(num_tokens))
            finish = Finish("length")
            ends = [make_delta(it.dispatch_id, num_tokens, "", finish=finish) for it in dispatches]
            worker.send(Report(num_jobs, num_jobs, 64, 0, ends))
            assert {(await stream.result()).text for stream in streams} == {"abcd" * (num_tokens // 4)}
            totals = (await client.status(with_totals=True)).totals
    assert totals is not None
    assert totals.stream_gaps > 0
