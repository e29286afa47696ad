"""A compact set of 64-bit hashes of custom_ids."""

from __future__ import annotations

import hashlib
from array import array
from bisect import bisect_left

_NUM_BUCKETS = 1024  # short buckets: an insertion moves the entries after it


class CustomIdSet:
    """Hashes in sorted arrays: about ten bytes each, a tenth of a set of integers."""

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
        """Add a hash; returns False if it was present."""
        bucket = self._buckets[key % _NUM_BUCKETS]
        place = bisect_left(bucket, key)
        if place < len(bucket) and bucket[place] == key:
            return False
        bucket.insert(place, key)
        self._num_keys += 1
        return True


def custom_id_hash(custom_id: str) -> int:
    """The 64-bit hash of a custom_id."""
    return int.from_bytes(hashlib.blake2b(custom_id.encode("utf-8", "surrogatepass"), digest_size=8).digest())
