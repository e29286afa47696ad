"""Runs long work on texts in one separate thread, round robin by caller."""

from __future__ import annotations

import asyncio
import functools
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Hashable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from cactus_actors.protocol.errors import Overloaded

T = TypeVar("T")

MAX_OF_ONE, MAX_WAITING = 32, 1024
"""Waiting and running tasks of one caller, and of all."""
MAX_CHARACTERS_OF_ONE = 2_000_000
FIRST_PACE, PACE_SHARE = 1e-6, 0.2
"""Seconds a character before any measurement, and the weight of each measurement in the average."""


@dataclass(eq=False, slots=True)
class _Work:
    asker: Hashable
    num_characters: int
    do: Callable[[], Any]
    done: asyncio.Future[Any]


class TextQueue:
    """One thread: more would take too much of the interpreter from the loop.

    It is always the same one, since tokenizers keep memory for each thread. A caller is an API key, or an address
    without keys. Belongs to one event loop.
    """

    def __init__(self, max_of_one: int = MAX_OF_ONE, max_characters_of_one: int | None = MAX_CHARACTERS_OF_ONE) -> None:
        self._max_of_one = max_of_one
        self._max_characters_of_one = max_characters_of_one
        self._lines: OrderedDict[Hashable, deque[_Work]] = OrderedDict()
        self._num_works: Counter[Hashable] = Counter()
        self._num_characters: Counter[Hashable] = Counter()
        self._num_in_all = 0
        self._is_busy = False
        self._pace = FIRST_PACE
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="text")

    async def result(self, asker: Hashable, num_characters: int, work: Callable[[], T]) -> T:
        """Result of `work` on this number of characters; raises Overloaded for more than a caller may have."""
        self._check_room(asker, num_characters)
        done: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._lines.setdefault(asker, deque()).append(_Work(asker, num_characters, work, done))
        self._num_works[asker] += 1
        self._num_characters[asker] += num_characters
        self._num_in_all += 1
        self._begin_next()
        return await done

    def _check_room(self, asker: Hashable, num_characters: int) -> None:
        waiting, most = self._num_characters[asker], self._max_characters_of_one
        if (
            self._num_works[asker] >= self._max_of_one
            or (most is not None and waiting and waiting + num_characters > most)
            or self._num_in_all >= MAX_WAITING
        ):
            raise Overloaded(
                f"{self._num_works[asker]} of your texts are being processed already",
                retry_after=max(1.0, self._pace * waiting),
            )

    def _begin_next(self) -> None:
        while not self._is_busy and (work := self._take()) is not None:
            if work.done.cancelled():  # the caller has left
                self._forget(work)
                continue
            self._is_busy = True
            loop = asyncio.get_running_loop()
            doing = loop.run_in_executor(self._thread, work.do)
            doing.add_done_callback(functools.partial(self._end, work, loop.time()))

    def _take(self) -> _Work | None:
        """The next task of the caller that has waited longest for a turn."""
        if not self._lines:
            return None
        asker, line = self._lines.popitem(last=False)
        work = line.popleft()
        if line:
            self._lines[asker] = line
        return work

    def _end(self, work: _Work, began: float, doing: asyncio.Future[Any]) -> None:
        loop = asyncio.get_running_loop()
        self._pace += PACE_SHARE * ((loop.time() - began) / max(1, work.num_characters) - self._pace)
        self._is_busy = False
        self._forget(work)
        self._begin_next()
        if work.done.cancelled():
            return
        if doing.cancelled():
            work.done.cancel()
        elif (error := doing.exception()) is not None:
            work.done.set_exception(error)
        else:
            work.done.set_result(doing.result())

    def _forget(self, work: _Work) -> None:
        self._num_in_all -= 1
        self._num_works[work.asker] -= 1
        self._num_characters[work.asker] -= work.num_characters
        if not self._num_works[work.asker]:
            del self._num_works[work.asker], self._num_characters[work.asker]
