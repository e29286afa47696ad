"""Events of numba's compiler, and compilations of other processes."""

from __future__ import annotations

import fcntl
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_log = logging.getLogger(__name__)


def log_other_compilation(directory: Path) -> None:
    """Log it if another process compiles into this directory: a load waits until it has ended (`compile_lock`)."""
    with suppress(FileNotFoundError):
        lock = os.open(directory / "compiling.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            _log.warning("the model waits for another process that compiles kernels into %s", directory)
        finally:
            os.close(lock)


@contextmanager
def watch_compilation(on_change: Callable[[int, str], None]) -> Iterator[None]:
    """Call `on_change` with 1 and a name when numba starts to compile a function not in its cache, with -1 at the end.

    Compilations nest: callees are compiled while their caller is.
    """
    from numba.core.event import Event, Listener, install_listener

    class Compilations(Listener):  # type: ignore[misc]
        def on_start(self, event: Event) -> None:
            on_change(1, event.data["dispatcher"].py_func.__name__)

        def on_end(self, event: Event) -> None:
            on_change(-1, event.data["dispatcher"].py_func.__name__)

    with install_listener("numba:compile", Compilations()):
        yield
