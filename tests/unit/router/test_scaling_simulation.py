"""A fleet that sizes itself beside fixed ones and an oracle, on a synthetic load in virtual time."""

from __future__ import annotations

import functools
import math

from benchmarks.fleet.elastic_fleet import ElasticFleet, Outcome, fixed
from benchmarks.fleet.oracle import least_worker_seconds, oracle
from benchmarks.fleet.simulated_worker import Speed
from benchmarks.fleet.traces import Request, synthetic
from cactus_actors.config_scaling import ScalingSettings, WorkerRange
from cactus_actors.router.scheduling.scaling_policy import ScalingPolicy

SECONDS = 600.0
FACTOR = 1.6
"""The worker-seconds of the policy, over those of a fleet that knows the future."""


@functools.cache
def load() -> list[Request]:
    """Two days, of 300 s each."""
    return synthetic(5, seconds=SECONDS, day_s=SECONDS / 2, peak_rate=8.0)


def sized_by_policy(low: int) -> Outcome:
    policy = ScalingPolicy(WorkerRange(low, 16), ScalingSettings(down_after_s=40.0), low, 0.0)
    return ElasticFleet(load(), policy.update, initial=low).run()


def test_the_policy_is_better_than_any_fixed_size_that_costs_as_much() -> None:
    outcome = sized_by_policy(1)
    for workers in range(1, math.ceil(outcome.worker_seconds / SECONDS) + 1):
        other = ElasticFleet(load(), fixed(workers), initial=workers).run()
        assert outcome.queue_p95 <= other.queue_p95
        assert outcome.first_token_p95 < other.first_token_p95
    assert other.worker_seconds >= outcome.worker_seconds


def test_the_policy_costs_little_more_than_knowing_the_future() -> None:
    outcome = sized_by_policy(1)
    planned = oracle(load(), outcome, low=1, high=16, windows_s=(15,))
    assert planned is not None
    least = least_worker_seconds(load(), Speed())
    assert least < planned.worker_seconds < outcome.worker_seconds < FACTOR * planned.worker_seconds


def test_a_fleet_that_begins_with_nothing_answers_every_request() -> None:
    outcome = sized_by_policy(0)
    assert outcome.queue_p50 == 0.0
    assert outcome.changes < 60
