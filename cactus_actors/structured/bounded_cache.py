"""A cache within a budget of entries and of bytes."""

from __future__ import annotations

import math
import threading
from collections import OrderedDict
from typing import Generic, TypeVar

Value = TypeVar("Value")


class BoundedCache(Generic[Value]):
    """The entries used last; `num_bytes` is the sum of the sizes given to `put`. Threads may share it."""

    def __init__(self, max_bytes: int, max_entries: float = math.inf) -> None:
        self.num_bytes = 0
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._entries: OrderedDict[str, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> Value | None:
        with self._lock:
            if key not in self._entries:
                return None
            self._entries.move_to_end(key)
            return self._entries[key][0]

    def drop(self, key: str) -> None:
        """Keep no value under this key."""
        with self._lock:
            if (entry := self._entries.pop(key, None)) is not None:
                self.num_bytes -= entry[1]

    def put(self, key: str, value: Value, num_bytes: int) -> None:
        """Keep a value of that size; a key that is known keeps its value."""
        with self._lock:
            if key in self._entries:
                return
            self._entries[key] = value, num_bytes
            self.num_bytes += num_bytes
            while self.num_bytes > self._max_bytes or len(self._entries) > self._max_entries:
                _, (_, freed) = self._entries.popitem(last=False)
                self.num_bytes -= freed
