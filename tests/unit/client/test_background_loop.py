"""An interrupt of the waiting thread cancels the work in the other one at any moment."""

from __future__ import annotations

import asyncio
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

import pytest

from cactus_actors.client import background_loop
from cactus_actors.client.background_loop import BackgroundLoop
from tests.support.router.scripted_router import until


class EndlessWork:
    """Runs until it is cancelled."""

    def __init__(self) -> None:
        self.has_begun, self.has_ended = threading.Event(), threading.Event()

    async def run(self) -> None:
        self.has_begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.has_ended.set()


@contextmanager
def before_each_line(call: Callable[[], None]) -> Iterator[None]:
    """Call a function in this thread before each line of the module under test, when it is first executed."""
    seen: set[tuple[str, int]] = set()  # a `with` is traced twice; no signal is handled between it and its end

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if frame.f_code.co_filename != background_loop.__file__:
            return None
        line = frame.f_code.co_name, frame.f_lineno
        if event == "line" and line not in seen:
            seen.add(line)
            call()
        return trace

    others = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(others)


def test_an_interrupt_cancels_the_work_however_early_it_comes() -> None:
    loop = BackgroundLoop("test")
    lines: list[None] = []
    has_ended = threading.Event()

    async def short_work() -> None:
        await asyncio.sleep(3 * background_loop.SIGNAL_CHECK_S)
        has_ended.set()

    with before_each_line(lambda: None if has_ended.is_set() else lines.append(None)):
        loop.run(short_work())
    assert len(lines) > 5
    num_begun = 0
    for number in range(1, len(lines) + 1):
        work, left = EndlessWork(), [None] * number

        def interrupt(work: EndlessWork = work, left: list[None] = left) -> None:
            left.pop()
            if not left:
                sys.settrace(None)
                work.has_begun.wait(0.2)  # the other thread gets as far as it can
                raise KeyboardInterrupt

        coroutine = work.run()
        with pytest.raises(KeyboardInterrupt), before_each_line(interrupt):
            loop.run(coroutine)
        num_begun += work.has_begun.is_set()
        until(lambda work=work: not work.has_begun.is_set() or work.has_ended.is_set())  # type: ignore[misc]
        coroutine.close()
    assert num_begun
    loop.close(asyncio.sleep(0))


def test_an_interrupt_that_does_not_wake_the_waiting_thread_is_not_lost() -> None:
    """As one that arrives just before the wait: here another thread gets the signal."""
    loop = BackgroundLoop("test")
    begun = threading.Event()
    ended: list[None] = []

    async def work() -> None:
        begun.set()
        await asyncio.sleep(10)
        ended.append(None)

    def interrupt() -> None:
        begun.wait()
        time.sleep(0.1)  # by then the main thread waits; earlier it would notice the signal before
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    other = threading.Thread(target=interrupt)
    other.start()
    with pytest.raises(KeyboardInterrupt):
        loop.run(work())
    other.join()
    loop.close(asyncio.sleep(0))
    assert not ended


def test_the_waiting_thread_runs_no_callback_of_the_work() -> None:
    """Python ignores an exception in the callback of a weak reference, also that of an interrupt."""
    loop = BackgroundLoop("test")
    callers: list[str] = []
    references: list[weakref.ref[object]] = []

    async def work() -> None:
        task = asyncio.current_task()
        assert task is not None
        references.append(weakref.ref(task, lambda _: callers.append(threading.current_thread().name)))

    loop.run(work())
    loop.close(asyncio.sleep(0))
    assert callers == ["test"]


def test_the_thread_of_the_loop_gets_no_interrupt() -> None:
    loop = BackgroundLoop("test")

    async def mask() -> set[int]:
        return {int(number) for number in signal.pthread_sigmask(signal.SIG_BLOCK, ())}

    assert signal.SIGINT in loop.run(mask())
    assert signal.SIGINT not in signal.pthread_sigmask(signal.SIG_BLOCK, ())
    loop.close(asyncio.sleep(0))
