"""An interrupt of the waiting thread cancels the work in the other one at any moment."""

from __future__ import annotations

import asyncio
import sys
import threading
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
    with before_each_line(lambda: lines.append(None)):
        loop.run(asyncio.sleep(0))
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
