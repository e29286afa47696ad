"""The load of the queues of several models together."""

from __future__ import annotations

from cactus_actors.router.state.queue_load import QueueLoad
from cactus_actors.router.state.reservation import Reservation


class QueuedLoads:
    """The load of all reservations and waiting jobs, in all and of each user.

    Each queue's Backlog has the loads of users, too. A sum of these for every request would cost more with each model;
    kept here, they cost the same however many models there are.
    """

    def __init__(self) -> None:
        self.total = QueueLoad()
        self._of_users: dict[str, QueueLoad] = {}

    def add(self, reservation: Reservation) -> None:
        """Add the load of a reservation, or of a job that waits."""
        self.total += reservation.load
        own = self._of_users.setdefault(reservation.user, QueueLoad())
        own += reservation.load

    def remove(self, reservation: Reservation) -> None:
        """Remove the load of a reservation that was added."""
        self.total -= reservation.load
        own = self._of_users[reservation.user]
        own -= reservation.load
        if not own.num_jobs:
            del self._of_users[reservation.user]

    def load_of(self, user: str) -> QueueLoad:
        """The load of this user."""
        return self._of_users.get(user, QueueLoad())
