"""Whose request is next: nobody's many requests hold up another's one."""

from __future__ import annotations

import threading
from collections import OrderedDict, deque
from typing import Generic, TypeVar

T = TypeVar("T")


class Turns(Generic[T]):
    """A queue between threads that serves users in turn, and background work when nothing else waits.

    A user's own requests keep their order.
    """

    def __init__(self) -> None:
        self._usual: OrderedDict[str, deque[T]] = OrderedDict()
        self._background: OrderedDict[str, deque[T]] = OrderedDict()
        self._changed = threading.Condition()
        self._is_closed = False

    def put(self, item: T, user: str, *, is_background: bool) -> None:
        with self._changed:
            lines = self._background if is_background else self._usual
            lines.setdefault(user, deque()).append(item)
            self._changed.notify()

    def get(self) -> T | None:
        """Wait for the next one; None after `close`, when nothing is left."""
        with self._changed:
            while not (lines := self._usual or self._background):
                if self._is_closed:
                    return None
                self._changed.wait()
            user, line = lines.popitem(last=False)
            item = line.popleft()
            if line:
                lines[user] = line
            return item

    def close(self) -> None:
        """Let `get` come to an end."""
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
