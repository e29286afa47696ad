"""A text that arrives in chunks, for readers that are generators."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable
from typing import TypeVar

from cactus_actors.reasoning.marks import Marks
from cactus_actors.tools.pieces import Ended, Malformed

T = TypeVar("T")
Reading = Generator[None, None, T]
"""A reader yields when it needs more text, and is resumed when more has arrived or the text has ended."""

_SPACE = re.compile(r"\s*")


class StreamedText:
    """The text so far, and the position up to which it was read.

    A reader's result does not depend on the chunks: it waits until more text cannot change it.
    """

    def __init__(self) -> None:
        self._text = ""
        self._num_dropped = 0
        self._at = 0
        self._has_ended = False

    def add(self, text: str) -> None:
        self._text += text

    def end(self) -> None:
        self._has_ended = True

    @property
    def num_kept(self) -> int:
        """Characters that arrived since the last `drop`."""
        return len(self._text)

    @property
    def num_read(self) -> int:
        """Characters that were read since the last `drop`."""
        return self._at

    def drop(self) -> None:
        """Drop the characters that were read."""
        self._text = self._text[self._at :]
        self._at = 0

    def take(self, length: int) -> str:
        """Go back to the last `drop` and read `length` characters from there."""
        self._at = length
        return self._text[:length]

    def go_back(self, num_read: int) -> None:
        """Set the position to `num_read` characters after the last `drop`."""
        self._at = num_read

    def peek(self) -> Reading[str]:
        """The next character; empty at the end of the text."""
        while self._at >= len(self._text):
            if self._has_ended:
                return ""
            yield
        return self._text[self._at]

    def available(self, pattern: re.Pattern[str]) -> str:
        """Read what matches at this position and has arrived."""
        match = pattern.match(self._text, self._at)
        assert match is not None
        self._at = match.end()
        return match[0]

    def expect_more(self) -> Reading[None]:
        """Raise Ended if the text ends here."""
        if not (yield from self.peek()):
            raise Ended

    def starts_with(self, literal: str) -> Reading[bool]:
        """True if `literal` is next."""
        while True:
            here = self._text[self._at : self._at + len(literal)]
            if here == literal:
                return True
            if self._has_ended or not literal.startswith(here):
                return False
            yield

    def skip(self, literal: str) -> Reading[bool]:
        """Read `literal` if it is next; returns true if it was."""
        found = yield from self.starts_with(literal)
        if found:
            self._at += len(literal)
        return found

    def skip_spaced(self, literal: str) -> Reading[bool]:
        """Read white space and `literal` if they are next, else nothing; returns true if they were."""
        start = self._at
        yield from self.skip_space()
        found = yield from self.skip(literal)
        if not found:
            self._at = start
        return found

    def comes_spaced(self, literals: Iterable[str]) -> Reading[bool]:
        """True if one of `literals` is next, or the text ends, after white space; reads nothing."""
        start = self._at
        yield from self.skip_space()
        character = yield from self.peek()
        found = not character
        for literal in literals:
            found = found or (yield from self.starts_with(literal))
        self._at = start
        return found

    def expect(self, literal: str) -> Reading[None]:
        """Read `literal`; raises Malformed if something else is next, Ended if the text ends."""
        found = yield from self.skip(literal)
        if not found:
            raise Ended if literal.startswith(self._text[self._at :]) else Malformed

    def run(self, pattern: re.Pattern[str], limit: int) -> Reading[str]:
        """Read all characters of a class; `pattern` is the class with `*`."""
        while True:
            match = pattern.match(self._text, self._at)
            assert match is not None
            if match.end() - self._at > limit:
                raise Malformed
            if match.end() < len(self._text) or self._has_ended:
                self._at = match.end()
                return match[0]
            yield

    def skip_space(self) -> Reading[None]:
        """Read the white space that is next."""
        while True:
            self.available(_SPACE)
            if self._at < len(self._text) or self._has_ended:
                return
            yield

    def until(self, mark: str, limit: int) -> Reading[str]:
        """The text before `mark`, which is read too; raises Malformed if it is too long, or Ended."""
        searched = self._at
        while (found := self._text.find(mark, searched)) < 0:
            if len(self._text) - self._at > limit + len(mark):
                raise Malformed
            if self._has_ended:
                raise Ended
            searched = max(self._at, len(self._text) - len(mark) + 1)
            yield
        if found - self._at > limit:
            raise Malformed
        text = self._text[self._at : found]
        self._at = found + len(mark)
        return text

    def before(self, marks: Marks) -> Reading[str]:
        """The certain text before any of `marks`; empty if one begins here, or at the end."""
        while True:
            match = marks.find(self._text, self._at)
            if match is not None:
                end = match.start()
            else:
                end = len(self._text) - (0 if self._has_ended else marks.num_unfinished(self._text[self._at :]))
            if end > self._at or match is not None or self._has_ended:
                text = self._text[self._at : end]
                self._at = end
                return text
            yield
