"""When a job would end that comes now, and whether that is too late for it."""

from __future__ import annotations

from dataclasses import dataclass

from cactus_actors.protocol.errors import Overloaded
from router.dispatch.backlog import Backlog
from router.dispatch.cost import MAX_GENERATED, cost_of
from router.jobs.job import Job

MIN_RETRY_AFTER_S = 0.1
MAX_RETRY_AFTER_S = 60.0
MARGIN = 1.2
"""A job is accepted if it would end in time even if all took so many times as long as the average tells."""
LATE = 1.25
"""A job is given up before it runs when it wants more than this times the time that it has left."""
TOKENS_PER_BYTE = 0.25
"""Of a request, until some were prepared."""
MEMORY = 16
"""About as many jobs as the averages remember, and at least one for each slot."""


@dataclass
class _Mean:
    """An average that forgets."""

    value: float = 0.0
    is_known: bool = False

    def add(self, value: float, share: float) -> None:
        self.value = self.value + (value - self.value) * share if self.is_known else value
        self.is_known = True


class Forecast:
    """Learns from jobs that end how long a unit of cost takes in a full batch; nothing is known before.

    With `num_slots` places in the workers' batches, each of which takes `pace` seconds for a unit of cost,
    work that costs c is over after c * pace / num_slots.
    """

    def __init__(self) -> None:
        self.num_slots = 0
        self.backlog = Backlog()
        self._seconds = _Mean()
        self._costs = _Mean()
        self._tokens_per_byte = _Mean(TOKENS_PER_BYTE)

    @property
    def pace(self) -> float | None:
        """Seconds that one place in a full batch takes for a unit of cost; None while that is not known."""
        return self._seconds.value / self._costs.value if self._costs.is_known else None

    def on_prepared(self, num_bytes: int, num_tokens: int) -> None:
        """A request of so many bytes became so many tokens."""
        self._tokens_per_byte.add(num_tokens / max(1, num_bytes), 1 / MEMORY)

    def on_dispatched(self, job: Job, *, is_contended: bool) -> None:
        """A job goes to a worker; `is_contended` says that no place is left free."""
        job.is_contended = is_contended

    def on_completed(self, job: Job, now: float) -> None:
        """A job has run to its end, at one worker."""
        if job.dispatched_at is None or job.attempts != 1 or job.cloud is not None:
            return
        if not job.is_contended and self._costs.is_known:
            return  # in a batch that is not full everything is faster
        share = 1 / max(MEMORY, self.num_slots)
        self._seconds.add(now - job.dispatched_at, share)
        self._costs.add(job.cost, share)

    def cost_of_request(self, num_bytes: int, max_tokens: int | None) -> float:
        """What a request may cost that is not prepared yet."""
        num_tokens = num_bytes * self._tokens_per_byte.value
        return cost_of(num_tokens, MAX_GENERATED if max_tokens is None or max_tokens < 0 else max_tokens)

    def check(
        self, timeout_s: float | None, user: str, weight: int, cost: float, *, is_background: bool
    ) -> None:
        """Raise Overloaded, saying when to come back, for a job that cannot end within its time."""
        pace = self.pace
        if timeout_s is None or pace is None or not self.num_slots:
            return
        ahead = self.backlog.ahead_of(user, weight, is_background=is_background)
        if not ahead:
            return
        ends_after_s = (ahead / self.num_slots + cost) * pace
        missing_s = MARGIN * ends_after_s - timeout_s
        if missing_s > 0:
            raise Overloaded(
                f"the job would end after {ends_after_s:.1f} s, which its {timeout_s:g} s may not allow",
                param="timeout_ms",
                retry_after=round(min(MAX_RETRY_AFTER_S, max(MIN_RETRY_AFTER_S, missing_s)), 3),
            )

    def is_too_late(self, job: Job, now: float) -> bool:
        """Whether a job that has generated nothing yet would run in vain."""
        pace = self.pace
        if job.deadline is None or pace is None or job.attempts:
            return False
        return job.cost * pace > LATE * (job.deadline - now)
