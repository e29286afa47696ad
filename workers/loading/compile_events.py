"""Events of numba's compiler."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager


class NotCompiled(Exception):
    """A function is not in numba's cache."""


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


def refuse_to_compile() -> AbstractContextManager[None]:
    """Raise NotCompiled where numba would compile a function in this thread; others may compile."""
    thread = threading.get_ident()

    def refuse(change: int, function: str) -> None:
        if change > 0 and threading.get_ident() == thread:
            raise NotCompiled(function)

    return watch_compilation(refuse)
