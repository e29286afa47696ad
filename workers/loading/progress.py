"""Progress of a worker that loads its model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from cactus_actors.process.health import LoadingPhase


class LoadingProgress:
    """Written by the thread that loads a model, read by any thread."""

    def __init__(self) -> None:
        self.phase: LoadingPhase = "loading"
        self.share_done: float | None = None
        """Of the phase, if that is known."""
        self._num_compiling = 0

    def on_packed(self, num_bytes: int, total_bytes: int) -> None:
        """`num_bytes` of `total_bytes` of the weights are packed."""
        is_over = num_bytes >= total_bytes
        self.phase = "loading" if is_over else "packing"
        self.share_done = None if is_over else num_bytes / total_bytes

    @contextmanager
    def track_compilation(self) -> Iterator[None]:
        """Record when numba compiles something that is not in its cache."""
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
        """Compilation of a function began (1) or ended (-1); compilations nest."""
        self._num_compiling += change
        self.phase = "compiling" if self._num_compiling else "loading"
