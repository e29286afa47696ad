"""JSON as a reader with float64 numbers parses it, for example JavaScript."""

from __future__ import annotations

import json

from cactus_actors.protocol.exact_integers import MAX_EXACT


def inexact_integers(text: str | bytes) -> list[str]:
    """The integers in a JSON text that such a reader may round."""
    found: list[str] = []

    def read(digits: str) -> int:
        if abs(int(digits)) > MAX_EXACT:
            found.append(digits)
        return int(digits)

    json.loads(text, parse_int=read)
    return found
