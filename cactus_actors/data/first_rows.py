"""Finds the first of equal rows."""

from __future__ import annotations

from array import array
from bisect import bisect_left

_NUM_BUCKETS = 1024  # short buckets: an insertion moves the entries after it


class FirstRows:
    """The number of the first row of each 64-bit hash, in sorted arrays of about 20 bytes for each."""

    def __init__(self) -> None:
        self._keys = [array("Q") for _ in range(_NUM_BUCKETS)]
        self._numbers = [array("Q") for _ in range(_NUM_BUCKETS)]

    def number_of(self, key: int, number: int) -> int:
        """The number of the first row with this hash, which is `number` if there was none."""
        keys, numbers = self._keys[key % _NUM_BUCKETS], self._numbers[key % _NUM_BUCKETS]
        place = bisect_left(keys, key)
        if place < len(keys) and keys[place] == key:
            return numbers[place]
        keys.insert(place, key)
        numbers.insert(place, number)
        return number
