"""Client: the same answers as AsyncClient, without an event loop, a leaked thread or a lost interrupt."""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from cactus_actors import Client, InvalidRequest, Unavailable
from cactus_actors.protocol.messages import Cancel
from tests.support.router.scripted_router import ScriptedRouter, until


@pytest.fixture
def client(router: ScriptedRouter) -> Iterator[Client]:
    with Client(router.endpoint, router.stream_endpoint, timeout=30.0) as client:
        yield client


def test_every_method_works(client: Client) -> None:
    assert client.complete("hello", max_tokens=2).text == "hello w1"
    job_id = client.submit(messages=[{"role": "user", "content": "hi"}])
    assert client.result(job_id, timeout=60).text == "hi w1 w2 w3 w4"
    assert client.cancel(job_id) == "finished"
    assert client.status().jobs.accepted == 2
    assert client.scale(2) == 2


def test_a_stream_is_followed_by_its_result(client: Client) -> None:
    stream = client.stream("hello", seed=7)
    deltas = list(stream)
    assert [delta.index for delta in deltas] == [0, 1, 2, 3, 4]
    assert "".join(delta.text for delta in deltas) == stream.result().text == "hello w1 w2 w3 w4"
    assert list(stream) == []


def test_leaving_the_loop_of_a_stream_cancels_the_job(client: Client, router: ScriptedRouter) -> None:
    router.pauses_at = 1
    for _ in client.stream("hello"):
        break
    gc.collect()
    until(lambda: bool(router.received_of(Cancel)))


def test_a_closed_stream_cancels_the_job(client: Client, router: ScriptedRouter) -> None:
    router.pauses_at = 1
    with client.stream("hello") as stream:
        next(stream)
    until(lambda: bool(router.received_of(Cancel)))
    assert stream.result().finish_reason == "cancelled"


def test_one_client_for_many_threads(client: Client) -> None:
    with ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(lambda number: client.complete(f"job {number}").text, range(64)))
    assert texts == [f"job {number} w1 w2 w3 w4" for number in range(64)]


def test_errors_are_raised_by_the_call(client: Client) -> None:
    with pytest.raises(InvalidRequest, match="did you mean"):
        client.complete("hello", max_token=3)
    with pytest.raises(InvalidRequest):
        client.stream()


def test_close_ends_the_thread_and_waiting_calls(router: ScriptedRouter) -> None:
    others = set(threading.enumerate())
    router.pauses_at = 0
    client = Client(router.endpoint, router.stream_endpoint)
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.complete, "hello")
        until(lambda: bool(router.received))
        client.close()
        with pytest.raises(Unavailable, match="closed"):
            waiting.result(60)
    assert "cactus-client" not in [thread.name for thread in set(threading.enumerate()) - others]
    client.close()
    with pytest.raises(Unavailable, match="closed"):
        client.complete("hello")


def test_closing_in_many_threads_during_calls_leaves_no_call_waiting(router: ScriptedRouter) -> None:
    for _ in range(20):
        client = Client(router.endpoint, router.stream_endpoint, timeout=30.0)
        start = threading.Barrier(8)

        def close(client: Client = client, start: threading.Barrier = start) -> None:
            start.wait()
            client.close()

        def ask(client: Client = client, start: threading.Barrier = start) -> None:
            start.wait()
            with contextlib.suppress(Unavailable):
                client.status()

        threads = [threading.Thread(target=target, daemon=True) for target in [close, ask] * 4]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
