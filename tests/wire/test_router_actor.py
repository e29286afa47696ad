"""The router actor over real sockets; the test plays the worker and the clients with real frames."""

from __future__ import annotations

import json
import pickle
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from cactus_actors.config import RouterSettings
from cactus_actors.protocol.errors import ConfigurationInvalid
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
from cactus_actors.protocol.wire import (
    JSON,
    MAX_MESSAGE_BYTES,
    MSGPACK,
    Encoding,
    encode,
    router_reply_decoder,
    stream_message_decoder,
)
from cactus_actors.protocol.worker_messages import (
    Abort,
    Dispatch,
    Finish,
    Report,
    SequenceDelta,
    Welcome,
)
from cactus_actors.router.actor import RouterActor
from cactus_actors.router.state.job_report import JobReport
from cactus_actors.text.chat_prompt import ChatPrompt
from tests.support.router.core_harness import LetterModel, job_id, make_delta, make_hello
from tests.support.router.running_router import (
    LOOPBACK,
    Peer,
    Service,
    Subscriber,
    serving,
    submit,
)
from tests.support.router.scripted_router import until


@pytest.fixture
def service() -> Iterator[Service]:
    with serving() as service:
        yield service


def report(*deltas: SequenceDelta, num_accepted: int = 0, num_running: int = 0) -> Report:
    return Report(num_accepted, 2 - num_running, 64, num_running, list(deltas))


def await_subscription(subscriber: Subscriber, worker: Peer, dispatch_id: int) -> int:
    """Generate tokens until the subscriber hears of them; returns how many, all of them heard of."""
    for position in range(1000):
        worker.send(report(make_delta(dispatch_id, position, "x"), num_accepted=1, num_running=1))
        if not subscriber.socket.poll(20):
            continue
        length = 0
        while length <= position:
            heard = subscriber.receive()
            length = heard.length if isinstance(heard, Progress) else heard.index + len(heard.token_ids)
        return length
    raise AssertionError("the subscription never took effect")


@pytest.mark.parametrize("encoding", [MSGPACK, JSON])
def test_a_job_over_real_sockets(service: Service, encoding: Encoding) -> None:
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


def test_json_is_enough_to_be_a_client(service: Service) -> None:
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


def test_those_who_keep_books_are_told_of_each_job_that_ended() -> None:
    reports: list[JobReport] = []
    with serving(observers=[reports.append]) as service:
        worker, client = service.worker(), service.client()
        for number in (1, 2):
            client.send(submit(number))
        dispatch = worker.receive(Dispatch)
        worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
        client.receive(Finished)
        service.status()  # answered after all that came with the end
        assert [told.job_id for told in reports] == [job_id(1)]
        assert 0 < reports[0].total_s < 10
    assert [(told.job_id, told.error) for told in reports[1:]] == [(job_id(2), "unavailable_error")]


def test_a_subscriber_hears_only_whole_job_ids(service: Service) -> None:
    """An empty or short topic would be everybody's tokens."""
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


def test_a_dead_workers_jobs_move_on(service: Service) -> None:
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


