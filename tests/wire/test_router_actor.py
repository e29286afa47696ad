"""The router actor over real sockets; the test is the worker and the clients, with real frames."""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from cactus_actors.protocol.messages import (
    Accepted,
    Cancel,
    ChatMessage,
    Fetch,
    Finished,
    Pending,
    Progress,
    Rejected,
    Replay,
    Resume,
    Status,
    StatusRequest,
    Submit,
)
from cactus_actors.protocol.wire import JSON, MSGPACK, Encoding, router_reply_decoder, stream_message_decoder
from cactus_actors.protocol.worker_messages import Abort, Dispatch, Finish
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.text.chat_prompt import ChatPrompt
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel
from tests.support.router.running_router import PATIENCE_MS, Peer, Service, Subscriber, serving, submit
from tests.support.router.scripted_router import until
from tests.support.router.worker_messages import make_delta, make_hello, report


def await_subscription(subscriber: Subscriber, worker: Peer, dispatch_id: int) -> int:
    """Generate tokens until the subscriber receives them; returns their number; it received all of them."""
    give_up_at = time.monotonic() + PATIENCE_MS / 1000
    for position in itertools.count():
        assert time.monotonic() < give_up_at, "the subscription never took effect"
        worker.send(report(make_delta(dispatch_id, position, "x"), num_accepted=1, num_running=1))
        if not subscriber.socket.poll(20):
            continue
        length = 0
        while length <= position:
            heard = subscriber.receive()
            length = heard.length if isinstance(heard, Progress) else heard.index + len(heard.token_ids)
        return length
    raise AssertionError


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
def test_a_job_runs_over_real_sockets(service: Service, encoding: Encoding) -> None:
    worker, client = service.worker(), service.client()
    subscriber = service.subscriber(job_id(1))
    client.send(submit(1), encoding)
    accepted = client.receive()
    assert isinstance(accepted, Accepted)
    assert accepted.prompt_tokens == 3
    dispatch = worker.receive(Dispatch)
    next_index = await_subscription(subscriber, worker, dispatch.dispatch_id)

    stop = Finish("stop", stop_match=2)
    worker.send(report(make_delta(dispatch.dispatch_id, next_index, "the end", finish=stop), num_accepted=1))
    frames = subscriber.receive_frames()
    assert frames[0] == job_id(1).encode()
    assert frames[1] == b"\x01" + encoding.encode()
    delta = stream_message_decoder().decode(frames[1:])
    assert (delta.index, delta.text) == (next_index, "the end")
    published = subscriber.receive()
    frames = client.receive_frames()
    assert frames[0] == b"\x01" + encoding.encode()
    finished = router_reply_decoder().decode(frames)
    assert isinstance(finished, Finished)
    assert published == finished
    assert finished.result.text == "x" * next_index + "the end"
    assert finished.length == next_index + 7

    client.send(Resume(job_id=job_id(1), next_index=0, credit=10_000), encoding)
    replay = client.receive()
    assert isinstance(replay, Replay)
    assert "".join(delta.text for delta in replay.deltas) == finished.result.text
    assert replay.finished == finished


def test_a_client_can_use_json(service: Service) -> None:
    worker, client = service.worker(), service.client()
    body = {"type": "submit", "job_id": job_id(2), "prompt": "hi", "options": {"temperature": 0, "seed": 5}}
    client.send_frames(b"\x01j", json.dumps(body).encode())
    header, payload = client.receive_frames()
    assert header == b"\x01j"
    assert json.loads(payload)["type"] == "accepted"
    dispatch = worker.receive(Dispatch)
    worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    finished = json.loads(client.receive_frames()[1])
    assert finished["type"] == "finished"
    assert finished["result"]["text"] == "yo"


def test_observers_get_each_ended_job() -> None:
    reports: list[JobReport] = []
    with serving(observers=[reports.append]) as service:
        worker, client = service.worker(), service.client()
        for number in (1, 2):
            client.send(submit(number))
        dispatch = worker.receive(Dispatch)
        worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
        client.receive(Finished)
        service.status()  # answered after all messages that arrived with the end
        assert [told.job_id for told in reports] == [job_id(1)]
        assert 0 < reports[0].total_s < 60
    assert [(told.job_id, told.error) for told in reports[1:]] == [(job_id(2), "unavailable_error")]


