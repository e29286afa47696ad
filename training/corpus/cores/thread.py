"""A conversation as cores."""

from __future__ import annotations

from dataclasses import dataclass

from training.corpus.cores.core import Core

KIND = "follow-ups"


@dataclass(frozen=True, slots=True)
class Thread:
    """Questions that follow one another; only the last is new where a thread is held out."""

    earlier: tuple[Core, ...]
    last: Core
