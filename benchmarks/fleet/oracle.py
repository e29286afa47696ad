"""Sizes of a fleet planned by somebody who knows every request of a trace before it comes."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from benchmarks.fleet.elastic_fleet import NUM_SLOTS, START_S, ElasticFleet, Outcome, Sizing
from benchmarks.fleet.simulated_worker import Speed
from benchmarks.fleet.traces import Request
from cactus_actors.router.scheduling.scaling_policy import FleetLoad

WINDOWS_S = (5, 15, 40, 100)
USES = (0.95, 0.8, 0.65, 0.5)


def oracle(
    requests: Sequence[Request], limit: Outcome, *, low: int, high: int, windows_s: Sequence[int] = WINDOWS_S
) -> Outcome | None:
    """The outcome of the cheapest plan whose clients feel nothing worse than in `limit`; None if no plan does that.

    The plans differ in the seconds over which they average the work that comes, and in the share of their time for
    which workers shall be busy. Workers are ready when the plan needs them.
    """
    found = [outcome for outcome in _outcomes(requests, windows_s, low, high) if _is_as_good(outcome, limit)]
    return min(found, key=lambda outcome: outcome.worker_seconds, default=None)


def least_worker_seconds(requests: Sequence[Request], speed: Speed) -> float:
    """The seconds of a worker whose slots are full all the time: no fleet needs fewer."""
    return sum(seconds_of(request, speed) for request in requests)


def seconds_of(request: Request, speed: Speed) -> float:
    """The seconds of a full worker that a request takes."""
    return request.prompt * speed.token_s + request.generated * (speed.step_s / NUM_SLOTS + speed.token_s)


def _outcomes(requests: Sequence[Request], windows_s: Sequence[int], low: int, high: int) -> Iterator[Outcome]:
    for window_s in windows_s:
        for use in USES:
            sizing = _planned(requests, window_s, use, low, high)
            yield ElasticFleet(requests, sizing, initial=sizing(_NOTHING, 0.0)).run()


def _is_as_good(outcome: Outcome, limit: Outcome) -> bool:
    return outcome.queue_p95 <= limit.queue_p95 and outcome.first_token_p95 <= limit.first_token_p95


def _planned(requests: Sequence[Request], window_s: int, use: float, low: int, high: int) -> Sizing:
    """Workers for the work that comes within `window_s` seconds around each second."""
    speed, num_seconds = Speed(), math.ceil(requests[-1].arrives_at) + 1
    coming = [0.0] * num_seconds
    for request in requests:
        coming[int(request.arrives_at)] += seconds_of(request, speed)
    half = window_s // 2
    sizes = [
        max(low, min(high, math.ceil(sum(coming[max(0, at - half) : at + half + 1]) / (2 * half + 1) / use)))
        for at in range(num_seconds)
    ]

    def sizing(_load: FleetLoad, now: float) -> int:
        ahead = sizes[int(now) : int(now) + int(START_S) + 1]
        return max(ahead, default=max(1, low))

    return sizing


_NOTHING = FleetLoad(ready=0, slots=NUM_SLOTS)