def test_a_subscription_matches_only_whole_job_ids(service: Service) -> None:
    """An empty or short topic would match all tokens."""
    worker, client = service.worker(), service.client()
    nosy = service.subscriber("", "0", job_id(1)[:31])
    listener = service.subscriber(job_id(1))
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    await_subscription(listener, worker, dispatch.dispatch_id)
    assert not nosy.socket.poll(100)


def test_a_subscription_ends_with_its_subscriber(service: Service) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    first, second = service.subscriber(job_id(1)), service.subscriber(job_id(1))
    await_subscription(first, worker, dispatch.dispatch_id)
    first.socket.close()
    second.receive()
    second.socket.close()
    asker = service.client()

    def num_topics() -> int:
        asker.send(StatusRequest())
        held: int = asker.receive(Status).held.topics
        return held

    until(lambda: num_topics() == 0)


def test_jobs_of_a_dead_worker_move_to_another(service: Service) -> None:
    first, client = service.worker(make_hello("w1")), service.client()
    client.send(submit(1))
    dispatch = first.receive(Dispatch)
    first.send(report(make_delta(dispatch.dispatch_id, 0, "abc"), num_accepted=1, num_running=1))
    client.send(Resume(job_id=job_id(1)))
    while client.receive(Replay).length < 3:
        client.send(Resume(job_id=job_id(1)))
    second = service.worker(make_hello("w2"))
    service.actor.worker_lost("w1")
    moved = second.receive(Dispatch)
    assert moved.emitted_ids == [97, 98, 99]
    second.send(report(make_delta(moved.dispatch_id, 3, "de", finish=Finish("length")), num_accepted=1))
    result = client.receive(Finished).result
    assert (result.text, result.attempts, result.worker) == ("abcde", 2, "w2")


def test_a_cancel_is_sent_to_the_worker(service: Service) -> None:
    worker, client, other = service.worker(), service.client(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    other.send(Cancel(job_id=job_id(1)))
    assert other.receive() == Pending(job_id=job_id(1), state="cancelled", length=0)
    assert worker.receive() == Abort(dispatch.dispatch_id)
    assert client.receive(Finished).result.finish_reason == "cancelled"


def test_a_disconnected_client_uses_no_memory(service: Service) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    client.socket.close()
    worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    reader = service.client()
    reader.send(Fetch(job_id=job_id(1)))
    assert reader.receive().result.text == "yo"


def test_a_vanished_worker_is_detected_by_its_silence() -> None:
    with serving(worker_timeout_s=2.0) as service:
        worker, client = service.worker(make_hello("w1")), service.client()
        client.send(submit(1))
        worker.receive(Dispatch)
        second = service.worker(make_hello("w2"))

        def is_given_work() -> bool:
            second.send(report())
            return bool(second.socket.poll(50))

        until(is_given_work)
        assert isinstance(second.receive(), Dispatch)
        assert [seen.worker_id for seen in service.status().workers] == ["w2"]


def test_a_worker_that_reports_is_alive_however_long_prompts_take() -> None:
    class SlowModel(LetterModel):
        def chat_prompt(self, messages: Sequence[Any], *_: Any, **__: Any) -> ChatPrompt:
            threading.Event().wait(0.1)
            return ChatPrompt([1])

    with serving(SlowModel(), worker_timeout_s=2.0) as service:
        worker, client = service.worker(), service.client()
        for number in range(30):
            client.send(Submit(job_id=job_id(number), messages=[ChatMessage(role="user", content="x")]))
        while client.receive(Accepted).job_id != job_id(29):
            worker.send(report())
        assert [seen.worker_id for seen in service.status().workers] == ["w1"]
        worker.send(report())
        while worker.socket.poll(100):
            assert isinstance(worker.receive(), Dispatch), "it was taken for dead"


def test_health_and_drain_work_from_other_threads(service: Service) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    assert not service.actor.drain(0.1)
    assert len(service.actor.health().ready_workers) == 1
    assert service.actor.health().num_unfinished == 1
    client.send(submit(2))
    assert isinstance(client.receive(Rejected).error.retry_after, float)
    worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    assert service.actor.drain(60.0)


def test_stopping_answers_waiting_clients() -> None:
    with serving() as service:
        client = service.client()
        client.send(submit(1))
        client.receive(Accepted)
        service.actor.stop()
        assert client.receive(Finished).result.error.type == "unavailable_error"