def test_cancel_reaches_the_worker(service: Service) -> None:
    worker, client, other = service.worker(), service.client(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    other.send(Cancel(job_id=job_id(1)))
    assert other.receive() == Pending(job_id=job_id(1), state="cancelled", length=0)
    assert worker.receive() == Abort(dispatch.dispatch_id)
    assert client.receive(Finished).result.finish_reason == "cancelled"


def test_a_client_that_left_costs_nothing(service: Service) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    client.socket.close()
    worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    reader = service.client()
    reader.send(Fetch(job_id=job_id(1)))
    assert reader.receive().result.text == "yo"


BAD_FRAMES: dict[str, tuple[Sequence[bytes], str]] = {
    "empty frame": ([b""], "invalid_message"),
    "one frame": ([b"\x01m"], "invalid_message"),
    "three frames": ([b"\x01m", b"\x80", b""], "invalid_message"),
    "a thousand frames": ([b"\x01m"] * 1000, "invalid_message"),
    "an HTTP request": ([b"GET / HTTP/1.1\r\n\r\n", b""], "unsupported_version"),
    "version 0": ([b"\x00m", b"\x80"], "unsupported_version"),
    "version 255": ([b"\xffm", b"\x80"], "unsupported_version"),
    "unknown encoding": ([b"\x01x", b"\x80"], "unsupported_version"),
    "unknown type": ([b"\x01j", b'{"type":"explode"}'], "invalid_message"),
    "no type": ([b"\x01j", b"{}"], "invalid_message"),
    "array of 4 G items": ([b"\x01m", b"\xdd\xff\xff\xff\xff"], "invalid_message"),
    "map of 4 G items": ([b"\x01m", b"\xdf\xff\xff\xff\xff"], "invalid_message"),
    "string of 4 G bytes": ([b"\x01m", b"\xdb\xff\xff\xff\xff"], "invalid_message"),
    "nested 10 k deep": ([b"\x01m", b"\x91" * 10_000], "invalid_message"),
    "JSON nested 100 k deep": (
        [b"\x01j", b'{"type":"submit","tools":' + b"[" * 100_000],
        "invalid_message",
    ),
    "not UTF-8": ([b"\x01m", b"\x81\xa4type\xa2\xff\xfe"], "invalid_message"),
    "pickle": ([b"\x01m", pickle.dumps({"type": "submit"})], "invalid_message"),
    "protobuf": ([b"\x01m", b"\x0a\x06submit\x12\x01x"], "invalid_message"),
    "an extension type": (
        [b"\x01m", msgspec.msgpack.encode({"type": "cancel", "job_id": msgspec.msgpack.Ext(1, b"x")})],
        "invalid_message",
    ),
    "an extension type where anything goes": (
        [
            b"\x01m",
            msgspec.msgpack.encode(
                {
                    "type": "submit",
                    "job_id": job_id(8),
                    "messages": [{"role": "user", "tool_calls": [msgspec.msgpack.Ext(1, b"x")]}],
                }
            ),
        ],
        "invalid_message",
    ),
    "nested deep where anything goes": (
        [b"\x01m", b"\x82\xa4type\xa6submit\xa5tools\x91\x81\xa1a" + b"\x91" * 100_000],
        "invalid_message",
    ),
    "gzip": ([b"\x01m", b"\x1f\x8b\x08\x00" + bytes(20)], "invalid_message"),
    "bin where str": (
        [b"\x01m", msgspec.msgpack.encode({"type": "cancel", "job_id": b"x"})],
        "invalid_message",
    ),
    "float where int": (
        [b"\x01j", b'{"type":"resume","job_id":"x","next_index":1.5}'],
        "invalid_message",
    ),
    "bool where int": (
        [b"\x01j", b'{"type":"resume","job_id":"x","next_index":true}'],
        "invalid_message",
    ),
    "trailing bytes": (
        [b"\x01m", msgspec.msgpack.encode({"type": "status"}) + b"\x00"],
        "invalid_message",
    ),
    "unknown field": ([b"\x01j", b'{"type":"status","colour":"red"}'], "invalid_message"),
    "missing field": ([b"\x01j", b'{"type":"cancel"}'], "invalid_message"),
    "unknown option": (
        [b"\x01j", b'{"type":"submit","job_id":"x","prompt":"x","options":{"temprature":1}}'],
        "invalid_message",
    ),
    "integer of 400 digits": (
        [
            b"\x01j",
            f'{{"type":"submit","job_id":"{job_id(8)}","prompt":[1{"0" * 400}]}}'.encode(),
        ],
        "invalid_request_error",
    ),
    "huge option": (
        [
            b"\x01j",
            f'{{"type":"submit","job_id":"{job_id(8)}","options":{{"seed":1{"0" * 300}}}}}'.encode(),
        ],
        "invalid_request_error",
    ),
    "bad job id": ([b"\x01j", b'{"type":"submit","job_id":"../x","prompt":"x"}'], "invalid_request_error"),
    "resume of nothing": ([b"\x01j", b'{"type":"resume","job_id":"x"}'], "not_found_error"),
    "cancel of nothing": ([b"\x01j", b'{"type":"cancel","job_id":"x"}'], "not_found_error"),
    "a worker's hello": (encode(make_hello()), "invalid_message"),
}


@pytest.mark.parametrize("name", BAD_FRAMES)
def test_bad_frames_are_rejected_and_change_nothing(service: Service, name: str) -> None:
    frames, kind = BAD_FRAMES[name]
    client, neighbour = service.client(), service.client()
    client.send_frames(*frames)
    rejected = client.receive()
    assert isinstance(rejected, Rejected)
    assert rejected.error.type == kind
    assert "Traceback" not in rejected.error.message
    neighbour.send(StatusRequest())
    status = neighbour.receive()
    assert (status.jobs.accepted, status.jobs.rejected, status.workers) == (0, 1, [])


class Canary:
    """Its pickle makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[Path]]:
        return Path.touch, (self.path,)


def test_pickles_are_not_executed(service: Service, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    client, worker = service.client(), service.worker()
    for header in (b"\x01m", b"\x01j"):
        client.send_frames(header, pickle.dumps(Canary(canary)))
        assert client.receive().error.type == "invalid_message"
        worker.socket.send_multipart([header, pickle.dumps(Canary(canary))])
    client.send(StatusRequest())
    assert isinstance(client.receive(), Status)
    assert not canary.exists()
    pickle.loads(pickle.dumps(Canary(canary)))
    assert canary.exists()


def test_an_error_names_the_field(service: Service) -> None:
    client = service.client()
    client.send_frames(b"\x01j", b'{"type":"submit","job_id":"x","prompt":"x","options":{"temprature":1}}')
    assert "temprature" in client.receive().error.message
    client.send_frames(b"\x01j", b'{"type":"submit","job_id":"x","prompt":"x","options":{"top_k":"many"}}')
    error = client.receive().error
    assert (error.param, error.message) == ("top_k", "top_k must be an integer or null, not a string")


@pytest.mark.parametrize(
    ("field", "value"), [("job_id", job_id(7)), ("request_id", "r7"), ("job_id", None), ("job_id", 5)]
)
def test_a_message_of_another_version_is_refused_by_its_name(service: Service, field: str, value: object) -> None:
    client = service.client()
    client.send_frames(b"\x01j", json.dumps({"type": "submit", field: value, "new": 1}).encode())
    rejected = client.receive(Rejected)
    assert getattr(rejected, field) == (value if isinstance(value, str) else None)


def test_an_oversized_frame_costs_its_sender_the_connection(service: Service) -> None:
    client = service.client()
    client.send_frames(b"\x01m", bytes(MAX_MESSAGE_BYTES + 100_000))
    assert client.is_silent(300)
    assert service.status().jobs.rejected == 0


def test_garbage_on_the_worker_socket_changes_nothing(service: Service) -> None:
    stranger = service.stranger()
    for frames in ([b""], [b"\x01m", b"\xc1"], [b"\x00m", b"\x90"], encode(StatusRequest())):
        stranger.send_frames(*frames)
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    assert isinstance(worker.receive(), Dispatch)
    stranger.send(report())
    assert isinstance(stranger.receive(), Welcome)  # "say Hello first"


@pytest.mark.parametrize("token_id", [10**40, 2**64 - 1])
def test_numbers_of_a_lying_worker_do_not_end_the_router(service: Service, token_id: int) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch_id = worker.receive(Dispatch).dispatch_id
    delta = f'[{dispatch_id},0,[{token_id}],"x",[0.5],[-0.5],0,["stop"]]'
    worker.send_frames(b"\x01j", f"[2,{token_id},{token_id},1,1,[{delta}],{token_id}]".encode())
    worker.send(report(make_delta(dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    client.receive(Accepted)
    assert client.receive(Finished).result.text == "yo"
    assert service.status().workers[0].tokens_generated == 0


def test_a_worker_that_vanishes_is_noticed_by_its_silence() -> None:
    with serving(worker_timeout_s=1.0) as service:
        worker, client = service.worker(make_hello("w1")), service.client()
        client.send(submit(1))
        worker.receive(Dispatch)
        second = service.worker(make_hello("w2"))
        for _ in range(100):
            second.send(report())
            if second.socket.poll(50):
                break
        assert isinstance(second.receive(), Dispatch)
        assert [seen.worker_id for seen in service.status().workers] == ["w2"]


def test_a_worker_that_reports_is_alive_however_long_prompts_take() -> None:
    class SlowModel(LetterModel):
        def chat_prompt(self, messages: Sequence[Any], *_: Any, **__: Any) -> ChatPrompt:
            threading.Event().wait(0.1)
            return ChatPrompt([1])

    with serving(SlowModel(), worker_timeout_s=0.5) as service:
        worker, client = service.worker(), service.client()
        for number in range(20):
            client.send(Submit(job_id=job_id(number), messages=[ChatMessage(role="user", content="x")]))
        while client.receive(Accepted).job_id != job_id(19):
            worker.send(report())
        assert [seen.worker_id for seen in service.status().workers] == ["w1"]
        worker.send(report())
        while worker.socket.poll(100):
            assert isinstance(worker.receive(), Dispatch), "it was taken for dead"


def test_a_busy_port_is_named(service: Service) -> None:
    busy = RouterActor(RouterSettings(**{**LOOPBACK, "jobs_endpoint": service.endpoints.jobs}), LetterModel())
    with pytest.raises(ConfigurationInvalid, match=service.endpoints.jobs):
        busy.start()


@pytest.mark.parametrize("endpoint", ["nonsense", "tcp://nowhere.invalid:1", "tcp://127.0.0.1:99999"])
def test_an_endpoint_that_cannot_be_is_named(endpoint: str) -> None:
    actor = RouterActor(RouterSettings(**{**LOOPBACK, "stream_endpoint": endpoint}), LetterModel())
    with pytest.raises(ConfigurationInvalid, match=endpoint):
        actor.start()


def test_a_model_that_is_not_there_is_named() -> None:
    actor = RouterActor(RouterSettings(**LOOPBACK, model="/no/such/model"))
    with pytest.raises(ConfigurationInvalid, match="/no/such/model"):
        actor.start()


def test_a_signal_that_the_model_does_not_have_is_named(tmp_path: Path) -> None:
    probe = {
        "bias": 0,
        "entropy_mean": 0,
        "entropy_max": 0,
        "surprise_mean": 0,
        "surprise_max": 0,
        "length": 0,
    }
    (tmp_path / "probe.json").write_text(json.dumps(probe))
    with pytest.raises(ConfigurationInvalid, match="no confidence probe"):
        RouterActor(RouterSettings(**LOOPBACK, confidence_signal="probe"), LetterModel()).start()
    with serving(confidence_signal="probe", probe_file=str(tmp_path / "probe.json")) as service:
        assert service.status().model == "letters"


def test_health_and_drain_from_other_threads(service: Service) -> None:
    worker, client = service.worker(), service.client()
    client.send(submit(1))
    dispatch = worker.receive(Dispatch)
    assert not service.actor.drain(0.1)
    assert len(service.actor.health().ready_workers) == 1
    assert service.actor.health().num_unfinished == 1
    client.send(submit(2))
    assert isinstance(client.receive(Rejected).error.retry_after, float)
    worker.send(report(make_delta(dispatch.dispatch_id, 0, "yo", finish=Finish("stop")), num_accepted=1))
    assert service.actor.drain(5.0)


def test_stopping_answers_those_who_wait() -> None:
    with serving() as service:
        client = service.client()
        client.send(submit(1))
        client.receive(Accepted)
        service.actor.stop()
        assert client.receive(Finished).result.error.type == "unavailable_error"
