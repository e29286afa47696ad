"""A set of 64-bit keys in little more memory than the keys themselves."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left

_NUM_BUCKETS = 1024  # short buckets: adding moves what stands behind


class CustomIdSet:
    """Keys in sorted arrays: ten bytes each, where a set of integers takes a hundred."""

    def __init__(self) -> None:
        self._buckets = [array("Q") for _ in range(_NUM_BUCKETS)]
        self._num_keys = 0

    def __len__(self) -> int:
        return self._num_keys

    def __contains__(self, key: int) -> bool:
        bucket = self._buckets[key % _NUM_BUCKETS]
        place = bisect_left(bucket, key)
        return place < len(bucket) and bucket[place] == key

    def add(self, key: int) -> bool:
        """Whether it was not there yet."""
        bucket = self._buckets[key % _NUM_BUCKETS]
        place = bisect_left(bucket, key)
        if place < len(bucket) and bucket[place] == key:
            return False
        bucket.insert(place, key)
        self._num_keys += 1
        return True


def custom_id_hash(custom_id: str) -> int:
    """64 bits that stand for a custom_id, so that a million of them fit in little memory."""
    return int.from_bytes(hashlib.blake2b(custom_id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
