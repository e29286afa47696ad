"""Searches a growing text for literal marks."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Marks:
    """The marks to search for; of several that begin at one place, the longest is found."""

    def __init__(self, texts: Iterable[str]) -> None:
        self.literals = tuple(sorted(set(texts), key=len, reverse=True))
        self.pattern = "|".join(map(re.escape, self.literals))
        self._any = re.compile(self.pattern)

    def __bool__(self) -> bool:
        return bool(self.literals)

    def find(self, text: str, start: int = 0) -> re.Match[str] | None:
        """The first mark in `text` from `start` on."""
        return self._any.search(text, start) if self.literals else None

    def at_start(self, text: str) -> str | None:
        """The mark that `text` begins with."""
        return next((mark for mark in self.literals if text.startswith(mark)), None)

    def may_become(self, text: str) -> bool:
        """True if all of `text` is the beginning of a longer mark."""
        return any(len(mark) > len(text) and mark.startswith(text) for mark in self.literals)

    def num_unfinished(self, text: str) -> int:
        """Length of the longest end of `text` that is the beginning of a longer mark."""
        longest = max(map(len, self.literals), default=1) - 1
        return next((n for n in range(min(longest, len(text)), 0, -1) if self.may_become(text[-n:])), 0)
