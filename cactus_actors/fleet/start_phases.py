"""The phases of a start, for progress displays."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

PhaseName = Literal["placing", "loading", "packing", "compiling"]

TEXTS: dict[PhaseName, str] = {
    "placing": "waiting for a place",
    "loading": "loading the model",
    "packing": "packing the weights, once for each model and format",
    "compiling": "compiling the kernels, once for each format",
}


@dataclass(frozen=True)
class StartPhase:
    """The phase of an actor's start; `share_done` is the completed share, if known.

    `num_compiled` rises with each compiled function: a slow machine that compiles for minutes makes progress.
    `compiling` is the function that is compiled.
    """

    who: str
    name: PhaseName
    share_done: float | None = None
    num_compiled: int = 0
    compiling: str = ""

    @property
    def text(self) -> str:
        """The phase as a line of text."""
        return f"{self.who}: {TEXTS[self.name]}"

    @property
    def now(self) -> str:
        """What is done within the phase, if it is known; otherwise `text`."""
        if not self.compiling:
            return self.text
        return f"{self.who}: compiling {self.compiling}, {self.num_compiled} functions so far"


ShowPhase = Callable[[StartPhase], None]


class PhaseAnnouncer:
    """Announces each phase of each actor once."""

    def __init__(self, announce: Callable[[str], None]) -> None:
        self._announce = announce
        self._announced: set[tuple[str, str]] = set()

    def __call__(self, phase: StartPhase) -> None:
        if (phase.who, phase.name) not in self._announced:
            self._announced.add((phase.who, phase.name))
            self._announce(phase.text)
