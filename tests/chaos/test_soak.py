"""A short soak, and proof that its checker sees what it is there to see."""

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
async def test_every_promise_holds_under_random_faults(tmp_path: Path) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    events = list(read(await soak(tmp_path, seconds=SECONDS, seed=seed, fault_every_s=4.0)))
    assert sum(event["kind"] == "fault" for event in events) >= 4
    assert sum(event["kind"] == "ok" for event in events) >= 50
    assert violations(events) == []


@pytest.mark.chaos
async def test_without_a_journal_the_checker_misses_what_a_dead_router_forgot(tmp_path: Path) -> None:
    path = await soak(
        tmp_path,
        seconds=15.0,
        seed=1,
        fault_every_s=4.0,
        faults=["kill router"],
        options=("--no-journal",),
    )
    assert any("not_found_error" in text or "never ended" in text for text in violations(read(path)))


def good_history() -> list[Event]:
    """Two readers of one job, a job of the same request, and one that was cancelled."""
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
        {"kind": "status", "jobs": jobs, "workers": [worker]},
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
        (without(11), "no status"),
        (without(13), "has answers [] to its lines ['1']"),
        (lambda events: events.append(events[13]), "has answers ['1', '1'] to its lines"),
        (with_fields(15, text="abd"), "a line of request 1 has another text"),
        (with_fields(15, error="server_error"), "a line of request 1 failed with server_error"),
        (without(17), "stream s of h never ended"),
        (with_fields(19, text="ab"), "a stream of request 1 has another text"),
        (with_fields(19, error="server_error"), "a stream of request 1 failed with server_error"),
    ],
)
def test_a_spoilt_history_is_found_out(spoil: Callable[[list[Event]], Any], complaint: str) -> None:
    events = copy.deepcopy(good_history())
    spoil(events)
    assert any(complaint in text for text in violations(events)), violations(events)
