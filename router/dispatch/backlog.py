"""The work that waits, by user: kept as jobs come and go."""

from __future__ import annotations

SMALLEST = 1e-6
"""Sums of costs that came and went are not exactly 0."""


class Backlog:
    """Costs of waiting work: that of each user, and background work, which is nobody's."""

    def __init__(self) -> None:
        self._costs: dict[str, float] = {}
        self._weights: dict[str, int] = {}
        self._total = 0.0
        self._total_weight = 0
        self._background = 0.0

    def add(self, user: str, weight: int, cost: float, *, is_background: bool) -> None:
        """Work has come."""
        if is_background:
            self._background += cost
            return
        if user not in self._weights:
            self._weights[user] = weight
            self._total_weight += weight
        self._costs[user] = self._costs.get(user, 0.0) + cost
        self._total += cost

    def remove(self, user: str, cost: float, *, is_background: bool) -> None:
        """Work that was added with this cost has left."""
        if is_background:
            self._background = max(0.0, self._background - cost)
            return
        self._costs[user] -= cost
        self._total = max(0.0, self._total - cost)
        if self._costs[user] < SMALLEST:
            del self._costs[user]
            self._total_weight -= self._weights.pop(user)

    def ahead_of(self, user: str, weight: int, *, is_background: bool) -> float:
        """At most so much runs before a job of this user that comes now.

        While its own work before it is served, each other user who waits is served by weight.
        """
        if is_background:
            return self._total + self._background
        known = self._weights.get(user)
        own = self._costs.get(user, 0.0)
        others = self._total_weight - (known or 0)
        return min(self._total, own * (1 + others / (known or weight)))
