"""Estimates when a new job would end, and whether that meets its deadline."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from cactus_actors.protocol.errors import DeadlineExceeded, Overloaded
from cactus_actors.protocol.options import Options
from cactus_actors.router.scheduling.backlog import Backlog
from cactus_actors.router.scheduling.pace import MEMORY, Pace
from cactus_actors.router.scheduling.user_jobs import UserJobs
from cactus_actors.router.state.job import Job
from cactus_actors.router.state.job_cost import MAX_GENERATED, must_generate, work_of
from cactus_actors.router.state.prepared_request import PreparedRequest
from cactus_actors.router.state.reservation import Reservation

FIRST_RETRY_S = 1.0
MIN_RETRY_AFTER_S = 0.1
MAX_RETRY_AFTER_S = 60.0
MARGIN = 1.2
"""A job is accepted if it would end in time even if all work took MARGIN times as long as on average."""
LATE = 1.25
"""A job is given up before it runs if it needs more than this times the time that it has left."""
TOKENS_PER_BYTE = 0.25
"""The first estimate for a request, until requests were prepared."""
FIRST_ROUNDS = 4
"""Rounds of jobs with a deadline that may wait while the seconds per work are unknown."""
FIRST_LOOK_S = 0.25
"""The seconds that jobs run, in sum, before these are estimated from running jobs."""
FEWEST_TOGETHER = 16
"""Jobs that may run together at a worker whatever their deadlines."""


@dataclass
class _Mean:
    """An exponential moving average."""

    value: float = 0.0
    is_known: bool = False

    def add(self, value: float, share: float) -> None:
        self.value = self.value + (value - self.value) * share if self.is_known else value
        self.is_known = True


class Forecast:
    """Measures on ended jobs the duration of work, and on their answers how much work a job is.

    Before the first one ends, the duration is estimated from the progress of the running jobs.

    Work is counted in generated tokens. A job begins when a slot is free for it, after the jobs that run and those
    that wait before it. Where deadlines would be missed with all slots in use, jobs have `usable_slots` only.
    """

    def __init__(self, users: UserJobs) -> None:
        self.pace = Pace()
        self.usable_slots = 0
        self.backlog = Backlog()
        self._user_jobs = users
        self._generated = _Mean()
        self._allowed = _Mean()
        self._tokens_per_byte = _Mean(TOKENS_PER_BYTE)

    @property
    def seconds_per_work(self) -> float | None:
        """Seconds that one slot takes for a unit of work while all are in use; None while that is not known."""
        return self.pace.seconds_per_work(self.pace.num_slots)

    @property
    def num_running(self) -> int:
        """Jobs that run, or wait at a worker."""
        return self._user_jobs.slot_releases.num_running + len(self._user_jobs.background)

    @property
    def _fewest_slots(self) -> int:
        return FEWEST_TOGETHER * self.pace.num_workers

    def update_slots(self, num_slots: int, num_workers: int, now: float) -> None:
        """Set the slots of all workers, and how many of them the deadlines of running jobs leave."""
        pace, releases = self.pace, self._user_jobs.slot_releases
        pace.num_slots, pace.num_workers = num_slots, max(1, num_workers)
        if not pace.is_measured:
            seconds, work = releases.progress(now)
            if work and seconds >= FIRST_LOOK_S:
                pace.guess(seconds, work, self.num_running)
        self.usable_slots = num_slots
        if num_slots > self._fewest_slots and not math.isinf(least := releases.least_seconds_per_work(now)):
            self.usable_slots = max(self._fewest_slots, pace.most_running(least / MARGIN) or 0)

    def startable(self, jobs: Sequence[Job], now: float) -> Sequence[Job]:
        """Those of the jobs that end in time, with those that run, although one more runs."""
        num_running, num_slots, fewest = self.num_running, self.pace.num_slots, self._fewest_slots
        if num_running < fewest or num_slots <= fewest:
            return jobs
        if num_running >= self.usable_slots < num_slots:
            return ()
        return [job for job in jobs if job.deadline is None or self._ends_in_time(job, job.deadline, now)]

    def _ends_in_time(self, job: Job, deadline: float, now: float) -> bool:
        """True if the job meets its deadline although one more runs."""
        num_running, num_slots = self.num_running, self.pace.num_slots
        most = self.pace.most_running((deadline - now) / (MARGIN * job.reservation.work))
        return most is not None and (num_running < most or most == num_slots)

    def on_prepared(self, num_bytes: int, num_tokens: int) -> None:
        """Record the number of bytes and of tokens of a prepared request."""
        self._tokens_per_byte.add(num_tokens / max(1, num_bytes), 1 / MEMORY)

    def on_ended(self, job: Job, now: float, *, is_complete: bool) -> None:
        """Record the end of a job; if it ran at one worker, complete or not, measure the duration of its work."""
        attempts, num_generated = job.attempts, len(job.local.log)
        if attempts.started_at is None or attempts.num_started != 1 or job.cloud is not None or not num_generated:
            return
        share = 1 / max(MEMORY, self.pace.num_slots)
        params = job.prepared.params
        if is_complete and not must_generate(params.max_tokens, params.min_tokens, params.ignore_eos):
            self._generated.add(num_generated, share)
            self._allowed.add(min(params.max_tokens, MAX_GENERATED), share)
        work = work_of(len(job.prepared.prompt_ids), num_generated)
        self.pace.on_ended(now - attempts.started_at, work, (attempts.num_together + self.num_running) / 2)

    def work_of_request(self, num_bytes: int, options: Options) -> float:
        """The expected work of a request that is not prepared yet."""
        given = options.max_tokens
        max_tokens = MAX_GENERATED if given is None or given < 0 else given
        must = must_generate(max_tokens, options.min_tokens or 0, options.ignore_eos or False)
        return self._expected(num_bytes * self._tokens_per_byte.value, max_tokens, must)

    def work_of_prepared(self, prepared: PreparedRequest) -> float:
        """The expected work of a prepared request."""
        params = prepared.params
        must = must_generate(params.max_tokens, params.min_tokens, params.ignore_eos)
        return self._expected(len(prepared.prompt_ids), params.max_tokens, must)

    def _expected(self, num_prompt_tokens: float, max_tokens: int, must: int) -> float:
        """The work of a job that generates at least `must` tokens, and the average share of `max_tokens`."""
        share = self._generated.value / self._allowed.value if self._allowed.value else 1.0
        return work_of(num_prompt_tokens, max(must, share * min(max_tokens, MAX_GENERATED)))

    def check(self, reservation: Reservation, timeout_s: float | None) -> None:
        """Raise Overloaded, with the time to come back, for a job that cannot end within `timeout_s`.

        Raises DeadlineExceeded for a job that could not do so on an idle service either.
        """
        work, pace = reservation.work, self.pace
        if timeout_s is None or not pace.num_slots:
            return
        starts_after, num_together = self._starts_after(reservation), self.num_running + 1
        if not starts_after and num_together <= self._fewest_slots:
            return
        seconds_per_work = pace.seconds_per_work(self.usable_slots if starts_after else num_together)
        if seconds_per_work is None:
            if starts_after > FIRST_ROUNDS * (self.backlog.mean or work):
                raise Overloaded(
                    "many jobs wait, and the time that jobs take is not known yet",
                    param="timeout_ms",
                    retry_after=FIRST_RETRY_S,
                )
            return
        missing_s = MARGIN * (starts_after + work) * seconds_per_work - timeout_s
        if missing_s > 0:
            if work * (pace.seconds_per_work(1) or 0.0) > LATE * timeout_s:
                raise DeadlineExceeded(f"the job cannot end within its timeout of {timeout_s:g} s", param="timeout_ms")
            raise Overloaded(
                f"the job may take {missing_s + timeout_s:.1f} s, and its timeout is {timeout_s:g} s",
                param="timeout_ms",
                retry_after=round(min(MAX_RETRY_AFTER_S, max(MIN_RETRY_AFTER_S, missing_s)), 3),
            )

    def _starts_after(self, reservation: Reservation) -> float:
        """The work that each slot does before a new job begins."""
        users, user = self._user_jobs, reservation.user
        is_new = not (users.num_running(user) or self.backlog.load_of(user).num_jobs)
        if is_new and users.some_run_several and not reservation.is_background:
            return 0.0  # it preempts a job of a user who runs several
        ahead = self.backlog.ahead_of(reservation)
        mean = self.backlog.mean or 1.0
        return users.slot_releases.work_until_free(self.usable_slots, ahead / mean, mean)

    def is_too_late(self, job: Job, now: float) -> bool:
        """True if a job that never ran would end after its deadline."""
        if job.deadline is None or job.attempts.num_started:
            return False
        seconds_per_work = self.pace.seconds_per_work(min(self.num_running + 1, self._fewest_slots))
        return seconds_per_work is not None and job.reservation.work * seconds_per_work > LATE * (job.deadline - now)
