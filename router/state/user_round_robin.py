"""Round robin over users: many requests of one user do not delay another's."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

T = TypeVar("T")


class UserRoundRobin(Generic[T]):
    """A queue that serves users in turn, and background work when nothing else waits.

    A user's own requests keep their order.
    """

    def __init__(self) -> None:
        self._usual: OrderedDict[str, deque[T]] = OrderedDict()
        self._background: OrderedDict[str, deque[T]] = OrderedDict()

    def __bool__(self) -> bool:
        return bool(self._usual or self._background)

    def put(self, item: T, user: str, *, is_background: bool) -> None:
        lines = self._background if is_background else self._usual
        lines.setdefault(user, deque()).append(item)

    def has(self, may_go: Callable[[str], bool]) -> bool:
        """True if `take` would find one."""
        return any(may_go(user) for lines in (self._usual, self._background) for user in lines)

    def take(self, may_go: Callable[[str], bool] = lambda _: True) -> T | None:
        """The next request of a user who may go now; None if there is none."""
        return next(iter(self.take_together(may_go, lambda *_: False)), None)

    def take_together(self, may_go: Callable[[str], bool], joins: Callable[[Sequence[T], T], bool]) -> list[T]:
        """The request that `take` would return, and those of its user after it, as long as the next one `joins` them.

        Empty if there is none.
        """
        for lines in (self._usual, self._background):
            for user, line in lines.items():
                if may_go(user):
                    items = [line.popleft()]
                    while line and joins(items, line[0]):
                        items.append(line.popleft())
                    del lines[user]
                    if line:
                        lines[user] = line
                    return items
        return []
