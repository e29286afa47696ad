"""Estimates when a new job would end, and whether that meets its deadline."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.protocol.errors import DeadlineExceeded, Overloaded
from cactus_actors.protocol.options import Options
from cactus_actors.router.scheduling.backlog import Backlog
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
MEMORY = 16
"""The number of jobs that the averages remember, about; and at least one for each slot."""


@dataclass
class _Mean:
    """An exponential moving average."""

    value: float = 0.0
    is_known: bool = False

    def add(self, value: float, share: float) -> None:
        self.value = self.value + (value - self.value) * share if self.is_known else value
        self.is_known = True


class Forecast:
    """Measures on ended jobs the duration of work in a full batch, and in one with free slots.

    Before the first one ends, it is estimated from the progress of the running jobs.

    Work is counted in generated tokens. There are `num_slots` slots in the workers' batches, each of which
    takes `seconds_per_work` seconds for a unit of work. A job begins when a slot is free for it, after the jobs that
    run and those that wait before it.
    """

    def __init__(self, users: UserJobs) -> None:
        self.num_slots = 0
        self.backlog = Backlog()
        self._user_jobs = users
        self._seconds = _Mean()
        self._work = _Mean()
        self._uncontended_seconds = _Mean()
        self._uncontended_work = _Mean()
        self._first_guess: float | None = None
        self._generated = _Mean()
        self._allowed = _Mean()
        self._tokens_per_byte = _Mean(TOKENS_PER_BYTE)

    @property
    def seconds_per_work(self) -> float | None:
        """Seconds that one slot in a full batch takes for a unit of work; None while that is not known."""
        return self._seconds.value / self._work.value if self._work.is_known else self._first_guess

    @property
    def least_seconds_per_work(self) -> float | None:
        """Seconds that a slot takes for a unit of work while slots are free, the least; None while not known."""
        if not self._uncontended_work.is_known:
            return None
        return self._uncontended_seconds.value / self._uncontended_work.value

    def update_running(self, now: float) -> None:
        """Estimate the duration of work from the running jobs, while none has ended."""
        if self._work.is_known:
            return
        seconds, work = self._user_jobs.slot_releases.progress(now)
        if work and seconds >= FIRST_LOOK_S:
            self._first_guess = seconds / work

    def on_prepared(self, num_bytes: int, num_tokens: int) -> None:
        """Record the number of bytes and of tokens of a prepared request."""
        self._tokens_per_byte.add(num_tokens / max(1, num_bytes), 1 / MEMORY)

    def on_ended(self, job: Job, now: float, *, is_complete: bool) -> None:
        """Record the end of a job; if it ran at one worker, complete or not, measure the duration of its work."""
        attempts, num_generated = job.attempts, len(job.local.log)
        if attempts.started_at is None or attempts.num_started != 1 or job.cloud is not None or not num_generated:
            return
        share = 1 / max(MEMORY, self.num_slots)
        params = job.prepared.params
        if is_complete and not must_generate(params.max_tokens, params.min_tokens, params.ignore_eos):
            self._generated.add(num_generated, share)
            self._allowed.add(min(params.max_tokens, MAX_GENERATED), share)
        seconds, work = now - attempts.started_at, work_of(len(job.prepared.prompt_ids), num_generated)
        if not attempts.is_contended:  # in a batch that is not full everything is faster
            self._uncontended_seconds.add(seconds, 1 / MEMORY)
            self._uncontended_work.add(work, 1 / MEMORY)
            if self._work.is_known:
                return
        self._seconds.add(seconds, share)
        self._work.add(work, share)

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
        work = reservation.work
        if timeout_s is None or not self.num_slots:
            return
        starts_after = self._starts_after(reservation)
        if not starts_after:
            return
        seconds_per_work = self.seconds_per_work
        if seconds_per_work is None:
            if starts_after > FIRST_ROUNDS * (self.backlog.mean or work):
                raise Overloaded(
                    "many jobs wait, and the time that jobs take is not known yet",
                    param="timeout_ms",
                    retry_after=FIRST_RETRY_S,
                )
            return
        ends_after_s = (starts_after + work) * seconds_per_work
        missing_s = MARGIN * ends_after_s - timeout_s
        if missing_s > 0:
            if work * (self.least_seconds_per_work or seconds_per_work) > LATE * timeout_s:
                raise DeadlineExceeded(f"the job cannot end within its timeout of {timeout_s:g} s", param="timeout_ms")
            raise Overloaded(
                f"the job may take {MARGIN * ends_after_s:.1f} s, and its timeout is {timeout_s:g} s",
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
        return users.slot_releases.work_until_free(self.num_slots, ahead / mean, mean)

    def is_too_late(self, job: Job, now: float) -> bool:
        """True if a job that never ran would end after its deadline."""
        if job.deadline is None or job.attempts.num_started:
            return False
        # While slots stay free, only the speed of a batch with free slots counts.
        is_last_slot = self._user_jobs.slot_releases.num_running + 1 >= self.num_slots
        seconds_per_work = self.seconds_per_work if is_last_slot else self.least_seconds_per_work
        return seconds_per_work is not None and job.reservation.work * seconds_per_work > LATE * (job.deadline - now)
