"""Shares of a limited resource that callers' open requests hold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from cactus_actors.protocol.errors import Overloaded


class CallerShares:
    """Units of one resource, `max_units` in all, taken and released by callers.

    A caller may always hold `min_units` if they are free, and more while at least as much is free as it holds (the
    dynamic thresholds of Choudhury and Hahne): one caller alone gets half, and any number of callers leave a part
    free. A caller is an API key, or an address without keys.
    """

    def __init__(self, max_units: int, min_units: int, what: str) -> None:
        """`what` names the units in errors."""
        self.max_units = max_units
        self._min_units = min_units
        self.num_units = 0
        self._what = what
        self._of_caller: Counter[Hashable] = Counter()

    def take(self, caller: Hashable, num_units: int) -> None:
        """Hold more units; raises Overloaded if the caller's share has no room for them."""
        held, num_free = self._of_caller[caller] + num_units, self.max_units - self.num_units - num_units
        if num_free < 0 or held > max(self._min_units, num_free):
            raise Overloaded(f"{self.num_units} {self._what}, of at most {self.max_units}", retry_after=1.0)
        self._of_caller[caller] = held
        self.num_units += num_units

    def release(self, caller: Hashable, num_units: int) -> None:
        """Hold fewer units."""
        self.num_units -= num_units
        self._of_caller[caller] -= num_units
        if not self._of_caller[caller]:
            del self._of_caller[caller]


class Share:
    """The share of one request; `release` it with the response.

    `caller` may be changed while it holds nothing.
    """

    def __init__(self, shares: CallerShares, caller: Hashable) -> None:
        self.caller = caller
        self._shares = shares
        self._num_units = 0

    def add(self, num_units: int) -> None:
        """Hold more units; raises Overloaded if there is no room for them."""
        self._shares.take(self.caller, num_units)
        self._num_units += num_units

    def set(self, num_units: int) -> None:
        """Hold this number of units; without room it raises Overloaded and holds as many as before."""
        if num_units > self._num_units:
            self.add(num_units - self._num_units)
        else:
            self._shares.release(self.caller, self._num_units - num_units)
            self._num_units = num_units

    def release(self) -> None:
        """Release all units."""
        self.set(0)
