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
def watch_compilation(on_change: Callable[[int], None]) -> Iterator[None]:
    """Call `on_change` with 1 when numba starts to compile a function not in its cache, with -1 at the end."""
    from numba.core.event import Event, Listener, install_listener

    class Compilations(Listener):  # type: ignore[misc]
        def on_start(self, event: Event) -> None:  # noqa: ARG002
            on_change(1)

        def on_end(self, event: Event) -> None:  # noqa: ARG002
            on_change(-1)

    with install_listener("numba:compile", Compilations()):
        yield
