"""`cactus status --watch`: rates and latencies between two polls."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import msgspec
import pytest

from cactus_actors.cli.status_rates import changes_of, latencies_of
from cactus_actors.protocol.messages import Status
from cactus_actors.protocol.service_status import JobCounts
from cactus_actors.router.telemetry.counters import RouterCounters
from cactus_actors.router.telemetry.model_counters import ModelCounters
from tests.support.router.core_harness import RouterHarness, job_id
from tests.support.router.scripted_router import ScriptedRouter


def status_with(**changes: object) -> Status:
    harness = RouterHarness()
    core = harness.core
    status = core.status(0.0, with_totals=True)
    return msgspec.structs.replace(status, **changes)


def test_rates_are_those_between_two_polls() -> None:
    before = status_with(jobs=JobCounts(finished=10, failed=1))
    assert before.totals is not None
    totals = msgspec.structs.replace(before.totals, generated_tokens=before.totals.generated_tokens + 500)
    now = msgspec.structs.replace(before, jobs=JobCounts(finished=14, failed=1, rejected=2), totals=totals)
    assert changes_of(before, now, 2.0) == {
        "jobs": 2.0,
        "tokens": 250.0,
        "prompt tokens": 0.0,
        "failed": 0.0,
        "refused": 1.0,
    }
    assert changes_of(before, msgspec.structs.replace(now, epoch=now.epoch + 1), 2.0) == {}
    assert changes_of(msgspec.structs.replace(before, totals=None), now, 2.0) == {}


def test_latencies_cover_jobs_that_ended_since_the_last_poll() -> None:
    old, new = RouterCounters().totals([ModelCounters().totals()]), RouterCounters().totals([ModelCounters().totals()])
    assert latencies_of(old, new) == {}
    bounds = new.first_token_seconds.bounds
    counts = [0] * (len(bounds) + 1)
    counts[3], counts[5] = 90, 10
    before = msgspec.structs.replace(new.first_token_seconds, counts=tuple(count // 2 for count in counts))
    now = msgspec.structs.replace(new.first_token_seconds, counts=tuple(counts))
    found = latencies_of(
        msgspec.structs.replace(old, first_token_seconds=before),
        msgspec.structs.replace(new, first_token_seconds=now),
    )
    half, most = found["first token"]
    assert bounds[2] < half < bounds[3]
    assert bounds[4] < most <= bounds[5]
    assert found.keys() == {"first token"}


def test_values_above_all_bounds_count_as_the_highest() -> None:
    totals = RouterCounters().totals([ModelCounters().totals()])
    bounds = totals.queue_seconds.bounds
    counts = (*[0] * len(bounds), 7)
    above = msgspec.structs.replace(totals.queue_seconds, counts=counts)
    found = latencies_of(None, msgspec.structs.replace(totals, queue_seconds=above))
    assert found["waiting"] == (bounds[-1], bounds[-1])


def test_the_age_of_the_oldest_waiting_job_is_reported() -> None:
    harness = RouterHarness()
    assert harness.core.status(5.0).held.oldest_waiting_s == 0.0
    harness.submit(1)
    harness.submit(2)
    assert harness.core.status(harness.now + 5.0).held.oldest_waiting_s == pytest.approx(5.0, abs=0.5)
    assert job_id(1)


@pytest.mark.parametrize("form", ["--json", "--interval=0.1"])
def test_watch_polls_until_it_is_interrupted(form: str) -> None:
    with ScriptedRouter() as router:
        command = [sys.executable, "-m", "cactus_actors.cli", "status", "--watch", form]
        command += ["--endpoint", router.endpoint] + ["--interval", "0.1"] * (form == "--json")
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert process.stdout is not None
        first = process.stdout.readline()
        if form == "--json":
            looks = [json.loads(line) for line in (first, process.stdout.readline(), process.stdout.readline())]
            assert [look["model"] for look in looks] == ["scripted"] * 3
        else:
            assert "scripted" in first
            assert any("a second" in process.stdout.readline() for _ in range(20))
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) == (130, "")
