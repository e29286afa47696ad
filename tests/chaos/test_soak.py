"""A short soak, and proof that its checker finds violations."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.chaos.soak.checker import violations
from tests.chaos.soak.history import Event, read
from tests.chaos.soak.running import soak

SECONDS = 30.0


@pytest.mark.chaos
async def test_every_guarantee_holds_under_random_faults(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    events = list(read(await soak(tmp_path, seconds=SECONDS, seed=seed, fault_every_s=2.0)))
    assert sum(event["kind"] == "fault" for event in events) >= 3
    assert sum(event["kind"] == "ok" for event in events) >= 50
    assert violations(events) == []


def good_history() -> list[Event]:
    """Two readers of one job, a job of the same request, and a cancelled one."""
    whole = {"tokens": [1, 2, 3], "text": "abc", "finish": "length"}
    worker = {
        "worker_id": "w",
        "kind": "local",
        "num_running": 0,
        "free_slots": 4,
        "num_slots": 4,
        "free_blocks": 9,
        "num_blocks": 9,
    }
    jobs = {"queued": 0, "running": 0, "accepted": 3, "finished": 2, "failed": 0, "cancelled": 1}
    events: list[Event] = [
        {"kind": "invoke", "job": "a", "key": "1"},
        {"kind": "delta", "job": "a", "reader": "r", "index": 0, "tokens": [1], "text": "a"},
        {"kind": "fault", "name": "kill worker"},
        {"kind": "delta", "job": "a", "reader": "r", "index": 1, "tokens": [2, 3], "text": "bc"},
        {"kind": "ok", "job": "a", "reader": "r", **whole},
        {"kind": "invoke", "job": "b", "key": "1"},
        {"kind": "ok", "job": "b", "reader": "s", **whole},
        {"kind": "ok", "job": "b", "reader": "s", **whole},
        {"kind": "invoke", "job": "c", "key": "1"},
        {"kind": "cancel", "job": "c"},
        {"kind": "ok", "job": "c", "reader": "s", "tokens": [1], "text": "a", "finish": "cancelled"},
        {
            "kind": "status",
            "jobs": jobs,
            "workers": [worker],
            "desired_workers": 1,
            "held": {"dispatches": 0, "ended_jobs": 3},
        },
        {"kind": "file", "file": 1, "keys": ["1"]},
        {"kind": "line", "file": 1, "key": "1", "text": "abc"},
        {"kind": "file", "file": 2, "keys": ["1"]},
        {"kind": "line", "file": 2, "key": "1", "text": "abc"},
        {"kind": "sse begun", "stream": "s", "key": "1", "reader": "h"},
        {"kind": "sse", "stream": "s", "key": "1", "text": "abc"},
        {"kind": "sse begun", "stream": "t", "key": "1", "reader": "h"},
        {"kind": "sse", "stream": "t", "key": "1", "text": "abc"},
        {"kind": "fail", "job": "b", "reader": "s", "error": "unavailable_error", "message": "no answer"},
    ]
    return [{"at": float(at), **event} for at, event in enumerate(events)]


def without(index: int) -> Callable[[list[Event]], Any]:
    return lambda events: events.pop(index)


def with_fields(at: int, /, **fields: Any) -> Callable[[list[Event]], Any]:
    return lambda events: events[at].update(fields)


FAILED = {"kind": "fail", "error": "server_error", "message": "?"}
POISONED = {"kind": "fail", "error": "poison_job", "message": "?"}


def test_a_good_history_has_no_violation() -> None:
    assert violations(good_history()) == []


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (without(4), "never ended"),
        (without(1), "was shown item 1 after 0 items"),
        (without(3), "is not the whole result"),
        (with_fields(3, index=0), "was shown item 0 after 1 items"),
        (with_fields(3, tokens=[2, 9]), "does not begin with"),
        (with_fields(3, text="bd"), "does not begin with"),
        (with_fields(6, tokens=[1, 2, 4]), "ended in 2 ways"),
        (with_fields(20, error="poison_job"), "ended in 2 ways"),
        (lambda events: [with_fields(n, tokens=[1, 2, 4])(events) for n in (6, 7)], "different tokens"),
        (with_fields(4, **FAILED), "failed with server_error"),
        (with_fields(4, **POISONED), "failed with poison_job"),
        (with_fields(11, jobs={**good_history()[11]["jobs"], "accepted": 4}), "do not add up"),
        (with_fields(11, jobs={**good_history()[11]["jobs"], "running": 1}), "left at the end"),
        (with_fields(11, workers=[{**good_history()[11]["workers"][0], "free_blocks": 8}]), "leaks"),
        (with_fields(11, workers=[{**good_history()[11]["workers"][0], "free_slots": 3}]), "still runs"),
        (with_fields(11, held={"dispatches": 9, "ended_jobs": 3}), "holds at the end: {'dispatches': 9}"),
        (with_fields(11, workers=[]), "0 of 1 wished workers"),
        (with_fields(20, at=90.0), "was not answered for 85 s"),
        (without(11), "no status"),
        (without(13), "has answers [] to its lines ['1']"),
        (lambda events: events.append(events[13]), "has answers ['1', '1'] to its lines"),
        (with_fields(15, text="abd"), "a line of request 1 has another text"),
        (with_fields(15, error="server_error"), "a line of request 1 failed with server_error"),
        (with_fields(15, error="poison_job"), "a line of request 1 failed with poison_job"),
        (with_fields(19, error="poison_job"), "a stream of request 1 failed with poison_job"),
        (without(17), "stream s of h never ended"),
        (with_fields(19, text="ab"), "a stream of request 1 has another text"),
        (with_fields(19, error="server_error"), "a stream of request 1 failed with server_error"),
    ],
)
def test_a_history_with_an_error_has_a_violation(spoil: Callable[[list[Event]], Any], complaint: str) -> None:
    events = copy.deepcopy(good_history())
    spoil(events)
    assert any(complaint in text for text in violations(events)), violations(events)


def memory(*sizes: float, actor: str = "RouterActor", pid: int = 7) -> list[Event]:
    """A process with these MiB, measured every five seconds."""
    fields = {"kind": "memory", "actor": actor, "pid": pid}
    return [{"at": 5.0 * number, **fields, "mib": mib} for number, mib in enumerate(sizes)]


WARMING_UP = [60.0, 90.0, 120.0, 130.0, 135.0, 138.0]
STEADY = [140.0 + number % 5 for number in range(60)]


@pytest.mark.parametrize(
    "events",
    [
        memory(*WARMING_UP, *STEADY),
        memory(*WARMING_UP, *STEADY[:20], 400.0, 390.0, *STEADY[20:]),  # a flood, whose memory is given back
        memory(*STEADY[:30], 330.0, 340.0),  # one that was killed during a flood
        memory(*STEADY[:30]) + memory(*(mib + 60.0 for mib in STEADY[:30]), pid=8),
        memory(100.0, 300.0),  # too short to judge
    ],
)
def test_temporary_memory_use_is_not_a_violation(events: list[Event]) -> None:
    assert violations(good_history() + events) == []


def test_a_router_may_use_more_memory_for_its_known_jobs() -> None:
    events = memory(*WARMING_UP, *(140.0 + number for number in range(90)))
    jobs = [
        {"kind": kind, "at": 1.0, "stream": number, "key": "1", "reader": "h", "text": "abc"}
        for number in range(30_000)
        for kind in ("sse begun", "sse")
    ]
    assert violations(good_history() + jobs + events) == []


@pytest.mark.parametrize(
    ("events", "complaint"),
    [
        (memory(*(100.0 * 1.12**number for number in range(61))), "grew by"),
        (memory(*(100.0 * 1.12**number for number in range(61))), "more than 512"),
        (memory(*WARMING_UP, *(140.0 + number for number in range(90))), "RouterActor 7 grew by 60 MiB"),
        (memory(*STEADY) + memory(*(140.0 + 3 * n for n in range(40)), pid=8), "RouterActor 8 grew by"),
        (memory(*(140.0 + n for n in range(60)), actor="WorkerActor"), "WorkerActor 7 grew by"),
        (memory(200.0, 900.0, actor="WorkerActor"), "WorkerActor 7 took 900 MiB, more than 768"),
        (memory(200.0, 400.0, actor="GatewayActor"), "GatewayActor 7 took 400 MiB, more than 384"),
    ],
)
def test_growing_memory_is_a_violation(events: list[Event], complaint: str) -> None:
    found = violations(good_history() + events)
    assert any(complaint in text for text in found), found


def test_a_fault_that_ends_no_worker_does_not_excuse_a_poison_job() -> None:
    events = good_history()
    events[4] = {**events[4], **POISONED}
    lost = [{"at": 0.5 + number / 8, "kind": "fault", "name": "hold workers"} for number in range(3)]
    assert violations(events + lost) == []
    reset = [{**fault, "name": "reset workers"} for fault in lost]
    assert violations(events + reset) == ["job a failed with poison_job: ?"]
