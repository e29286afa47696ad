"""Decides how many workers a model has, from what waits, what runs, and how long clients wait."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

from cactus_actors.config_scaling import ScalingSettings, WorkerRange

WINDOW_S = 30.0
"""The seconds of which the times of jobs in a FleetLoad are."""
OCCUPANCY = 0.6
"""The share of their slots that running jobs take on a fleet of the right size: each step serves all of them."""
LEAST_OCCUPANCY = 0.3
"""The share that jobs, waiting ones included, take at least: more workers than that would not make them faster."""
SLACK = 0.85
"""A smaller fleet must do with this share of its size, so that it does not grow again at once."""
CACHE_USE = 0.9
"""The share of the KV cache that may be in use."""
BACKGROUND_S = 60.0
"""A worker is started for background work that keeps it busy for so long."""
BUSY_S = 20.0
"""Running jobs are averaged over about so many seconds: new workers are for those that will run when they are ready."""
FIRST_START_S = 5.0
"""The seconds of a worker's start, until one was measured."""
MARGIN_STEP, MAX_MARGIN = 1.25, 2.0
"""The margin grows by this factor while clients wait too long, up to this maximum."""
MARGIN_LASTS = 10.0
"""The margin falls after so many times `down_after_s` in which no client waited too long."""


@dataclass(frozen=True, kw_only=True)
class FleetLoad:
    """What a model has to do at one moment, and how it was served in the last WINDOW_S seconds.

    `work` is what waiting and running jobs have left, in generated tokens, prompts included; a worker with full slots
    does `rate` of it a second, None while that is unknown. `ready` workers take jobs, `slots` each. Background work
    has counts of its own and is in no other; its work is that of waiting jobs. `cache_use` is the share of the KV
    cache that is in use. 95 of 100 jobs left the queue within `queue_s` and had their first token within
    `first_token_s`; None without such jobs.
    """

    ready: int
    slots: int
    rate: float | None = None
    num_waiting: int = 0
    num_running: int = 0
    work: float = 0.0
    num_background_waiting: int = 0
    background_work: float = 0.0
    num_background_running: int = 0
    cache_use: float = 0.0
    queue_s: float | None = None
    first_token_s: float | None = None

    @property
    def num_jobs(self) -> int:
        """Jobs that wait or run, without background work."""
        return self.num_waiting + self.num_running

    @property
    def num_background(self) -> int:
        """Background work that waits or runs."""
        return self.num_background_waiting + self.num_background_running


class _Need(NamedTuple):
    """The workers that a load needs, with a fraction, and the reason in words."""

    workers: float
    reason: str


