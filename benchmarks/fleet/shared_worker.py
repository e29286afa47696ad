"""A worker in virtual time whose running jobs share its steps; prompts are computed one after the other."""

from __future__ import annotations

import math
from dataclasses import dataclass

from benchmarks.fleet.simulated_worker import TOKEN_BUDGET, Speed
from benchmarks.fleet.traces import Request
from cactus_actors.router.state.job_cost import work_of


@dataclass(eq=False)
class SimulatedJob:
    """A request on its way: what is left of it, and the times at which it was dispatched and had its first token."""

    request: Request
    prompt_left: float
    answer_left: float
    is_contended: bool = False
    started_at: float = math.nan
    first_token_at: float = math.nan

    @classmethod
    def of(cls, request: Request) -> SimulatedJob:
        """A job that waits."""
        return cls(request, request.prompt, request.generated)

    @property
    def work(self) -> float:
        """Its whole work, as the router counts it."""
        return work_of(self.request.prompt, self.request.generated)

    @property
    def work_left(self) -> float:
        """What is left of its work."""
        return work_of(self.prompt_left, self.answer_left)

    @property
    def queue_s(self) -> float:
        return self.started_at - self.request.arrives_at

    @property
    def first_token_s(self) -> float:
        return self.first_token_at - self.request.arrives_at


class SharedWorker:
    """Every step computes a token of each answer and, within the token budget, a part of the first prompt.

    Between two events the steps are equal, so that time advances from event to event, not from step to step.
    """

    def __init__(self, speed: Speed, num_slots: int, ready_at: float) -> None:
        self.ready_at = ready_at
        self.num_slots = num_slots
        self.is_draining = False
        self.jobs: list[SimulatedJob] = []
        self.version = 0
        """Counts its events: a later one makes the time of an earlier one void."""
        self._speed = speed
        self._now = ready_at

    @property
    def num_free(self) -> int:
        """Slots for more jobs."""
        return 0 if self.is_draining else self.num_slots - len(self.jobs)

    def add(self, job: SimulatedJob, now: float) -> None:
        """Begin a job."""
        self.advance(now)
        job.started_at = now
        self.jobs.append(job)

    def advance(self, now: float) -> list[SimulatedJob]:
        """Compute until `now`; returns the jobs that ended."""
        seconds, step_s, chunk = now - self._now, self._step_s, self._chunk
        self._now = now
        self.version += 1
        steps = seconds / step_s if self.jobs else 0.0
        first = self._first_prompt
        for job in self.jobs:
            if job is first:
                job.prompt_left -= steps * chunk
                if job.prompt_left < 1e-6:
                    job.prompt_left, job.first_token_at = 0.0, now
                    job.answer_left -= 1.0
            elif not job.prompt_left:
                job.answer_left -= steps
        ended = [job for job in self.jobs if not job.prompt_left and job.answer_left < 1e-6]
        self.jobs = [job for job in self.jobs if job not in ended]
        return ended

    def next_event(self) -> float:
        """The time at which a prompt is computed or an answer complete."""
        first = self._first_prompt
        steps = [job.answer_left for job in self.jobs if not job.prompt_left]
        if first is not None:
            steps.append(first.prompt_left / self._chunk)
        return self._now + max(1e-9, min(steps, default=math.inf)) * self._step_s

    @property
    def _first_prompt(self) -> SimulatedJob | None:
        return next((job for job in self.jobs if job.prompt_left), None)

    @property
    def _num_decoding(self) -> int:
        return sum(not job.prompt_left for job in self.jobs)

    @property
    def _chunk(self) -> float:
        """Tokens of a prompt in a step."""
        first = self._first_prompt
        return 0.0 if first is None else min(TOKEN_BUDGET - self._num_decoding, float(first.request.prompt))

    @property
    def _step_s(self) -> float:
        return self._speed.step_s + (self._num_decoding + self._chunk) * self._speed.token_s
