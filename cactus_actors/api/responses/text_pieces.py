"""The pieces in which a text is streamed, which depend on the text alone."""

from __future__ import annotations

import re

MAX_PIECE = 16
"""Characters of a piece."""
_PIECE = re.compile(rf".{{0,{MAX_PIECE - 1}}}?(?:\S(?=\s)|[\u2e80-\U0010ffff])|.{{{MAX_PIECE}}}", re.S)


class TextPieces:
    """Cuts a text that arrives in any chunks: before white space, after a character of a script without it, or after
    MAX_PIECE characters.

    So two readers of one text get the same pieces, however it reached them.
    """

    def __init__(self) -> None:
        self._held = ""

    def feed(self, text: str) -> list[str]:
        """The pieces that are complete."""
        self._held += text
        pieces = []
        at = 0
        while (found := _PIECE.match(self._held, at)) is not None:
            pieces.append(found[0])
            at = found.end()
        self._held = self._held[at:]
        return pieces

    def finish(self) -> list[str]:
        """The rest, at the end of the text."""
        held, self._held = self._held, ""
        return [held] if held else []
