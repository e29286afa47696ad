"""Strips a text that arrives in chunks."""

from __future__ import annotations


class TrimmedText:
    """Holds white space back until something follows it."""

    def __init__(self) -> None:
        self._spaces = ""
        self._has_text = False

    def add(self, text: str) -> str:
        """The stripped text that is certain after `text`."""
        text = self._spaces + text
        shown = text.rstrip()
        self._spaces = text[len(shown) :]
        if not self._has_text:
            shown = shown.lstrip()
        self._has_text = self._has_text or bool(shown)
        return shown

    def separate(self, by: str) -> None:
        """Separate earlier and later text by `by` instead of the white space between them."""
        self._spaces = by if self._has_text else ""
