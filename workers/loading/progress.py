"""Progress of a worker that loads its model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

import msgspec

from cactus_actors.process.health import LoadingPhase
from cactus_actors.workers.loading.compile_events import watch_compilation

_SHOWN_FIRST: tuple[LoadingPhase, ...] = ("loading", "compiling", "packing")


class LoadingState(msgspec.Struct, frozen=True, kw_only=True):
    """The progress of a process at one moment, for another process (see LoadingProgress)."""

    phase: LoadingPhase
    share_done: float | None
    has_packed: bool
    num_compiled: int
    compiling: str


def combined(states: Sequence[LoadingState]) -> LoadingState:
    """The state of processes that load one model together: packing, whose share is known, is shown first."""
    shown = max(states, key=lambda state: _SHOWN_FIRST.index(state.phase))
    return LoadingState(
        phase=shown.phase,
        share_done=shown.share_done,
        has_packed=any(state.has_packed for state in states),
        num_compiled=sum(state.num_compiled for state in states),
        compiling=shown.compiling,
    )


class LoadingProgress:
    """Written by the thread that loads a model, read by any thread; that thread calls `on_change` at each change."""

    def __init__(self, on_change: Callable[[LoadingProgress], None] = lambda _: None) -> None:
        self._on_change = on_change
        self.phase: LoadingPhase = "loading"
        self.share_done: float | None = None
        """The completed share of the phase, if known."""
        self.has_packed = False
        """True if weights were packed, and not found."""
        self.has_compiled = False
        """True if code was compiled, and not found."""
        self.num_compiled = 0
        """Functions that were compiled so far."""
        self._compiling: list[str] = []

    @property
    def compiling(self) -> str:
        """The function that is compiled, empty if none is."""
        return self._compiling[-1] if self._compiling else ""

    @property
    def state(self) -> LoadingState:
        """The present state."""
        return LoadingState(
            phase=self.phase,
            share_done=self.share_done,
            has_packed=self.has_packed,
            num_compiled=self.num_compiled,
            compiling=self.compiling,
        )

    def follow(self, state: LoadingState) -> None:
        """Take the state of a process that loads the model in the place of this one."""
        self.phase, self.share_done, self.num_compiled = state.phase, state.share_done, state.num_compiled
        self.has_packed |= state.has_packed
        self._compiling = [state.compiling] if state.compiling else []
        self._on_change(self)

    def on_packed(self, num_bytes: int, total_bytes: int) -> None:
        """`num_bytes` of `total_bytes` of the weights are packed."""
        is_over = num_bytes >= total_bytes
        self.phase = "loading" if is_over else "packing"
        self.share_done = None if is_over else num_bytes / total_bytes
        self.has_packed = True
        self._on_change(self)

    def track_compilation(self) -> AbstractContextManager[None]:
        """Record when numba compiles something that is not in its cache."""
        return watch_compilation(self.on_compiling)

    def on_compiling(self, change: int, function: str) -> None:
        """Compilation of a function began (1) or ended (-1); compilations nest."""
        if change > 0:
            self._compiling.append(function)
        else:
            self._compiling.pop()
            self.num_compiled += 1
        self.phase = "compiling" if self._compiling else "loading"
        self._on_change(self)
