"""Threads that run one compiled function together, and sleep when there is nothing to run."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from workers.kernels.barrier import follow, new_barrier, notify_followers


class Team:
    """`size` threads for one compiled, nogil function `body(rank, size, signal, *arguments)`.

    The caller's thread is rank 0, and its body must `notify` the signal: the others wait for that outside of
    the interpreter, and find its lock free. `body` must end with a barrier: then `run` returns after every
    rank has done its part. One caller at a time.
    """

    def __init__(self, size: int, body: Callable[..., Any]) -> None:
        self.size = size
        self._body = body
        self._arguments: tuple[Any, ...] | None = None
        self._signal = new_barrier()
        self._threads = [
            threading.Thread(target=self._serve, args=(rank,), name=f"kernels-{rank}", daemon=True)
            for rank in range(1, size)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, *arguments: Any) -> None:
        """Run the body on all ranks; compiled for these argument types before (a rank cannot fail alone)."""
        self._arguments = arguments
        self._body(0, self.size, self._signal, *arguments)

    def close(self) -> None:
        """Stop the threads; `run` must not be called again."""
        self._arguments = None
        notify_followers(self._signal)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _serve(self, rank: int) -> None:
        seen = 0
        while True:
            seen = follow(self._signal, seen)
            if self._arguments is None:
                return
            self._body(rank, self.size, self._signal, *self._arguments)
