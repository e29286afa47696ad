"""Plain JSON values -> our types, with the place of what does not fit."""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec

from cactus_actors.protocol.errors import InvalidRequest

S = TypeVar("S")

MAX_SHOWN_CHARACTERS = 300
"""Of a value and its place, in an error that names them."""


def converted(value: object, kind: type[S]) -> S:
    """`value` as a `kind`; raises InvalidRequest whose `param` is the path of the first field that is not."""
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        text = str(error)
        path = re.search(r" - at `\$\.?(.*)`$", text)
        missing = re.match(r"Object missing required field `(.*?)`", text)
        parts = [path.group(1) if path else "", missing.group(1) if missing else ""]
        param = ".".join(part for part in parts if part)
        reason = text[: path.start()] if path else text
        shown = f"{param}: {reason}" if param else reason
        raise InvalidRequest(
            shown[:MAX_SHOWN_CHARACTERS], param=param[:MAX_SHOWN_CHARACTERS] or None
        ) from None
