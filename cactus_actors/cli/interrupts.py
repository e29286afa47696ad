"""Handles signals of commands that must clean up."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

from cactus_actors.process.delayed_signals import ENDING_SIGNALS

T = TypeVar("T")


class Interrupted(Exception):
    """Work was cancelled by a signal; `exit_code` is 128 plus its number."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.exit_code = 128 + number


@contextlib.contextmanager
def raising_interrupted() -> Iterator[None]:
    """Within the context SIGTERM and SIGHUP raise Interrupted, unless they are ignored."""

    def on_signal(number: int, _: FrameType | None) -> None:
        raise Interrupted(number)

    heeded = (signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in heeded}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, on_signal)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def insisting_interrupts() -> Iterator[None]:
    """Within the context Ctrl-C raises KeyboardInterrupt, or at its end if that was dropped.

    Python drops what is raised in a callback of a weak reference.
    """
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:
        yield
        return
    received: list[int] = []

    def on_signal(number: int, _: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, on_signal)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
    if received:
        raise KeyboardInterrupt


async def interruptible(work: Coroutine[Any, Any, T], on_first: Callable[[], None] | None = None) -> T:
    """Run `work`; the first signal cancels it and raises Interrupted, a second one ends the process.

    `on_first` is called at the first signal, before `work` is cancelled.

    Signals that are ignored from the start stay ignored, as under `nohup`.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    received: list[int] = []

    def on_signal(number: int) -> None:
        if received:
            os._exit(128 + number)
        received.append(number)
        if on_first is not None:
            on_first()
        task.cancel()

    heeded = [number for number in ENDING_SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    for number in heeded:
        loop.add_signal_handler(number, on_signal, number)
    try:
        return await task
    except asyncio.CancelledError:
        if not received:
            raise
        raise Interrupted(received[0]) from None
    finally:
        for number in heeded:
            loop.remove_signal_handler(number)
