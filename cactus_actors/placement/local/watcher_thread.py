"""A thread that polls file descriptors, and starts the processes that must end with it."""

from __future__ import annotations

import contextlib
import os
import queue
import selectors
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class WatcherThread:
    """Calls back when a descriptor is readable.

    A process with a parent-death signal ends with the *thread* that started it, so all processes of a placement
    are started here.
    """

    def __init__(self, name: str) -> None:
        self._selector = selectors.DefaultSelector()
        self._calls: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._reader, self._writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(self._writer, False)
        self._selector.register(self._reader, selectors.EVENT_READ, self._drain_wakeups)
        self._is_closing = False
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def watch(self, descriptor: int, on_readable: Callable[[], None]) -> None:
        """Call `on_readable` in this thread from now on. Must be called in this thread, like `unwatch`."""
        self._selector.register(descriptor, selectors.EVENT_READ, on_readable)

    def unwatch(self, descriptor: int) -> None:
        """Stop watching a descriptor, which must still be open."""
        with contextlib.suppress(KeyError):
            self._selector.unregister(descriptor)

    def do(self, action: Callable[[], T]) -> Future[T]:
        """Call `action` in this thread, soon."""
        future: Future[T] = Future()

        def call() -> None:
            try:
                future.set_result(action())
            except BaseException as error:
                future.set_exception(error)

        self._calls.put(call)
        with contextlib.suppress(BlockingIOError):  # a full pipe wakes the thread as well
            os.write(self._writer, b"\0")
        return future

    def close(self) -> None:
        """End the thread after the actions given before."""
        self.do(self._set_closing)
        self._thread.join()
        self._selector.close()
        os.close(self._reader)
        os.close(self._writer)

    def _set_closing(self) -> None:
        self._is_closing = True

    def _drain_wakeups(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.read(self._reader, 4096)

    def _run(self) -> None:
        while not self._is_closing:
            for key, _ in self._selector.select():
                on_readable: Any = key.data
                # An earlier callback of this round may have removed the watch, or reused its number.
                if self._selector.get_map().get(key.fd) is key:
                    on_readable()
            while not self._calls.empty():
                self._calls.get()()
