"""An hour of samples in bounded memory, the decisions about workers, and the last failures."""

from __future__ import annotations

import asyncio

import msgspec

from cactus_actors.gateway.background_tasks import BackgroundTasks
from cactus_actors.gateway.http.recent_errors import MAX_ERRORS, RecentErrors
from cactus_actors.gateway.http.timeouts import DEFAULT_TIMEOUTS
from cactus_actors.gateway.service_history import FIELDS, HISTORY_S, ServiceHistory
from cactus_actors.gateway.status_watcher import StatusWatcher
from cactus_actors.protocol.error_info import ErrorInfo
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.scaling_status import ScalingStatus
from cactus_actors.protocol.service_status import JobCounts


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def make_status(**fields: object) -> Status:
    status = Status(
        version="1",
        epoch=1,
        uptime_s=1.0,
        model="m",
        max_context=8,
        vocab_size=8,
        draining=False,
        desired_workers=1,
        jobs=JobCounts(),
        workers=[],
    )
    return msgspec.structs.replace(status, **fields)


def make_history(clock: Clock, interval_s: float) -> ServiceHistory:
    watcher = StatusWatcher(None, BackgroundTasks(), DEFAULT_TIMEOUTS)  # no status is asked for
    return ServiceHistory(watcher, interval_s, clock)


async def test_a_sample_has_a_number_for_each_field() -> None:
    history = make_history(Clock(), 2.0)
    history.add(make_status(jobs=JobCounts(queued=3, running=2, finished=5, failed=1, handoffs_completed=4)))
    [sample] = history.samples
    named = dict(zip(FIELDS, sample, strict=True))
    assert (named["at"], named["queued"], named["running"]) == (1000.0, 3, 2)
    assert (named["ended"], named["failed"], named["handed_off"]) == (6, 1, 4)


async def test_an_hour_is_kept_and_no_more() -> None:
    clock = Clock()
    history = make_history(clock, 600.0)
    for _ in range(20):
        history.add(make_status())
        clock.now += 600
    times = [sample[0] for sample in history.samples]
    assert times == [1000.0 + 600 * number for number in range(14, 20)]
    assert times[-1] - times[0] < HISTORY_S


async def test_a_service_that_does_not_answer_leaves_a_gap() -> None:
    history = make_history(Clock(), 2.0)
    waiting = asyncio.ensure_future(history.next())
    await asyncio.sleep(0)
    history.add(None)
    await asyncio.wait_for(waiting, 60)
    assert (history.samples, history.newest) == ([], None)


async def test_changes_of_the_desired_number_are_decisions_with_their_reason() -> None:
    history = make_history(Clock(), 2.0)
    history.add(make_status())
    assert [*history.decisions] == []
    scaling = ScalingStatus(min_workers=1, max_workers=4, reason="jobs wait")
    history.add(make_status(desired_workers=2, scaling=scaling))
    history.add(make_status(desired_workers=2, scaling=scaling))
    history.add(make_status(desired_workers=0))
    told = [(one.model, one.num_workers, one.reason) for one in history.decisions]
    assert told == [("m", 2, "jobs wait"), ("m", 0, "set by an operator")]


def test_a_caller_sees_its_own_failures_and_an_operator_those_of_all() -> None:
    errors = RecentErrors(Clock())
    errors.note(b"ann", "/v1/a", ErrorInfo(type="t", status=400, message="about ann"), "r1")
    errors.note(b"bob", "/v1/b", ErrorInfo(type="t", status=503, message="about bob"), "r2")
    [own] = errors.shown_to(b"ann", is_operator=False)
    assert (own["message"], own["path"], own["status"], own["request_id"]) == ("about ann", "/v1/a", 400, "r1")
    everything = errors.shown_to(b"ann", is_operator=True)
    assert [(row["path"], row["message"], row["request_id"]) for row in everything] == [
        ("/v1/a", "about ann", "r1"),
        ("/v1/b", "", ""),
    ]
    assert not any("tenant" in row for row in everything)


def test_the_last_failures_are_kept_and_long_messages_are_cut() -> None:
    errors = RecentErrors(Clock())
    for number in range(MAX_ERRORS + 5):
        errors.note(b"", "-", ErrorInfo(type="t", status=400, message="x" * 5000), str(number))
    kept = errors.shown_to(b"", is_operator=True)
    assert [row["request_id"] for row in kept] == [str(number) for number in range(5, MAX_ERRORS + 5)]
    assert max(len(str(row["message"])) for row in kept) < 400
