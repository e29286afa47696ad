"""A hint for an unknown name: the most similar known one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

MAX_COMPARED_CHARACTERS = 80


def similar_name(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'NAME'?` with the most similar of the known names, "" if there is none."""
    nearest = difflib.get_close_matches(name, list(known), n=1) if len(name) <= MAX_COMPARED_CHARACTERS else []
    return f"; did you mean {nearest[0]!r}?" if nearest else ""
