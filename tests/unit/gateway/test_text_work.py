"""Work on texts outside the event loop: one at a time, clients in turn, with limits per client."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import pytest

from cactus_actors.gateway.text_queue import MAX_CHARACTERS_OF_ONE, MAX_OF_ONE, TextQueue
from cactus_actors.protocol.errors import Overloaded

LENGTH = 10


class Thread:
    """Records the finished work items, each of which waits for the test."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.num_at_once = self.most_at_once = 0
        self._may_go = threading.Semaphore(0)
        self._lock = threading.Lock()

    def let_go(self, number: int = 1) -> None:
        self._may_go.release(number)

    def work(self, name: str) -> Callable[[], str]:
        def do() -> str:
            with self._lock:
                self.num_at_once += 1
                self.most_at_once = max(self.most_at_once, self.num_at_once)
            assert self._may_go.acquire(timeout=60.0)
            with self._lock:
                self.num_at_once -= 1
            self.done.append(name)
            return name

        return do


async def begun(text_work: TextQueue, asker: str, thread: Thread) -> asyncio.Task[str]:
    """A task that waits for its turn."""
    task = asyncio.create_task(text_work.result(asker, LENGTH, thread.work(asker)))
    await asyncio.sleep(0)
    return task


async def test_a_client_with_one_request_is_served_before_the_rest_of_a_flood() -> None:
    text_work, thread = TextQueue(), Thread()
    flood = [await begun(text_work, "flooder", thread) for _ in range(MAX_OF_ONE)]
    neighbour = await begun(text_work, "neighbour", thread)
    thread.let_go(MAX_OF_ONE + 1)  # and waiting work never blocked the loop
    assert await neighbour == "neighbour"
    await asyncio.gather(*flood)
    assert thread.done.index("neighbour") <= 2  # after the running work, and one more of the flooder
    assert len(thread.done) == MAX_OF_ONE + 1
    assert thread.most_at_once == 1


async def test_a_request_above_the_limit_is_refused_until_another_ends() -> None:
    text_work, thread = TextQueue(), Thread()
    flood = [await begun(text_work, "flooder", thread) for _ in range(MAX_OF_ONE)]
    for _ in range(3):
        with pytest.raises(Overloaded) as refused:
            await text_work.result("flooder", LENGTH, thread.work("flooder"))
        assert refused.value.retry_after is not None
        assert refused.value.retry_after >= 1.0
    other = await begun(text_work, "neighbour", thread)
    thread.let_go()
    await asyncio.wait(flood, return_when=asyncio.FIRST_COMPLETED)
    flood.append(await begun(text_work, "flooder", thread))
    thread.let_go(MAX_OF_ONE + 1)
    assert set(await asyncio.gather(*flood, other)) == {"flooder", "neighbour"}


async def test_characters_of_a_caller_are_bounded_and_a_single_text_is_accepted() -> None:
    text_work, thread = TextQueue(), Thread()
    first = asyncio.create_task(text_work.result("a", 2 * MAX_CHARACTERS_OF_ONE, thread.work("a")))
    await asyncio.sleep(0)
    with pytest.raises(Overloaded):
        await text_work.result("a", 1, thread.work("a"))
    thread.let_go()
    assert await first == "a"


async def test_a_cancelled_request_frees_its_place_and_running_work_continues() -> None:
    text_work, thread = TextQueue(), Thread()
    tasks = [await begun(text_work, "a", thread) for _ in range(5)]
    for task in tasks[:4]:
        task.cancel()
    await asyncio.gather(*tasks[:4], return_exceptions=True)
    thread.let_go(5)
    assert await tasks[4] == "a"
    assert thread.done == ["a", "a"]  # the one that ran when its client left, and the one that stayed
    assert thread.most_at_once == 1
    assert await text_work.result("a", LENGTH, thread.work("a")) == "a"


async def test_a_failure_affects_its_own_request_only() -> None:
    def fail() -> str:
        raise ValueError("broken")

    text_work, thread = TextQueue(), Thread()
    failing = asyncio.create_task(text_work.result("a", LENGTH, fail))
    other = await begun(text_work, "a", thread)
    thread.let_go()
    with pytest.raises(ValueError, match="broken"):
        await failing
    assert await other == "a"
