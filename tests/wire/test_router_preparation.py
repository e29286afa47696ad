"""Requests are prepared outside the router's loop, in a process that may fail without harm."""

from __future__ import annotations

import errno
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from cactus_actors.models.catalog import resolve_model
from cactus_actors.protocol.errors import CactusError, RequestTooComplex, ServerFailure, Unavailable
from cactus_actors.protocol.messages import Accepted, ChatMessage, Rejected, Status, StatusRequest, Submit
from cactus_actors.protocol.options import Options
from cactus_actors.protocol.wire import encode
from cactus_actors.router.effects import PrepareRequest
from cactus_actors.router.preparation.preparation_pool import PreparationPool
from cactus_actors.router.preparation.prepare_request import prepare
from cactus_actors.router.preparation.preparer import Outcome, outcome_of
from cactus_actors.router.preparation.preparer_child import limit_memory
from cactus_actors.router.preparation.preparer_frames import EncodedRequest, PreparerModel
from cactus_actors.router.preparation.preparer_process import MAX_STARTS, PreparerProcess
from cactus_actors.text import load_text_model
from tests.support.router.core_harness import job_id
from tests.support.router.letter_model import LetterModel, LetterTokenizer
from tests.support.router.running_router import serving

TOOL = {
    "name": "weather",
    "description": "the weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
ASK = [ChatMessage(role="user", content="Is it raining in Rome?")]
REQUESTS = [
    Submit(job_id=job_id(1), prompt="Once upon a time", options=Options(seed=1)),
    Submit(job_id=job_id(2), prompt=["Once", 7, 9], options=Options(seed=1, logprobs=3, echo=True)),
    Submit(job_id=job_id(3), messages=ASK, options=Options(seed=1, logit_bias={"5": -100}, stop=["\n"])),
    Submit(job_id=job_id(4), messages=ASK, tools=[TOOL], options=Options(seed=1, force_tools=True)),
    Submit(job_id=job_id(5), prompt="x", options=Options(seed=1, json_schema={"type": "object"})),
    Submit(job_id=job_id(6), prompt="x", task="embed", options=Options(seed=1)),
]
REFUSED = [
    Submit(job_id=job_id(1)),
    Submit(job_id=job_id(2), prompt="x", options=Options(temperature=9.0)),
    Submit(job_id=job_id(3), prompt="word " * 10_000),
    Submit(job_id=job_id(4), prompt="x", options=Options(json_schema={"type": "nothing"})),
]


@pytest.fixture(scope="module")
def process() -> Iterator[PreparerProcess]:
    process = PreparerProcess(PreparerModel(str(resolve_model("cactus-sprout"))))
    yield process
    process.close()


def _comparable(outcome: Outcome) -> Any:
    return outcome.info() if isinstance(outcome, CactusError) else outcome


def outcome(work: Any, submit: Submit) -> Any:
    try:
        return work(submit)
    except CactusError as error:
        return error.info()


@pytest.mark.parametrize("submit", [*REQUESTS, *REFUSED])
def test_the_preparation_process_gives_the_same_result(process: PreparerProcess, submit: Submit) -> None:
    model = load_text_model(resolve_model("cactus-sprout"))
    expected = outcome(lambda one: prepare(one, model), submit)
    assert outcome(lambda one: process.prepare(msgspec.msgpack.encode(one)), submit) == expected


def test_requests_that_are_prepared_together_have_the_results_of_each_alone(process: PreparerProcess) -> None:
    requests = [EncodedRequest(msgspec.Raw(msgspec.msgpack.encode(one))) for one in (*REQUESTS, *REFUSED)]
    alone = [outcome_of(process, request) for request in requests]
    together = process.prepare_together(requests)
    for one, other in zip(together, alone, strict=True):
        assert _comparable(one) == _comparable(other)
    assert not any(isinstance(one, CactusError) for one in together[: len(REQUESTS)])


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no scheduling class for batch work")
def test_a_preparation_process_interrupts_no_other_after_background_requests(process: PreparerProcess) -> None:
    def scheduling_after(*priorities: int) -> int:
        submits = [Submit(job_id=job_id(1), prompt="x", options=Options(priority=priority)) for priority in priorities]
        process.prepare_together([EncodedRequest(msgspec.Raw(msgspec.msgpack.encode(submit))) for submit in submits])
        assert process.pid is not None
        return os.sched_getscheduler(process.pid)

    assert scheduling_after(10, 10) == os.SCHED_BATCH
    assert scheduling_after(10, 0) == os.SCHED_OTHER
    assert scheduling_after(10) == os.SCHED_BATCH
    assert scheduling_after(0) == os.SCHED_OTHER


def test_a_killed_preparation_process_fails_no_request(process: PreparerProcess) -> None:
    before = process.prepare(msgspec.msgpack.encode(REQUESTS[0]))
    old = process.pid
    assert old is not None
    os.kill(old, signal.SIGKILL)
    assert process.prepare(msgspec.msgpack.encode(REQUESTS[0])) == before
    assert process.pid != old


def test_a_process_killed_during_its_start_is_started_again() -> None:
    process = PreparerProcess(PreparerModel(str(resolve_model("cactus-sprout"))))
    killed: list[int] = []
    is_over = threading.Event()

    def kill_the_first() -> None:
        while len(killed) < MAX_STARTS - 1 and not is_over.wait(0.001):
            pid = process.pid
            if pid is not None and pid not in killed:
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)

    killer = threading.Thread(target=kill_the_first)
    killer.start()
    try:
        assert process.prepare(msgspec.msgpack.encode(REQUESTS[0])).prompt_ids
        assert len(killed) == MAX_STARTS - 1
    finally:
        is_over.set()
        killer.join()
        process.close()


