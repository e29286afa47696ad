"""Events of numba's compiler."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager


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
