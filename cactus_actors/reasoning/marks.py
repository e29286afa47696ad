"""Several marks that are looked for in a text that is still growing."""

from __future__ import annotations

import re
from collections.abc import Iterable


class Marks:
    """Texts of which any one may come; none of them is a beginning of another."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._texts = tuple(texts)
        self.pattern = "|".join(map(re.escape, self._texts))
        self._any = re.compile(self.pattern)
        self._longest = max(map(len, self._texts), default=1)

    def __bool__(self) -> bool:
        return bool(self._texts)

    def find(self, text: str) -> re.Match[str] | None:
        """The first mark in `text`."""
        return self._any.search(text) if self._texts else None

    def at_start(self, text: str) -> str | None:
        """The mark that `text` begins with."""
        return next((mark for mark in self._texts if text.startswith(mark)), None)

    def may_become(self, text: str) -> bool:
        """Whether all of `text` may be the beginning of a mark that is not complete."""
        return any(len(mark) > len(text) and mark.startswith(text) for mark in self._texts)

    def num_unfinished(self, text: str) -> int:
        """Length of the longest end of `text` that may be the beginning of a mark."""
        for length in range(min(self._longest - 1, len(text)), 0, -1):
            if self.may_become(text[-length:]):
                return length
        return 0
