"""An event loop in a thread of its own, for programs without one."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from cactus_actors.process.delayed_signals import signals_delayed
from cactus_actors.protocol.errors import Unavailable

T = TypeVar("T")

SIGNAL_CHECK_S = 0.2
"""A signal that arrives just before a thread blocks does not wake it: a wait is at most this long."""


class _Call(Generic[T]):
    """A coroutine that another thread waits for.

    It exists before the loop runs it, so that an interrupt of the other thread cancels it at any time. Python raises
    KeyboardInterrupt between any two instructions of the main thread, so that thread takes no lock that the loop waits
    for, and frees no task: the callbacks of weak references to a task would swallow the interrupt.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self._work = work
        self._task: asyncio.Task[T] | None = None
        self._result: T
        self._error: BaseException | None = None
        self._running = threading.Lock()
        self._running.acquire()

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        if self._task is None:
            self._work.close()
        else:
            self._task.cancel()

    def wait(self) -> T:
        """Wait in another thread for the result. Raises Unavailable if the loop was closed."""
        while not self._running.acquire(timeout=SIGNAL_CHECK_S):
            pass  # Python now handles a signal that arrived just before the wait
        if self._error is None:
            return self._result
        try:
            raise self._error
        finally:
            self._error = None  # its traceback refers to this call

    def _end(self, task: asyncio.Task[T]) -> None:
        self._task = None
        if task.cancelled():
            self._error = Unavailable("the client was closed")
        elif (error := task.exception()) is not None:
            self._error = error
        else:
            self._result = task.result()
        self._running.release()


class BackgroundLoop:
    """Runs coroutines for any number of threads, until `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()  # nothing is submitted to a closing loop
        self._is_closed = False
        self._thread = threading.Thread(target=self._run_loop, name=name, daemon=True)
        with signals_delayed():  # for good: the main thread handles signals
            self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Return what `work` returns; an interrupt (KeyboardInterrupt) cancels it. Raises Unavailable once closed."""
        call = _Call(work)
        try:
            with self._lock:
                if self._is_closed:
                    work.close()
                    raise Unavailable("the client was closed")
                self._loop.call_soon_threadsafe(call.begin)
            return call.wait()
        except BaseException:  # an interrupt ends the wait here and the work there
            with contextlib.suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(call.cancel)
            raise

    def start(self, work: Coroutine[Any, Any, object]) -> None:
        """Run `work` without waiting for it."""
        asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self, last: Coroutine[Any, Any, object]) -> None:
        """Run `last`, then end the thread; a second call only waits for that."""
        with self._lock:
            is_first, self._is_closed = not self._is_closed, True
        if is_first:
            call = _Call(last)
            self._loop.call_soon_threadsafe(call.begin)
            try:
                call.wait()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
        else:
            last.close()
        self._thread.join()

    def _run_loop(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()
