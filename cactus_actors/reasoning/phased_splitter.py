"""The common part of splitters that go through a text phase by phase."""

from __future__ import annotations

from abc import ABC, abstractmethod

from cactus_actors.reasoning.split import Split
from cactus_actors.reasoning.trimmed import TrimmedText


class PhasedSplitter(ABC):
    """Holds text until a phase can tell what it is, and tells it as reasoning or as the answer's text."""

    def __init__(self) -> None:
        self._held = ""
        self._trimmed = TrimmedText()
        self._reasoning: list[str] = []
        self._text: list[str] = []

    def feed(self, text: str) -> Split:
        self._held += text
        while self._held and self._advance(is_over=False):
            pass
        return self._told()

    def finish(self) -> Split:
        while self._held and self._advance(is_over=True):
            pass
        return self._told()

    def _told(self) -> Split:
        told = Split("".join(self._reasoning), "".join(self._text))
        self._reasoning, self._text = [], []
        return told

    @abstractmethod
    def _advance(self, *, is_over: bool) -> bool:
        """One change of phase, if what is held allows one."""