class ScalingPolicy:
    """The size of one fleet: it grows at once, and shrinks to the most that it needed in the last `down_after_s`.

    What is needed: running jobs take OCCUPANCY of the slots, and while some wait, all are done within the time in which
    a worker starts and another `queue_s`, or as long again. If clients still wait too long, a margin on this grows
    step by step. `reason` says why `workers` changed last. Time is an argument, in seconds.
    """

    def __init__(self, size: WorkerRange, settings: ScalingSettings, workers: int, now: float) -> None:
        self.workers = workers
        self.reason = ""
        self._size = size
        self._settings = settings
        self._held: deque[tuple[float, int]] = deque([(now, self._whole(workers))])  # the largest of a window first
        self._steady_since = now
        self._raised_at: float | None = None
        self._start_s = FIRST_START_S
        self._margin = 1.0
        self._good_since = now
        self._busy = 0.0
        self._looked_at = now

    def update(self, load: FleetLoad, now: float) -> int:
        """The number of workers that the fleet shall have."""
        self._measure_start(load, now)
        slow, is_steady = self._too_slow(load), self._is_steady(load, now)
        if slow and is_steady:
            self._margin = min(MAX_MARGIN, self._margin * MARGIN_STEP)
            self._steady_since = now
        self._relax_margin(now, is_good=not slow)
        self._measure_busy(load, now)
        need = self._need(load)
        wanted = self._whole(need.workers)
        if wanted > self.workers:
            self._raised_at = self._raised_at or now
            self._change(wanted, slow if slow and self._margin > 1 else need.reason, now)
        held = self._most_held(self._whole(need.workers / SLACK), now)
        if held < self.workers:
            self._raised_at = None
            less = "no job" if not held else "less to do"
            self._change(held, f"{less} for {self._settings.down_after_s:g} s", now)
        return self.workers

    def _change(self, workers: int, reason: str, now: float) -> None:
        self.workers, self.reason, self._steady_since = workers, reason, now

    def _whole(self, workers: float) -> int:
        """The next whole number that is allowed."""
        return math.ceil(self._size.clip(workers) - 1e-9)

    def _most_held(self, workers: int, now: float) -> int:
        """The largest number in the last `down_after_s` seconds, with this one."""
        while self._held and self._held[-1][1] <= workers:
            self._held.pop()
        self._held.append((now, workers))
        while self._held[0][0] <= now - self._settings.down_after_s:
            self._held.popleft()
        return self._held[0][1]

    def _need(self, load: FleetLoad) -> _Need:
        foreground = self._foreground(load)
        if not load.num_background:
            return foreground
        running = load.num_background_running / load.slots / OCCUPANCY
        waiting = load.background_work / load.rate / BACKGROUND_S if load.rate else 0.0
        most = self._settings.background_workers or self._size.high
        workers = max(1.0, min(foreground.workers + running + waiting, most))
        if workers <= foreground.workers:
            return foreground
        return _Need(workers, f"background jobs: {load.num_background}")

    def _foreground(self, load: FleetLoad) -> _Need:
        if not load.num_jobs:
            return _Need(0.0, "no job")
        busy, behind = self._busy / OCCUPANCY, self._behind(load)
        need = max(busy, behind) * self._margin
        cached = load.ready * load.cache_use / CACHE_USE if load.cache_use > CACHE_USE else 0.0
        most = max(1.0, load.num_jobs / max(1.0, load.slots * LEAST_OCCUPANCY))
        if cached > min(need, most):
            return _Need(min(cached, load.num_jobs), f"{load.cache_use:.0%} of the KV cache is in use")
        reason = f"running jobs: {load.num_running}, on {load.ready * load.slots} slots"
        if behind > busy or not load.num_running:
            reason = f"waiting jobs: {load.num_waiting}"
            reason += f", with {load.work / load.rate:.1f} s of work for a worker" if load.rate else ""
        return _Need(max(1.0, min(need, most)), reason)

    def _behind(self, load: FleetLoad) -> float:
        """The workers that are needed for what waits; a slot for each job while rates are unknown."""
        if not load.num_waiting:
            return 0.0
        if not load.rate:
            return load.num_jobs / load.slots
        return load.work / load.rate / (self._start_s + max(self._start_s, self._settings.queue_s))

    def _too_slow(self, load: FleetLoad) -> str:
        """The target that is missed, in words; empty if none is."""
        settings = self._settings
        for what, seconds, target in (
            ("wait", load.queue_s, settings.queue_s),
            ("wait for their first token", load.first_token_s, settings.first_token_s),
        ):
            if seconds is not None and seconds > target:
                return f"5 of 100 jobs {what} for more than {seconds:.1f} s"
        return ""

    def _is_steady(self, load: FleetLoad, now: float) -> bool:
        """True if the times of jobs are those of the present number of workers."""
        if load.ready < self.workers:
            self._steady_since = now
        return now - self._steady_since >= WINDOW_S

    def _relax_margin(self, now: float, *, is_good: bool) -> None:
        if not is_good:
            self._good_since = now
        elif now - self._good_since >= MARGIN_LASTS * self._settings.down_after_s:
            self._margin, self._good_since = max(1.0, self._margin / MARGIN_STEP), now

    def _measure_busy(self, load: FleetLoad, now: float) -> None:
        """Average the workers that running jobs fill."""
        share = 1.0 - math.exp((self._looked_at - now) / BUSY_S)
        self._busy += (load.num_running / load.slots - self._busy) * share
        self._looked_at = now

    def _measure_start(self, load: FleetLoad, now: float) -> None:
        """Measure how long workers take until they are ready."""
        if self._raised_at is not None and load.ready >= self.workers:
            self._start_s, self._raised_at = max(1.0, now - self._raised_at), None
