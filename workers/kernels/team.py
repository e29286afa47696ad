"""Threads that run one compiled function together, and sleep between its calls."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Team:
    """`size` threads for one compiled, nogil function `body(rank, size, *arguments)`.

    The caller's thread is rank 0; the others wait on a semaphore and burn nothing between calls. `body`
    must end with a barrier: then `run` returns after every rank has done its part. One caller at a time.
    """

    def __init__(self, size: int, body: Callable[..., Any]) -> None:
        self.size = size
        self._body = body
        self._arguments: tuple[Any, ...] | None = None
        self._wakes = [threading.Semaphore(0) for _ in range(1, size)]
        self._threads = [
            threading.Thread(target=self._serve, args=(rank, wake), name=f"kernels-{rank}", daemon=True)
            for rank, wake in enumerate(self._wakes, start=1)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, *arguments: Any) -> None:
        """Run the body on all ranks; compiled for these argument types before (a rank cannot fail alone)."""
        self._arguments = arguments
        self._wake()
        self._body(0, self.size, *arguments)

    def close(self) -> None:
        """Stop the threads; `run` must not be called again."""
        self._arguments = None
        self._wake()
        for thread in self._threads:
            thread.join()
        self._threads.clear()
        self._wakes.clear()

    def _wake(self) -> None:
        for wake in self._wakes:
            wake.release()

    def _serve(self, rank: int, wake: threading.Semaphore) -> None:
        while True:
            wake.acquire()
            if self._arguments is None:
                return
            self._body(rank, self.size, *self._arguments)
