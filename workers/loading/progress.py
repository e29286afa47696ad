"""What a worker does until it is ready, for those who wait for it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cactus_actors.process.health import LoadingPhase


class LoadingProgress:
    """Written by the thread that loads a model, read by any other."""

    def __init__(self) -> None:
        self.phase: LoadingPhase = "loading"
        self.share_done: float | None = None
        """Of the phase, if that is known."""
        self._num_compiling = 0

    def on_packed(self, num_bytes: int, total_bytes: int) -> None:
        """So much of the weights is packed."""
        is_over = num_bytes >= total_bytes
        self.phase = "loading" if is_over else "packing"
        self.share_done = None if is_over else num_bytes / total_bytes

    @contextmanager
    def track_compilation(self) -> Iterator[None]:
        """Note when numba compiles something that it does not find in its cache."""
        from numba.core.event import Event, Listener, install_listener

        progress = self

        class Compiling(Listener):  # type: ignore[misc]
            def on_start(self, event: Event) -> None:  # noqa: ARG002
                progress.on_compiling(1)

            def on_end(self, event: Event) -> None:  # noqa: ARG002
                progress.on_compiling(-1)

        with install_listener("numba:compile", Compiling()):
            yield

    def on_compiling(self, change: int) -> None:
        """One more function is being compiled, or one less: they nest."""
        self._num_compiling += change
        self.phase = "compiling" if self._num_compiling else "loading"
