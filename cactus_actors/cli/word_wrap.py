"""Wraps streamed text at the width of the terminal."""

from __future__ import annotations

import re

from rich.cells import cell_len

_PIECES = re.compile(r"\n|[^\S\n]+|[^\s]+")


class WordWrapper:
    """Returns the text to write; a word is held back until it is complete, so that it is not broken.

    A word wider than a line is written as it arrives.
    """

    def __init__(self, width: int) -> None:
        self._width = max(1, width)
        self._column = 0
        self._space = ""
        self._word = ""

    def add(self, text: str) -> str:
        """The text to write after `text` has arrived."""
        written = []
        for piece in _PIECES.findall(text):
            if piece == "\n":
                written += [self._finish_word(), self._space, "\n"]
                self._column, self._space = 0, ""
            elif piece.isspace():
                written.append(self._finish_word())
                self._space += piece
            else:
                self._word += piece
        if self._column + cell_len(self._space + self._word) > self._width:
            written.append(self._finish_word())  # it does not fit on this line in any case
        return "".join(written)

    def end(self) -> str:
        """The text held back."""
        return self._finish_word() + self._space

    def _finish_word(self) -> str:
        if not self._word:
            return ""
        word, space = self._word, self._space
        self._word = self._space = ""
        width = cell_len(word)
        if self._column and self._column + cell_len(space) + width > self._width:
            self._column = width % self._width
            return f"\n{word}"
        self._column += cell_len(space) + width
        return space + word
