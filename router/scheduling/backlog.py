"""The waiting work of each user, updated as jobs come and go."""

from __future__ import annotations

from dataclasses import dataclass, field

from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.reservation import Reservation


@dataclass(slots=True)
class _Waiting:
    """The waiting work of one user; `load` includes background work."""

    weight: int
    num_jobs: int = 0
    work: float = 0.0
    load: QueueLoad = field(default_factory=QueueLoad)


class Backlog:
    """Waiting work in generated tokens: of each user, and of all background work together."""

    def __init__(self) -> None:
        self._users: dict[str, _Waiting] = {}
        self._num_jobs = 0
        self._total = 0.0
        self._total_weight = 0
        self._background = 0.0
        self._num_background = 0

    @property
    def num_jobs(self) -> int:
        """Waiting jobs, background work aside."""
        return self._num_jobs

    @property
    def work(self) -> float:
        """Their work."""
        return self._total

    @property
    def num_background(self) -> int:
        """Waiting background work."""
        return self._num_background

    @property
    def background_work(self) -> float:
        """Its work."""
        return self._background

    def add(self, reservation: Reservation) -> None:
        """Add the work of a reservation."""
        weight, work = reservation.weight, reservation.work
        known = self._users.get(reservation.user)
        if known is None:
            known = self._users[reservation.user] = _Waiting(weight)
        known.load += reservation.load
        if reservation.is_background:
            self._background += work
            self._num_background += 1
            return
        if not known.num_jobs:
            known.weight = weight
            self._total_weight += weight
        known.num_jobs += 1
        self._num_jobs += 1
        known.work += work
        self._total += work

    def remove(self, reservation: Reservation) -> None:
        """Remove the work of a reservation that was added."""
        user, work = reservation.user, reservation.work
        known = self._users[user]
        known.load -= reservation.load
        if not known.load.num_jobs:
            del self._users[user]
        if reservation.is_background:
            self._background = max(0.0, self._background - work)
            self._num_background -= 1
            return
        known.num_jobs -= 1
        self._num_jobs -= 1
        known.work = known.work - work if known.num_jobs else 0.0
        self._total = max(0.0, self._total - work)
        if not known.num_jobs:
            self._total_weight -= known.weight

    def load_of(self, user: str) -> QueueLoad:
        """The load of all waiting jobs of this user."""
        known = self._users.get(user)
        return QueueLoad() if known is None else known.load

    @property
    def mean(self) -> float:
        """The work of a waiting job on average, background work aside; 0 where none waits."""
        return self._total / self._num_jobs if self._num_jobs else 0.0

    def ahead_of(self, reservation: Reservation) -> float:
        """The work that runs before a new job.

        While it and its user's earlier work are served, each other waiting user is served by weight, including
        later jobs.
        """
        if reservation.is_background:
            return self._total + self._background
        known = self._users.get(reservation.user)
        own, own_weight = (known.work, known.weight) if known and known.num_jobs else (0.0, 0)
        others = self._total_weight - own_weight
        return own + (own + reservation.work) * others / reservation.weight