def test_a_process_that_never_starts_does_not_fail_the_request(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/bin/false")
    process = PreparerProcess(PreparerModel(str(resolve_model("cactus-sprout"))))
    with pytest.raises(Unavailable) as refused:
        process.prepare(msgspec.msgpack.encode(REQUESTS[0]))
    assert refused.value.retry_after
    process.close()


def test_a_killed_process_is_replaced_before_the_next_request(process: PreparerProcess) -> None:
    process.make_ready()
    old = process.pid
    assert old is not None
    os.kill(old, signal.SIGKILL)
    os.waitid(os.P_PID, old, os.WEXITED | os.WNOWAIT)
    process.make_ready()
    assert process.pid not in (None, old)


def test_a_process_that_cannot_start_fails_only_its_request(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    process = PreparerProcess(PreparerModel(str(resolve_model("cactus-sprout"))))
    answers: queue.SimpleQueue[tuple[str, Outcome]] = queue.SimpleQueue()
    with monkeypatch.context() as patch:
        patch.setattr(subprocess, "Popen", fail)
        lanes = PreparationPool(process, process, lambda outcomes: answers.put(outcomes[0]))
        content = encode(REQUESTS[0])[1]
        lanes.add(PrepareRequest(job_id(1), content))
        assert isinstance(answers.get(timeout=60.0)[1], ServerFailure)
    lanes.add(PrepareRequest(job_id(2), content))
    name, outcome = answers.get(timeout=60.0)
    process.close()
    lanes.close()
    assert name == job_id(2)
    assert not isinstance(outcome, CactusError)


def test_a_slow_request_is_refused_and_the_next_one_succeeds() -> None:
    process = PreparerProcess(PreparerModel(str(resolve_model("cactus-sprout"))), limit_s=3.0)
    try:
        process.prepare(msgspec.msgpack.encode(REQUESTS[0]))
        assert process.pid is not None
        os.kill(process.pid, signal.SIGSTOP)
        began = time.monotonic()
        with pytest.raises(RequestTooComplex, match="longer than it may"):
            process.prepare(msgspec.msgpack.encode(REQUESTS[0]))
        assert time.monotonic() - began < 60.0
        assert process.prepare(msgspec.msgpack.encode(REQUESTS[0])).prompt_ids
    finally:
        process.close()


def test_a_suspended_process_restarts_when_needed() -> None:
    process = PreparerProcess(PreparerModel(str(resolve_model("cactus-sprout"))))
    try:
        assert process.pid is None
        process.make_ready()
        first = process.pid
        assert process.prepare(msgspec.msgpack.encode(REQUESTS[0])).prompt_ids
        assert process.pid == first
        process.rest()
        assert process.pid is None
        assert process.prepare(msgspec.msgpack.encode(REQUESTS[0])).prompt_ids
    finally:
        process.close()


def test_memory_is_bounded() -> None:
    pid = os.fork()
    if pid == 0:  # the limit applies to the rest of a process's life
        try:
            limit_memory(64 << 20)
            bytearray(256 << 20)
        except MemoryError:
            os._exit(7)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


class SlowTokenizer(LetterTokenizer):
    def __init__(self) -> None:
        super().__init__()
        self.may_end = threading.Event()

    def encode(self, text: str, *, add_special: bool, parse_special: bool = True) -> list[int]:
        if text == "held":
            assert self.may_end.wait(60)
        time.sleep(0.05 if text != "slow" else 1.5)
        return super().encode(text, add_special=add_special, parse_special=parse_special)


class SlowModel(LetterModel):
    def __init__(self) -> None:
        super().__init__()
        self.tokenizer: SlowTokenizer = SlowTokenizer()


def test_the_router_answers_while_a_request_is_being_prepared() -> None:
    model = SlowModel()
    with serving(model) as service:
        client, other = service.client(), service.client()
        client.send(Submit(job_id=job_id(1), prompt="held"))
        client.send(Submit(job_id=job_id(2), prompt=""))
        other.send(StatusRequest(request_id="r"))
        assert isinstance(other.receive(), Status)
        assert client.is_silent()
        model.tokenizer.may_end.set()
        assert isinstance(client.receive(), Accepted | Rejected)


def test_a_single_request_does_not_wait_for_many_of_another_client() -> None:
    with serving(SlowModel()) as service:
        client, other = service.client(), service.client()
        client.send(Submit(job_id=job_id(1), prompt="slow", options=Options(user="busy")))
        for number in range(2, 12):
            client.send(Submit(job_id=job_id(number), prompt="x", options=Options(user="busy")))
        other.send(Submit(job_id=job_id(99), prompt="x", options=Options(user="rare")))
        assert isinstance(client.receive(), Accepted)
        assert isinstance(other.receive(), Accepted)
        status = StatusRequest(request_id="r")
        other.send(status)
        answer = other.receive()
        assert isinstance(answer, Status)
        assert answer.jobs.queued < 8  # most requests of the busy client are not prepared yet
