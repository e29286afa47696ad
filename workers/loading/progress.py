"""Progress of a worker that loads its model."""

from __future__ import annotations

from contextlib import AbstractContextManager

from cactus_actors.process.health import LoadingPhase
from cactus_actors.workers.loading.compile_events import watch_compilation


class LoadingProgress:
    """Written by the thread that loads a model, read by any thread."""

    def __init__(self) -> None:
        self.phase: LoadingPhase = "loading"
        self.share_done: float | None = None
        """The completed share of the phase, if known."""
        self.num_compiled = 0
        """Functions that were compiled so far."""
        self._num_compiling = 0

    def on_packed(self, num_bytes: int, total_bytes: int) -> None:
        """`num_bytes` of `total_bytes` of the weights are packed."""
        is_over = num_bytes >= total_bytes
        self.phase = "loading" if is_over else "packing"
        self.share_done = None if is_over else num_bytes / total_bytes

    def track_compilation(self) -> AbstractContextManager[None]:
        """Record when numba compiles something that is not in its cache."""
        return watch_compilation(self.on_compiling)

    def on_compiling(self, change: int) -> None:
        """Compilation of a function began (1) or ended (-1); compilations nest."""
        self._num_compiling += change
        self.num_compiled += change < 0
        self.phase = "compiling" if self._num_compiling else "loading"
