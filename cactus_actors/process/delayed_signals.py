"""Delays signals that end the process while a thread is started."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def signals_delayed() -> Iterator[None]:
    """Within the context this thread, and threads that it starts, get no signal that ends the process.

    A thread whose start is interrupted may run into the end of the interpreter, which prints a traceback. Other
    threads still get such signals, and Python then calls the handler in the main thread: threads that live as long as
    the process are started in this context, too.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING_SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
