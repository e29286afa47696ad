"""An event loop in a thread of its own, for programs without one."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import threading
from collections.abc import Coroutine
from typing import Any, Generic, TypeVar

from cactus_actors.protocol.errors import Unavailable

T = TypeVar("T")


class _Call(Generic[T]):
    """A coroutine that another thread waits for.

    It exists before the loop runs it, so that an interrupt of the other thread cancels it at any time.
    """

    def __init__(self, work: Coroutine[Any, Any, T]) -> None:
        self.done: concurrent.futures.Future[T] = concurrent.futures.Future()
        self._work = work
        self._task: asyncio.Task[T] | None = None

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._work)
        self._task.add_done_callback(self._end)

    def cancel(self) -> None:
        if self._task is None:
            self._work.close()
        else:
            self._task.cancel()

    def _end(self, task: asyncio.Task[T]) -> None:
        if task.cancelled():
            self.done.cancel()
        elif (error := task.exception()) is not None:
            self.done.set_exception(error)
        else:
            self.done.set_result(task.result())


class BackgroundLoop:
    """Runs coroutines for any number of threads, until `close`."""

    def __init__(self, name: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()  # nothing is submitted to a closing loop
        self._is_closed = False
        self._thread = threading.Thread(target=self._run_loop, name=name, daemon=True)
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
            return call.done.result()
        except concurrent.futures.CancelledError:
            raise Unavailable("the client was closed") from None
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
            try:
                asyncio.run_coroutine_threadsafe(last, self._loop).result()
            finally:
                self._loop.call_soon_threadsafe(self._loop.stop)
        else:
            last.close()
        self._thread.join()

    def _run_loop(self) -> None:
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.get_loop().run_forever()
