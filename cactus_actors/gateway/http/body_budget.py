"""The bytes that the bodies of all open requests hold in memory together."""

from __future__ import annotations

from cactus_actors.protocol.errors import Overloaded


class BodyBudget:
    """What all requests hold, and the most that they may."""

    def __init__(self, max_bytes: int) -> None:
        self.num_bytes = 0
        self.max_bytes = max_bytes


class BodyReservation:
    """What one request holds; `release` it when it is answered."""

    def __init__(self, all_of_them: BodyBudget) -> None:
        self._all = all_of_them
        self._num_bytes = 0

    def add(self, num_bytes: int) -> None:
        """Hold so many more; raises Overloaded where there is no room for them."""
        if self._all.num_bytes + num_bytes > self._all.max_bytes:
            raise Overloaded(f"the bodies of open requests hold {self._all.max_bytes} bytes already", retry_after=1.0)
        self._num_bytes += num_bytes
        self._all.num_bytes += num_bytes

    def release(self) -> None:
        """Hold nothing."""
        self._all.num_bytes -= self._num_bytes
        self._num_bytes = 0
