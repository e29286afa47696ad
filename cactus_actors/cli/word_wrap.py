"""Text that comes in pieces, broken between words at the terminal's width."""

from __future__ import annotations

import re

from rich.cells import cell_len

_PIECES = re.compile(r"\n|[^\S\n]+|[^\s]+")


class WordWrapper:
    """Gives back what may be written; a word is held back until its end, so that it stands on one line whole.

    A word that is wider than a line is written as it comes.
    """

    def __init__(self, width: int) -> None:
        self._width = max(1, width)
        self._column = 0
        self._space = ""
        self._word = ""

    def add(self, text: str) -> str:
        """What can be written now that `text` has come."""
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
            written.append(self._finish_word())  # wherever it ends, it does not stand on this line
        return "".join(written)

    def end(self) -> str:
        """What was held back."""
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
