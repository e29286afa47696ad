"""The duration of work, by the number of jobs that run together at a worker."""

from __future__ import annotations

SHARED_COST = 8.0
"""The cost of a step that does not depend on its sequences, in sequences."""
MEMORY = 16
"""The number of jobs that the averages remember, about; and at least one for each that runs."""


class Pace:
    """Measures on ended jobs the seconds of a unit of work; there are `num_slots` slots at `num_workers` workers.

    A step takes longer with more sequences: a unit of work takes seconds in proportion to SHARED_COST and the number
    of jobs at a worker. Before the first job has ended, running ones give a guess.
    """

    def __init__(self) -> None:
        self.num_slots, self.num_workers = 0, 1
        self._seconds = self._shares = 0.0  # means of ended jobs; a share is a unit of work of one of many
        self._guess: float | None = None

    @property
    def is_measured(self) -> bool:
        """True if a job has ended."""
        return self._shares > 0.0

    @property
    def _unit(self) -> float | None:
        return self._seconds / self._shares if self.is_measured else self._guess

    def on_ended(self, seconds: float, work: float, num_running: float) -> None:
        """Record that a job's work took `seconds` among `num_running` jobs, on average."""
        weight = 1 / max(MEMORY, num_running) if self.is_measured else 1.0
        self._seconds += (seconds - self._seconds) * weight
        self._shares += (work * self._cost(num_running) - self._shares) * weight

    def guess(self, seconds: float, work: float, num_running: int) -> None:
        """Estimate from what running jobs have done, in sum."""
        self._guess = seconds / (work * self._cost(num_running))

    def seconds_per_work(self, num_running: float) -> float | None:
        """Seconds of a unit of work of each of `num_running` jobs; None while that is not known."""
        return None if self._unit is None else self._unit * self._cost(num_running)

    def most_running(self, seconds_per_work: float) -> int | None:
        """The number of jobs that can run with this number of seconds for a unit of work; None while not known."""
        if self._unit is None:
            return None
        num_running = (seconds_per_work / self._unit - SHARED_COST) * self.num_workers
        return int(max(0.0, min(num_running, self.num_slots)))

    def _cost(self, num_running: float) -> float:
        return SHARED_COST + min(num_running, self.num_slots) / self.num_workers
