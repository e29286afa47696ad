"""Threads that run one compiled function together."""

from __future__ import annotations

import threading
from typing import Any

from cactus_actors.workers.kernels.barrier import dismiss, gather, new_barrier
from cactus_actors.workers.kernels.machine_code import Code, MachineCode


class ThreadTeam:
    """`size` threads for one compiled, nogil function `body(rank, size, signal, seen, *arguments)`.

    The caller's thread is rank 0: its body notifies the signal, works and returns. The bodies of other ranks
    `follow` the signal from number `seen` on, work on each notification, and return when they are dismissed:
    between two runs with the same arguments they never enter the interpreter. A body must end with a barrier:
    then `run` returns after all ranks have finished. One caller at a time.
    """

    def __init__(self, size: int, body: Any) -> None:
        self.size = size
        self._body = MachineCode(body)
        self._code: Code = body  # for the types of the arguments
        self._arguments: tuple[Any, ...] | None = None
        self._signal = new_barrier()
        self._seen = 0
        self._enter = [threading.Semaphore(0) for _ in range(1, size)]
        self._have_left = threading.Semaphore(0)
        self._threads = [
            threading.Thread(target=self._serve, args=(rank, enter), name=f"kernels-{rank}", daemon=True)
            for rank, enter in enumerate(self._enter, start=1)
        ]
        for thread in self._threads:
            thread.start()

    def run(self, *arguments: Any) -> None:
        """Run the body on all ranks; compiled for these argument types before (a rank cannot fail alone).

        Arguments are compared by identity: new ones make all threads enter the interpreter once.
        """
        current = self._arguments
        if current is None or any(new is not old for new, old in zip(arguments, current, strict=True)):
            self._hand_out(arguments)
        self._code(0, self.size, self._signal, 0, *arguments)

    def close(self) -> None:
        """Stop the threads; `run` must not be called again."""
        self._hand_out(None)
        for thread in self._threads:
            thread.join()
        self._threads.clear()

    def _hand_out(self, arguments: tuple[Any, ...] | None) -> None:
        """Let all threads come back to the interpreter and enter the body with these arguments."""
        if arguments is not None:
            self._code = self._body.of(0, self.size, self._signal, 0, *arguments)
        if self._arguments is not None:
            dismiss(self._signal)
            for _ in self._enter:
                self._have_left.acquire()
            self._seen = gather(self._signal)
        self._arguments = arguments
        for enter in self._enter:
            enter.release()

    def _serve(self, rank: int, enter: threading.Semaphore) -> None:
        while True:
            enter.acquire()
            if self._arguments is None:
                return
            self._code(rank, self.size, self._signal, self._seen, *self._arguments)
            self._have_left.release()
